"""The largest value of a field at which a run still meets a target, found by bisection and told with its doubt.

Every value is tried with the same seeds (common random numbers), so that values differ by what they do and not by
luck. Nothing promises that the figure gets worse and worse as the value grows: a coarse look over the whole range
comes first, and whether what was tried is in order is said with the answer. What lies between the values tried
nobody has looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from labkit.core.errors import InputError, quoted
from labkit.scenario import fields

COARSE = 8  # parts into which the range is cut for the first look
_TARGET = re.compile(r"\s*([a-z0-9_]+)\s*(<=|>=)\s*(\S+)\s*")


@dataclass(frozen=True)
class Target:
    """What is asked of a metric: `metric` ≤ `bound`, or ≥ where `most` is False."""

    metric: str
    most: bool
    bound: float

    def __str__(self) -> str:
        return f"{self.metric} {'<=' if self.most else '>='} {self.bound:g}"

    def verdict(self, mean: float | None, half: float | None) -> tuple[bool, bool]:
        """Whether the mean meets the target, and whether the whole interval mean ± half agrees.

        An undefined figure does not meet it, for sure. Without an interval (one run, not random) the mean is all.
        """
        if mean is None:
            return False, True
        slack = self.bound - mean if self.most else mean - self.bound
        return slack >= 0, half is None or abs(slack) > half


@dataclass(frozen=True)
class Probe:
    """One value that was tried: the metric's mean and half-width over the runs, whether it is met, whether surely."""

    value: fields.Value
    mean: float | None
    half: float | None
    met: bool
    sure: bool


@dataclass(frozen=True)
class Found:
    """What came of a search: `best` None: no value tried meets the target. `probes` by value, `next` the one above.

    `orderly`: every value tried that meets the target lies below every one that misses it.
    """

    best: Probe | None
    next: Probe | None
    probes: tuple[Probe, ...]

    @property
    def orderly(self) -> bool:
        """Whether what was tried is met below and missed above."""
        met = [probe.met for probe in self.probes]
        return met == sorted(met, reverse=True)

    @property
    def surely_met(self) -> Probe | None:
        """The last value up to which all that were tried are met beyond doubt."""
        return _last(self.probes, lambda probe: probe.met and probe.sure)

    @property
    def surely_missed(self) -> Probe | None:
        """The first value from which on all that were tried are missed beyond doubt."""
        return _last(self.probes[::-1], lambda probe: not probe.met and probe.sure)


def _last(probes: Sequence[Probe], holds: Callable[[Probe], bool]) -> Probe | None:
    last = None
    for probe in probes:
        if not holds(probe):
            break
        last = probe
    return last


def target(text: str) -> Target:
    """`ttft_p99<=0.5`, in the metric's unit.

    Raises:
        InputError: it is no such sentence.
    """
    match = _TARGET.fullmatch(text)
    bound = match and fields.number(match[3])
    if match is None or bound is None:
        raise InputError(
            f"labkit sweep: --target: given {quoted(text)}, expected METRIC<=NUMBER or METRIC>=NUMBER, "
            "such as ttft_p99<=0.5"
        )
    return Target(match[1], match[2] == "<=", float(bound))


def span(text: str, step: str | None) -> tuple[str, fields.Steps, list[fields.Value]]:
    """`FIELD=LOW:HIGH` and the distance of the values to be told apart: all of them, ascending.

    Without a distance it is a power of ten, a thousandth to a hundredth of the range; between whole ends at least 1.

    Raises:
        InputError: no field, no two ascending numbers, a step of 0 or of too many.
    """
    name, _, given = text.partition("=")
    ends = [end for end in map(fields.number, given.split(":")) if end is not None]
    if given.count(":") != 1 or len(ends) != 2 or ends[0] >= ends[1]:
        raise InputError(
            f"labkit sweep: --largest: given {quoted(text)}, expected FIELD=LOW:HIGH, LOW below HIGH"
        )
    low, high = ends
    by: fields.Number | None = Decimal(10) ** (Decimal(high - low).adjusted() - 2)
    if step is not None:
        by = fields.number(step)
    elif isinstance(low, int) and isinstance(high, int) and high - low < 1000:
        by = 1
    if by is None or by <= 0 or (high - low) / by > fields.MOST_VALUES:
        raise InputError(
            f"labkit sweep: --step: given {quoted(str(step))}, expected a number over 0, at most "
            f"{fields.MOST_VALUES} of which make up the range"
        )
    values: list[fields.Value] = [low + i * by for i in range(int((high - low) // by) + 1)]
    return name, fields.path(name, "--largest"), values


def search(values: Sequence[fields.Value], probe: Callable[[fields.Value], Probe]) -> Found:
    """Look at `COARSE` + 1 of the ascending values, then halve between the last that is met and the next tried.

    The best is the greatest value met above which the next one tried misses; where the values out of order say
    otherwise, `Found.orderly` is False.
    """
    last = len(values) - 1
    tried: dict[int, Probe] = {}

    def at(place: int) -> Probe:
        if place not in tried:
            tried[place] = probe(values[place])
        return tried[place]

    for part in range(COARSE + 1):
        at(round(part * last / COARSE))
    low = max((place for place, one in tried.items() if one.met), default=None)
    if low is not None and low < last:
        high = min(place for place in tried if place > low)
        while high - low > 1:
            middle = (low + high) // 2
            if at(middle).met:
                low = middle
            else:
                high = middle
    probes = tuple(tried[place] for place in sorted(tried))
    if low is None:
        return Found(None, probes[0], probes)
    return Found(tried[low], tried[low + 1] if low < last else None, probes)
