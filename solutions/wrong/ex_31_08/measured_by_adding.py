# expects: measure percentile-sum

# %% c
from math import ceil


def measure(pairs, level):
    def quantile(times, level):
        return sorted(times)[ceil(level * len(times)) - 1]

    xs, ys = zip(*pairs)
    stage = 1 - (1 - level) / 2
    added = quantile(xs, level) + quantile(ys, level)
    return {"measured": added, "added": added, "safe": quantile(xs, stage) + quantile(ys, stage)}
