# %% a
import numpy as np

tail = 1 - np.float64(level)
tail_bound = tail + tail
coverage = 1 - tail_bound
stage_level = (1 + level) / 2
claims = dict(zip("ABCDEF", [False, True, False, False, True, True]))

# %% attaining
def attaining(x_high, y_high, level):
    x, y, u = float(x_high), float(y_high), 1 - float(level)
    slow = {"y": 2 * (x + y), "p": u}
    return [
        {"x": 0.0, **slow},
        {"p": u, "y": 0.0, "x": 2 * (x + y)},
        {"x": x, "y": y, "p": 1 - 2 * u},
    ]

# %% together
def together(x_high, y_high, level):
    """Both are one uniform number, read off on two straight lines."""
    steps = 1000
    grid = np.arange(1, 2 * steps + 1)
    share = np.where(grid <= steps, float(level) / steps, (1 - float(level)) / steps)
    return [{"x": float(x_high) * k / steps, "y": float(y_high) * k / steps, "p": p} for k, p in zip(grid.tolist(), share)]

# %% apart
def apart(x_high, y_high, level):
    u = 1 - float(level)
    slow = np.sqrt(u) * 0.999 if u < 0.99 else u
    mass = np.outer([1 - slow, slow], [1 - slow, slow])
    return [
        {"x": float(x_high) * i, "y": float(y_high) * j, "p": mass[i, j]} for i in range(2) for j in range(2)
    ]

# %% c
def measure(pairs, level):
    times = np.array(pairs, dtype=float)
    q = lambda column, at: np.quantile(column, float(at), method="inverted_cdf")
    return {
        "measured": q(times.sum(axis=1), level),
        "added": sum(q(times[:, k], level) for k in (0, 1)),
        "safe": sum(q(times[:, k], (1 + level) / 2) for k in (0, 1)),
    }
