# expects: measures not-there

# %% c
def measures(arrival, start, token_times):
    from labkit.measure.times import Times

    return Times(arrival, start, token_times)
