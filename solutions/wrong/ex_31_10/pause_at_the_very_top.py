# expects: high_water stop-at-the-top

# %% a
fill_seconds = capacity / (produce - consume)
drain_seconds = capacity / consume
high_water = capacity
