# expects: extra_time time-conserved

# %% c
history_reads = k * s + q * k * (k - 1) / 2
extra_launches = k - 1
extra_time = 0
conserved = ["配对总数", "每个查询可见的键", "总时间"]
