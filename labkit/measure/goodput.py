"""Goodput with every denominator (X5): what counts as on target, and over what each share is taken.

    1000 submitted, 100 rejected, 50 failed, 850 finished, 700 on target, 100 s
    → 10 submitted, 8.5 finished and 7 on target a second; 700/850, 700/900 and 700/1000 on target.

None of the three shares is wrong; a share without its denominator is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from labkit.core.types import NS_PER_SECOND, Outcome
from labkit.measure.times import Point, Times


@dataclass(frozen=True)
class Targets:
    """What a finished request must meet to be on target. Bounds in ns, inclusive; None: not asked.

    `ttft`, `tpot`, `itl_max`, `sojourn` are read at `point`; a figure that a request does not have (TPOT of one
    token) cannot be missed. At the client `itl_max` is the longest silence between chunks. `deadline`: it ended by
    its own deadline, if it has one. `quality` judges by id: targets include quality, and an answer that is short
    because it is bad is none (C31).
    """

    ttft: int | None = None
    tpot: int | None = None
    itl_max: int | None = None
    sojourn: int | None = None
    deadline: bool = False
    point: Point = "worker"
    quality: Callable[[str], bool] | None = None

    def met(self, times: Times) -> bool:
        """Whether this request is on target."""
        if times.outcome is not Outcome.FINISHED:
            return False
        tpot = times.tpot(self.point)
        silence = times.itl_max if self.point == "worker" else times.chunk_max
        bounds = (
            (self.ttft, times.ttft(self.point)),
            (self.sojourn, times.sojourn(self.point)),
            (self.tpot, tpot),
        )
        if any(bound is not None and seen and (not seen.exact or seen.ns > bound) for bound, seen in bounds):
            return False
        if self.itl_max is not None and silence is not None and silence > self.itl_max:
            return False
        if self.deadline and times.deadline is not None:
            end = times.finished_at if self.point == "worker" else times.end
            if end is None or end > times.deadline:
                return False
        return self.quality is None or self.quality(times.id)


@dataclass(frozen=True)
class Share:
    """A ratio with its parts by name. `denominator` is a count, or seconds where `per` is `seconds`."""

    name: str
    numerator: int
    of: str
    denominator: Fraction
    per: str
    population: str

    @property
    def value(self) -> Fraction | None:
        """numerator/denominator; None over nothing."""
        return self.numerator / self.denominator if self.denominator else None


def denominators(counts: Mapping[str, int], on_target: int, seconds: Fraction) -> list[Share]:
    """The table of X5. `counts` as in the result's summary: submitted, finished, rejected, …

    Raises ValueError if the parts do not add up to what was submitted.
    """
    submitted, finished = counts["submitted"], counts["finished"]
    accepted = submitted - counts.get("rejected", 0)
    others = sum(counts.get(o.value, 0) for o in Outcome if o is not Outcome.FINISHED)
    if submitted != finished + others or not 0 <= on_target <= finished:
        raise ValueError(
            f"given {submitted} submitted, {finished} finished, {others} that ended otherwise and {on_target} on "
            "target, expected parts that add up"
        )
    rates = (
        ("submit_rate", submitted, "submitted"),
        ("throughput", finished, "finished"),
        ("goodput", on_target, "on_target"),
    )
    shares = (("finished", finished), ("accepted", accepted), ("submitted", submitted))
    return [
        *(Share(name, count, of, seconds, "seconds", "submitted") for name, count, of in rates),
        *(
            Share(f"on_target_of_{of}", on_target, "on_target", Fraction(count), of, of)
            for of, count in shares
        ),
    ]


def in_ns(seconds: Fraction) -> int:
    """A bound in s as whole ns, rounded down: what exceeds the bound exceeds it in ns."""
    return int(seconds * NS_PER_SECOND)
