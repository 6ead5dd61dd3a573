# expects: ttft wait-twice

# %% a
wait = start - arrival
ttft = first - arrival + wait
tpot = (last - first) / (count - 1)
