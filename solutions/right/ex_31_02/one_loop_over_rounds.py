# %% a
import numpy as np


def rounds(remaining, table, refill, counts):
    left = np.array(remaining)
    seated = np.zeros(len(left), dtype=bool)
    done = np.zeros(len(left))
    now, size = 0.0, 0
    while left.any():
        running = seated & (left > 0)
        if refill or not running.any():
            free = len(table) - running.sum()
            seated[np.flatnonzero(~seated)[:free]] = True
            running = seated & (left > 0)
            size = running.sum()
        now += table[counts(running.sum(), size) - 1]
        left[running] -= 1
        done[running & (left == 0)] = now
    return done


def named(times):
    times = list(times)
    return {"A": times[0], "B": times[1], "C": times[2], "mean": np.mean(times)}


static = named(rounds(remaining, round_ms, False, lambda running, size: running))
continuous = named(rounds(remaining, round_ms, True, lambda running, size: running))
later = [name for name in ("C", "B", "A") if continuous[name] - static[name] > 1e-9]

# %% b
members = named(rounds(remaining, round_ms, False, lambda running, size: size))
seats = named(rounds(remaining, round_ms, False, lambda running, size: len(round_ms)))

# %% c
x, y = sp.Symbol("t1"), sp.Symbol("t2")
A, B, C = remaining
static_formula = [A * x + B * (y - x), B * y, (A + C) * x + B * (y - x)]
continuous_formula = [A * x + (B + C) * (y - x), B * y, (B + C) * y]
gain = sp.factor((A - B + 2 * C) * x - 2 * C * y) / 3
delay_a = C * (y - x)
break_even = (A - B + 2 * C) / (2 * C)

# %% static
def static_ms(remaining, round_ms, kernel):
    counts = {
        "stop": lambda running, size: running,
        "members": lambda running, size: size,
        "seats": lambda running, size: len(round_ms),
    }
    return rounds(remaining, round_ms, False, counts[kernel])

# %% continuous
def continuous_ms(remaining, round_ms):
    return rounds(remaining, round_ms, True, lambda running, size: running)
