# %% a
import heapq
from fractions import Fraction

import numpy as np


def completions(remaining, table):
    """Jump from one completion to the next: between them the number of running sequences does not change."""
    turn, now, running, done = 0, 0, [], {}
    waiting = list(enumerate(remaining))[::-1]
    while waiting or running:
        while waiting and len(running) < len(table):
            i, left = waiting.pop()
            heapq.heappush(running, (turn + left, i))
        end = running[0][0]
        now += (end - turn) * table[len(running) - 1]
        turn = end
        while running and running[0][0] == end:
            done[heapq.heappop(running)[1]] = now
    return [done[i] for i in range(len(remaining))]


def batches(remaining, table, kernel):
    start, done = 0, []
    for first in range(0, len(remaining), len(table)):
        batch = remaining[first : first + len(table)]
        match kernel:
            case "stop":
                times = completions(batch, table)
            case "members":
                times = [left * table[len(batch) - 1] for left in batch]
            case "seats":
                times = [left * table[-1] for left in batch]
        done += [start + time for time in times]
        start = max(done)
    return done


def as_answer(times):
    return {"mean": Fraction(sum(times), 3), **dict(zip("ABC", times, strict=True))}


static = as_answer(batches(remaining, round_ms, "stop"))
continuous = as_answer(completions(remaining, round_ms))
later = tuple(name for name in "ABC" if continuous[name] > static[name])

# %% b
members = as_answer(batches(remaining, round_ms, "members"))
seats = {name: np.float64(time) for name, time in as_answer(batches(remaining, round_ms, "seats")).items()}

# %% c
static_formula = batches(remaining, [t1, t2], "stop")
continuous_formula = completions(remaining, [t1, t2])
gain = sum(before - after for before, after in zip(static_formula, continuous_formula)) * sp.Rational(1, 3)
delay_a = continuous_formula[0] - static_formula[0]
slope_1, slope_2 = sp.diff(gain, t1), sp.diff(gain, t2)
break_even = -slope_1 / slope_2

# %% static
def static_ms(remaining, round_ms, kernel):
    return batches(remaining, round_ms, kernel)

# %% continuous
def continuous_ms(remaining, round_ms):
    return completions(remaining, round_ms)
