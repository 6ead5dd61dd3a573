# expects: wait wait-to-first

# %% a
wait = first - arrival
ttft = first - arrival
tpot = (last - first) / (count - 1)
