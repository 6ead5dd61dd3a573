# expects: fill_time never-fills-negative

# %% b
def fill_time(produce, consume, capacity, filled):
    return (capacity - filled) / (produce - consume) if produce != consume else None
