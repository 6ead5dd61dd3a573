# expects: tpot tpot-over-count

# %% a
wait = start - arrival
ttft = first - arrival
tpot = (last - first) / count
