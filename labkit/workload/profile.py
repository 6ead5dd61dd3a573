"""A rate of arrivals that changes with time: bursts and ramps, and the exact way to draw arrivals from them.

Λ(t) = ∫₀ᵗ λ(s) ds is the expected number of arrivals by t. A process of rate 1 whose i-th point lies at S_i
becomes one of rate λ(t) by T_i = Λ⁻¹(S_i): exactly, for a Poisson process (Çinlar 1975, time change), without
rejecting anything, and every point comes from the one number that it would have come from at another rate
(common random numbers). Equal gaps of 1 give the even, fluid load; gamma gaps a bursty one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from labkit.core.types import NS_PER_SECOND

Work = Fraction | float | int  # expected arrivals; exact where the gaps are


@dataclass(frozen=True, slots=True)
class Segment:
    """`seconds` during which the rate goes in a line from `rate` to `rate_to` requests a second."""

    seconds: Fraction
    rate: Fraction
    rate_to: Fraction

    @property
    def arrivals(self) -> Fraction:
        """Expected arrivals: (rate + rate_to)/2·seconds."""
        return (self.rate + self.rate_to) * self.seconds / 2

    def reached(self, work: Work) -> Work:
        """Seconds from the segment's start until `work` arrivals are expected, 0 ≤ work < `arrivals`.

        The root x of rate·x + slope·x²/2 = work, in the form that loses no digits when the slope is small.
        """
        if not work:
            return 0
        if self.rate == self.rate_to:
            return work / self.rate if isinstance(work, Fraction | int) else work / float(self.rate)
        slope = (self.rate_to - self.rate) / self.seconds
        root = math.sqrt(max(0.0, float(self.rate * self.rate + 2 * slope * Fraction(work))))
        return min(2 * float(work) / (float(self.rate) + root), float(self.seconds))


def times(segments: Iterable[Segment], gaps: Iterator[Work], *, repeat: bool = False) -> Iterator[int]:
    """Arrivals in ns of a process whose unit-rate gaps are `gaps`, under the segments one after another.

    Ends with the last segment, unless they `repeat`; then they start again for ever. Not renormalised: how many
    arrive is as random as the gaps are.

    Raises:
        ValueError: no arrival is expected in any segment.
    """
    profile = list(segments)
    whole = sum((segment.arrivals for segment in profile), Fraction(0))
    period = sum((segment.seconds for segment in profile), Fraction(0))
    if not whole:
        raise ValueError("segments: given no segment with arrivals, expected a rate over 0 in one")
    start, place = Fraction(0), 0
    work: Work = Fraction(0)  # expected arrivals since the segment's start
    for gap in gaps:
        work = work + gap
        while not work < profile[place].arrivals:
            if place == 0 and repeat and work >= whole:  # whole periods at once: a tiny rate costs no time
                periods = math.floor(Fraction(work) / whole)
                work = max(work - periods * whole, 0)
                start += periods * period
                continue
            work = max(work - profile[place].arrivals, 0)
            start += profile[place].seconds
            place += 1
            if place == len(profile):
                if not repeat:
                    return
                place = 0
        yield round((start + Fraction(profile[place].reached(work))) * NS_PER_SECOND)
