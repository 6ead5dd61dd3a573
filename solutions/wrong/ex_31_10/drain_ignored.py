# expects: fill_seconds drain-ignored

# %% a
fill_seconds = capacity / produce
drain_seconds = capacity / consume
high_water = capacity - round_kib
