# expects: later not-slower

# %% a
a, b, c = remaining
one, two = round_ms


def record(*times):
    return dict(zip("ABC", times)) | {"mean": sum(times) / 3}


static = record(b * two + (a - b) * one, b * two, b * two + (a - b + c) * one)
continuous = record((b + c) * two + (a - b - c) * one, b * two, (b + c) * two)
later = [] if continuous["mean"] < static["mean"] else ["A"]
