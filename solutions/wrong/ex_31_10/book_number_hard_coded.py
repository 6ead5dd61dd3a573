# expects: fill_time constant

# %% b
def fill_time(produce, consume, capacity, filled):
    return 8
