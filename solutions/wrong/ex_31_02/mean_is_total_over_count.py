# expects: static mean-of-three

# %% a
a, b, c = remaining
one, two = round_ms
static = {"A": b * two + (a - b) * one, "B": b * two, "C": b * two + (a - b + c) * one}
continuous = {"A": (b + c) * two + (a - b - c) * one, "B": b * two, "C": (b + c) * two}
static["mean"] = max(static.values()) / 3
continuous["mean"] = max(continuous.values()) / 3
later = ["A"]
