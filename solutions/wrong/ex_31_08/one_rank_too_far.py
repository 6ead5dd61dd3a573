# expects: measure rank

# %% c
def measure(pairs, level):
    def quantile(times, level):
        return sorted(times)[min(int(level * len(times)), len(times) - 1)]

    xs, ys = zip(*pairs)
    stage = 1 - (1 - level) / 2
    return {
        "measured": quantile([x + y for x, y in pairs], level),
        "added": quantile(xs, level) + quantile(ys, level),
        "safe": quantile(xs, stage) + quantile(ys, stage),
    }
