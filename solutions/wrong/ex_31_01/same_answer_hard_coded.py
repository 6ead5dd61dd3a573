# expects: measures constant

# %% c
def measures(arrival, start, token_times):
    return {"ttft": 0.3, "tpot": 0.02, "wait": 0.1, "itl": [0.02] * 30}
