# expects: observe not-there

# %% d
def observe(residences, start, end):
    from labkit.measure.steps import Steps

    number = Steps(start)
    for moment, change in sorted((t, 1 - 2 * k) for pair in residences for k, t in enumerate(pair) if t is not None):
        number.change(moment, change)
    number.advance(end)
    return {"clipped": [], "area": 0, "mean_number": 0, "completions": 0, "rate": 0}
