"""Percentiles and means of times of which some are only known to be 'at least so long'.

A request that was cancelled, expired, failed or cut off by the end of the observation has no first token or no
end, yet it was there: leaving it out makes every percentile too good (C31). It stays in as *at least so long*, and
each percentile is given as the two bounds between which it must lie, whatever the hidden times were:

* the lower bound takes every hidden time as just what was seen of it, its least possible value;
* the upper bound takes every hidden time as infinite.

Where both agree the percentile is known exactly; where the upper one is infinite (None) it falls among the hidden
ones, and no more than 'at least' can be said. Nothing is assumed of them. Kaplan–Meier would give one number, but
it supposes that what was cut off had nothing to do with how slow it was, and a request that expired was cut off
*because* it was slow.

The definition of a percentile is the nearest rank: the ⌈p·n⌉-th smallest of n, one of the values themselves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate, chain
from typing import NamedTuple

from labkit.core.types import NS_PER_SECOND
from labkit.measure.times import Seen


class Bounds(NamedTuple):
    """Between what a percentile lies, in seconds; `high` None: no upper bound is known."""

    low: Fraction | None
    high: Fraction | None

    @property
    def exact(self) -> bool:
        """Both bounds agree."""
        return self.low is not None and self.low == self.high


class Sample:
    """Times in ns with how often each was seen; the censored ones, 'at least so long', apart."""

    def __init__(self, seen: Iterable[Seen | None] = ()) -> None:
        self.exact: Counter[int | Fraction] = Counter()
        self.least: Counter[int | Fraction] = Counter()
        self._ranks: tuple[_Ranks, _Ranks] | None = None
        for one in seen:
            if one is not None:
                self.add(one)

    def add(self, seen: Seen, count: int = 1) -> None:
        """One more, or `count` more of the same."""
        (self.exact if seen.exact else self.least)[seen.ns] += count
        self._ranks = None

    def add_all(self, measured: Iterable[int]) -> None:
        """Many that were measured to the end."""
        self.exact.update(measured)
        self._ranks = None

    @property
    def measured(self) -> int:
        """How many are known exactly."""
        return self.exact.total()

    @property
    def censored(self) -> int:
        """How many are known to be at least so long."""
        return self.least.total()

    @property
    def size(self) -> int:
        """How many there are: the n of every percentile."""
        return self.measured + self.censored

    def mean(self) -> Fraction | None:
        """The mean in s over the measured ones alone (say so where it is shown); None if there is none."""
        return _mean(self.exact.items(), self.measured)

    def mean_at_least(self) -> Fraction | None:
        """The least that the mean in s over all can be: censored ones taken as what was seen of them."""
        return _mean(chain(self.exact.items(), self.least.items()), self.size)

    def greatest(self) -> Bounds:
        """The largest, in s."""
        return self.percentile(Fraction(1))

    def percentile(self, share: Fraction) -> Bounds:
        """Nearest rank, in s, for 0 < `share` ≤ 1. Raises ValueError for another share."""
        if not 0 < share <= 1:
            raise ValueError(f"given the share {share}, expected one above 0, up to 1")
        rank = -(-share.numerator * self.size // share.denominator)
        if self._ranks is None:
            self._ranks = _Ranks(self.exact + self.least), _Ranks(self.exact)
        low, high = self._ranks
        return Bounds(low.at(rank), high.at(rank))


class _Ranks:
    """Values in order with how many lie up to each, so that a rank is found by halving."""

    def __init__(self, counts: Counter[int | Fraction]) -> None:
        self.values = sorted(counts)
        self.upto = list(accumulate(counts[value] for value in self.values))

    def at(self, rank: int) -> Fraction | None:
        """The value of that rank, from 1, in s; None where there are not so many."""
        place = bisect_left(self.upto, rank)
        return Fraction(self.values[place]) / NS_PER_SECOND if place < len(self.values) else None


def _mean(items: Iterable[tuple[int | Fraction, int]], total: int) -> Fraction | None:
    if not total:
        return None
    by_denominator: Counter[int] = Counter()  # exact, and quick where there are many fractions
    for value, count in items:
        by_denominator[value.denominator] += value.numerator * count
    return sum((Fraction(n, d) for d, n in by_denominator.items()), Fraction(0)) / (total * NS_PER_SECOND)
