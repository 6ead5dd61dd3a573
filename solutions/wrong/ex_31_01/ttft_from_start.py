# expects: ttft ttft-from-start

# %% a
wait = start - arrival
ttft = first - start
tpot = (last - first) / (count - 1)
