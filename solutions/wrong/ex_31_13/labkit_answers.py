# expects: signals not-there

# %% a
def signals(events, times):
    from labkit.measure.work import Age

    age = Age()
    for t in times:
        age.add(t, 0)
    return {"queue_age": [age.greatest], "chunk_time": None, "token_gap": None, "output_buffer": 0}
