# expects: extra_launches launches-total

# %% c
history_reads = k * s + q * k * (k - 1) / 2
extra_launches = k
extra_time = k * launch + history_reads * read
conserved = ["配对总数", "每个查询可见的键"]
