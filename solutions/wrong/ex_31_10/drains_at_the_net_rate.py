# expects: drain_seconds still-producing

# %% a
fill_seconds = capacity / (produce - consume)
drain_seconds = capacity / abs(consume - produce)
high_water = capacity - round_kib
