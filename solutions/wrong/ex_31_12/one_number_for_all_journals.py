# expects: latency constant

# %% c-latency
def latency(events, percent):
    return {"low": 0.04, "high": 0.14, "of": 5, "censored": 2}
