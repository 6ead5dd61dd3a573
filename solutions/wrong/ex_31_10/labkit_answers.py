# expects: fill_time not-there

# %% b
def fill_time(produce, consume, capacity, filled):
    from labkit.engine.outputs import Stream

    return Stream(capacity, produce, consume).full_at(filled)
