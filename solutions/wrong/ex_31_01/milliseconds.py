# expects: ttft ms

# %% a
wait = 1000 * (start - arrival)
ttft = 1000 * (first - arrival)
tpot = 1000 * (last - first) / (count - 1)
