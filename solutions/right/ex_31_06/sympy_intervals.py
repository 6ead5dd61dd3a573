# %% a
start, end = window
marks = sorted({start, *(t for pair in residences for t in pair), end})
count, steps = 0, []
for early, late in zip(marks, marks[1:]):
    count += sum(a == early for a, _ in residences) - sum(c == early for _, c in residences)
    steps.append({"count": count, "start": early, "end": late})
from sympy import Interval, Rational, oo

area = sum(Interval(a, c).intersect(Interval(start, end)).measure for a, c in residences)
mean_number = area / (end - start)
inside = [c for _, c in residences if c in Interval.Lopen(start, end)]
rate = Rational(len(inside), end - start)
mean_residence = area / len(residences)
rate_half_open = Rational(len([c for c in inside if c in Interval.Ropen(start, end)]), end - start)

# %% b
whole = Interval(*[Rational(str(t)) for t in cut])
clipped = [Interval(a, c).intersect(whole).measure for a, c in residences]
cut_area = sum(clipped)
excess = sum(c - a for a, c in residences) - cut_area

# %% c
full = d * H
inside = full - sp.binomial(d, 2)
residual = sp.binomial(d, 2)
residual_rate = (d**2 - d) / (2 * H)
residual_limit = sp.Integer(0)
mean_limit = d

# %% d
def observe(residences, start, end):
    exact = lambda time: Rational(time.numerator, time.denominator)
    seen = Interval(exact(start), exact(end))
    clipped, gone = [], 0
    for arrival, leaving in residences:
        stay = Interval(exact(arrival), oo if leaving is None else exact(leaving))
        clipped.append(stay.intersect(seen).measure)
        gone += leaving is not None and exact(leaving) in Interval.Lopen(seen.start, seen.end)
    return {
        "clipped": clipped,
        "area": sum(clipped),
        "mean_number": sum(clipped) / seen.measure,
        "completions": int(gone),
        "rate": gone / seen.measure,
    }
