# expects: conserved time-conserved

# %% c
history_reads = k * s + q * k * (k - 1) / 2
extra_launches = k - 1
extra_time = (k - 1) * launch + (history_reads - s) * read
conserved = ["配对总数", "总时间"]
