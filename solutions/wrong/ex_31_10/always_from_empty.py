# expects: fill_time filled-ignored

# %% b
def fill_time(produce, consume, capacity, filled):
    return capacity / (produce - consume) if produce > consume else None
