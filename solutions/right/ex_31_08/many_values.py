# %% a
from fractions import Fraction

import sympy as sp

exact = sp.Rational(str(level))
tail_bound = 2 - 2 * exact
coverage = 2 * exact - 1
stage_level = sp.solve(sp.Symbol("v") * 2 - 1 - exact)[0]
claims = {"F": True, "E": True, "D": False, "C": False, "B": True, "A": False}

# %% attaining
def attaining(x_high, y_high, level):
    """Slow stages on disjoint requests, spread over several values; equal rows are listed apart."""
    u = 1 - level
    fine = [{"x": x_high, "y": y_high, "p": (1 - 2 * u) / 4} for _ in range(4)]
    slow_x = [{"x": x_high + y_high + k, "y": y_high * k / 3, "p": u / 3} for k in range(1, 4)]
    slow_y = [{"x": Fraction(0), "y": x_high + y_high + Fraction(1, k), "p": u / 2} for k in (1, 2)]
    return [*slow_y, *fine, *slow_x, {"x": 10**6, "y": 10**6, "p": 0}]

# %% together
def together(x_high, y_high, level):
    x, y = sp.Rational(str(x_high)), sp.Rational(str(y_high))
    at = sp.Rational(str(level))
    return (
        {"x": x / 2, "y": y / 3, "p": at / 2},
        {"x": x, "y": y / 3, "p": at / 4},
        {"x": x, "y": y, "p": at / 4},
        {"x": x + 7, "y": y, "p": (1 - at) / 2},
        {"x": x + 7, "y": y + 70, "p": (1 - at) / 2},
    )

# %% apart
def apart(x_high, y_high, level):
    """Slow beyond the quantile as well: then the sum's quantile lies above the sum of quantiles."""
    u = 1 - level
    xs = [(x_high, 1 - u), (x_high + y_high, u)]
    ys = [(y_high, 1 - u), (2 * x_high + 2 * y_high, u)]
    return [{"x": x, "y": y, "p": p * r} for x, p in xs for y, r in ys]

# %% c
def measure(pairs, level):
    def quantile(times, level):
        reached = Fraction(0)
        for time in sorted(times):
            reached += Fraction(1, len(times))
            if reached >= level:
                return time

    first, second = [x for x, _ in pairs], [y for _, y in pairs]
    return {
        "safe": quantile(first, (1 + level) / 2) + quantile(second, (1 + level) / 2),
        "measured": quantile(list(map(sum, pairs)), level),
        "added": quantile(first, level) + quantile(second, level),
    }
