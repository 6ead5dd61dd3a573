# expects: fill_seconds rates-added

# %% a
fill_seconds = capacity / (produce + consume)
drain_seconds = capacity / consume
high_water = capacity - round_kib
