# expects: static fixed-round

# %% a
every = round_ms[1]
a, b, c = remaining
static = {"A": a * every, "B": b * every, "C": (a + c) * every, "mean": (2 * a + b + c) * every / 3}
continuous = {"A": a * every, "B": b * every, "C": (b + c) * every, "mean": (a + 2 * b + c) * every / 3}
later = []
