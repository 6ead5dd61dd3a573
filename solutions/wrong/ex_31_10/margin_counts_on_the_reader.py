# expects: high_water mark-minus-net

# %% a
fill_seconds = capacity / (produce - consume)
drain_seconds = capacity / consume
high_water = capacity - (produce - consume) * (round_kib / produce)
