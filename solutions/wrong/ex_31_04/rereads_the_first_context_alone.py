# expects: history_reads only-initial

# %% c
history_reads = k * s
extra_launches = k - 1
extra_time = (k - 1) * launch + (k - 1) * s * read
conserved = ["配对总数", "每个查询可见的键"]
