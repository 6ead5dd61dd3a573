"""How sure a measured number is: intervals from independent runs, from batch means, and for proportions.

One run of a random system gives one number, not a truth. Means of independent runs (other seeds) spread as
Student's t says; so do means of long enough batches of one run. With fewer than two of either there is no interval:
undefined, not zero wide. Exact values come in, floats come out: an interval is an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from labkit.theory.quantiles import beta_quantile, student_quantile


@dataclass(frozen=True)
class Interval:
    """A mean (or proportion) and the interval that covers the truth with probability `level`; of `n` values."""

    mean: Fraction
    low: float
    high: float
    level: float
    n: int
    method: str


def replications(values: Sequence[Fraction | None], level: float = 0.95) -> Interval | None:
    """Mean ± t·s/√n of independent runs; None with fewer than two, or if one of them is undefined.

    An undefined run (a percentile among censored requests, say) can't be left out: it is often the worst one.
    """
    return _student(values, level, "replications")


def batch_means(values: Sequence[Fraction], batches: int = 20, level: float = 0.95) -> Interval | None:
    """The same from one run: its values in order, cut into `batches` equal parts, whose means count as runs.

    What does not fill the parts is dropped at the front, where the start still shows. Neighbouring batches must be
    long against the correlation of the process, which you have to judge. None with fewer than two batches or values
    than batches.
    """
    size = len(values) // batches if batches > 0 else 0
    if size == 0:
        return None
    rest = values[len(values) - size * batches :]
    means = [sum(rest[i * size : (i + 1) * size], Fraction(0)) / size for i in range(batches)]
    return _student(means, level, "batch means")


def proportion(hits: int, trials: int, level: float = 0.95) -> Interval | None:
    """Clopper and Pearson's interval for a share: it covers with *at least* `level`, whatever the truth; None of 0."""
    if not 0 <= hits <= trials:
        raise ValueError(f"given {hits} of {trials}, expected a count from 0 to all")
    if trials == 0:
        return None
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else beta_quantile(tail, hits, trials - hits + 1)
    high = 1.0 if hits == trials else beta_quantile(1 - tail, hits + 1, trials - hits)
    return Interval(Fraction(hits, trials), low, high, level, trials, "Clopper–Pearson")


def _student(values: Sequence[Fraction | None], level: float, method: str) -> Interval | None:
    known = [value for value in values if value is not None]
    n = len(known)
    if n < 2 or n < len(values):
        return None
    mean = sum(known, Fraction(0)) / n
    variance = sum(((value - mean) ** 2 for value in known), Fraction(0)) / (n - 1)
    half = student_quantile((1 + level) / 2, n - 1) * float(variance / n) ** 0.5
    return Interval(mean, float(mean) - half, float(mean) + half, level, n, method)
