# expects: measure interpolated

# %% c
import numpy as np


def measure(pairs, level):
    x, y = np.array(pairs, dtype=float).T
    level = float(level)
    stage = (1 + level) / 2
    return {
        "measured": np.quantile(x + y, level),
        "added": np.quantile(x, level) + np.quantile(y, level),
        "safe": np.quantile(x, stage) + np.quantile(y, stage),
    }
