"""What samplers are folded into: counts in constant memory, and intervals from independent replications."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from labkit.theory.quantiles import student_quantile
from labkit.theory.queueing import level
from labkit.theory.queueing_laws import Floats

BITS = 9  # a bin's width is at most 2^-9 = 0.2 % of its place
FLOOR = -30  # the least time told from 0 is 2^-30 s = 0.93 ns
OCTAVES = 50  # up to 2^20 s, 12 days
_FIRST = (1023 + FLOOR) << BITS


class Tally:
    """Count, mean and histogram of times in s; `merge` adds another, so that parts can be counted apart.

    The histogram has 512 bins to each power of 2, found by shifting a double's bits. The empirical tail is exact
    at the bins' edges and linear between: `tail` errs by at most what one bin holds, `quantile` by at most one
    bin's width, 0.2 % of itself (and 1 ns); the mean is exact.
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.bins = np.zeros(OCTAVES << BITS, np.int64)

    def add(self, times: Floats) -> Tally:
        """Count an array of any shape. Raises ValueError for a time below 0, over 2^20 s or not finite."""
        moved = times + 2.0**FLOOR
        place = moved.reshape(-1).view(np.int64)
        place >>= 52 - BITS
        place -= _FIRST
        try:
            found = np.bincount(place, minlength=self.bins.size)
        except (ValueError, MemoryError):
            found = np.empty(0, np.int64)
        if found.size != self.bins.size:
            raise ValueError(
                f"times: given {times.min()} to {times.max()}, expected 0 to {2.0 ** (FLOOR + OCTAVES):g} s"
            )
        self.bins += found
        self.count += place.size
        self.total += float(times.sum())
        return self

    def merge(self, other: Tally) -> Tally:
        """Count what `other` has counted."""
        self.count += other.count
        self.total += other.total
        self.bins += other.bins
        return self

    @property
    def mean(self) -> float:
        """The mean in s; nan before the first."""
        return self.total / self.count if self.count else math.nan

    def tail(self, t: float) -> float:
        """The share of times over t s."""
        place, part = _place(max(t, 0.0) + 2.0**FLOOR)
        return float(self.bins[place + 1 :].sum() + (1 - part) * self.bins[place]) / self.count

    def quantile(self, p: float) -> float:
        """The p-quantile in s."""
        level(p)
        below = np.cumsum(self.bins)
        wanted = p * self.count
        place = int(np.searchsorted(below, wanted))
        inside = self.bins[place]
        part = float((wanted - (below[place] - inside)) / inside)
        return max(0.0, _edge(place) + part * (_edge(place + 1) - _edge(place)) - 2.0**FLOOR)


def _edge(place: int) -> float:
    """The lower edge of a bin: a double with the bin's leading bits."""
    whole, part = divmod(place, 1 << BITS)
    return math.ldexp(1 + part / (1 << BITS), whole + FLOOR)


def _place(moved: float) -> tuple[int, float]:
    """The bin of a time, and how far into it the time lies, 0 to 1."""
    place = int(np.float64(moved).view(np.int64) >> (52 - BITS)) - _FIRST
    return place, (moved - _edge(place)) / (_edge(place + 1) - _edge(place))


@dataclass(frozen=True)
class Estimate:
    """A figure of a random run with its Student t interval: value +- half_width at `confidence`."""

    value: float
    half_width: float
    confidence: float
    replications: int

    @property
    def low(self) -> float:
        """The interval's lower end."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """The interval's upper end."""
        return self.value + self.half_width

    def covers(self, truth: float) -> bool:
        """Whether the interval holds `truth`."""
        return self.low <= truth <= self.high


def estimate(values: Sequence[float], confidence: float = 0.95, centre: float | None = None) -> Estimate:
    """Mean of independent replications with t_(n-1, (1 + confidence)/2) s/sqrt(n); around `centre` if it is given.

    Raises ValueError for fewer than two replications.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"values: given {n} replications, expected at least 2 for an interval")
    mean = math.fsum(values) / n
    variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
    half = student_quantile((1 + confidence) / 2, n - 1) * math.sqrt(variance / n)
    return Estimate(mean if centre is None else centre, half, confidence, n)


def of_tallies(
    tallies: Sequence[Tally],
    *,
    quantiles: Iterable[float] = (0.99,),
    tails: Iterable[float] = (),
    confidence: float = 0.95,
) -> tuple[Estimate, dict[float, Estimate], dict[float, Estimate]]:
    """Mean, quantiles by level and tails by t (s), each with its interval, from equal independent replications.

    A quantile is that of all together, its spread that of the replications' own (sectioning: Asmussen and Glynn,
    Stochastic Simulation, III.5): a mean of quantiles would carry the bias of small samples.
    """
    together = Tally()
    for tally in tallies:
        together.merge(tally)
    mean = estimate([tally.mean for tally in tallies], confidence)
    at_level = {
        p: estimate([tally.quantile(p) for tally in tallies], confidence, together.quantile(p))
        for p in quantiles
    }
    at_time = {t: estimate([tally.tail(t) for tally in tallies], confidence) for t in tails}
    return mean, at_level, at_time
