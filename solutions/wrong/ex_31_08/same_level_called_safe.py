# expects: measure same-level

# %% c
from math import ceil


def measure(pairs, level):
    def quantile(times):
        return sorted(times)[ceil(level * len(times)) - 1]

    xs, ys = zip(*pairs)
    added = quantile(xs) + quantile(ys)
    return {"measured": quantile([x + y for x, y in pairs]), "added": added, "safe": added}
