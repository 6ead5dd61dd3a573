# %% a
import numpy as np

start, end = window
steps = []
for second in range(2 * start, 2 * end):
    now = second / 2
    steps.append({"start": now, "end": now + 0.5, "count": np.sum([a <= now < c for a, c in residences])})
area = np.dot([s["end"] - s["start"] for s in steps], [s["count"] for s in steps])
mean_number = np.mean([s["count"] for s in steps])
gone = np.array([c for _, c in residences])
rate = ((gone > start) & (gone <= end)).sum() / np.float64(end - start)
mean_residence = np.mean([c - a for a, c in residences])
rate_half_open = ((gone >= start) & (gone < end)).sum() / (end - start)

# %% b
arrived, gone = np.array(residences, dtype=float).T
clipped = np.clip(gone, *cut) - np.clip(arrived, *cut)
cut_area = clipped.sum()
excess = (gone - arrived).sum() - cut_area

# %% c
k = sp.Symbol("k")
full = sp.summation(d, (k, 0, H - 1))
residual = sp.summation(k + d - H, (k, H - d, H - 1))
inside = full - residual
residual_rate = sp.factor(residual) / H
residual_limit = 0
mean_limit = sp.simplify(full / H) - residual_limit

# %% d
from fractions import Fraction


def observe(residences, start, end):
    """The area from the number in the system, event by event, instead of from each request's own time."""
    events = []
    for arrival, leaving in residences:
        events.append((arrival, 1))
        if leaving is not None:
            events.append((leaving, -1))
    number, before, area = 0, start, end - end
    for time, change in sorted(events):
        time = min(max(time, start), end)
        area += number * (time - before)
        number, before = number + change, time
    area += number * (end - before)
    done = len([1 for _, leaving in residences if leaving is not None and start < leaving and not leaving > end])
    clip = lambda time: end if time is None else sorted((start, time, end))[1]
    return {
        "completions": done,
        "area": area,
        "mean_number": area / (end - start),
        "rate": Fraction(done) / (end - start),
        "clipped": [clip(leaving) - clip(arrival) for arrival, leaving in residences],
    }
