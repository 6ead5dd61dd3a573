"""Runs of one scenario that differ in their seeds alone, measured, and what they say together.

Run 0 is the scenario as it stands; run k draws from a seed derived from the scenario's own and k. Two scenarios
that differ in a policy or a rate and have the same seed so meet the same luck in each run (common random numbers).
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from labkit.measure.fold import Measures
from labkit.measure.intervals import replications
from labkit.measure.metrics import METRICS
from labkit.scenario.load import Scenario
from labkit.scenario.run import stream

HEADLINE = (
    "ttft_mean", "ttft_p99", "tpot_mean", "itl_p99", "sojourn_mean", "sojourn_p99", "intended_sojourn_p99",
    "wait_mean", "queue_mean", "throughput_requests", "throughput_output", "busy_share", "recompute_ratio",
    "finished", "rejected", "expired",
)  # fmt: skip
MOST_RUNS = 10_000


def seed_of(scenario: Scenario, run: int) -> int:
    """The seed of run `run`: of run 0 the load's own, of run k 53 bits of SHA-256 over that and k."""
    raw = scenario.raw
    own = int(next((raw[name]["seed"] for name in ("arrivals", "closed_loop") if name in raw), raw["seed"]))
    if run == 0:
        return own
    digest = hashlib.sha256(f"labkit/{own}/{run}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def is_random(scenario: Scenario) -> bool:
    """Whether another seed could change anything: random gaps or lengths (E31.11 on; traces and lists have none)."""
    load: dict[str, Any] = scenario.raw.get("arrivals") or scenario.raw.get("closed_loop") or {}
    lengths = [load[name]["kind"] for name in ("prompt", "output") if name in load]
    return load.get("process", "fixed") != "fixed" or any(kind != "fixed" for kind in lengths)


def measured(scenario: Scenario, run: int, names: Sequence[str]) -> list[Fraction | None]:
    """Run `run` of the scenario and these metrics of it, exact.

    Raises:
        InputError: a row of its trace cannot be used.
        InvariantError: the engine broke one of its laws.
    """
    fold = Measures()
    stream(scenario if run == 0 else scenario.with_seed(seed_of(scenario, run)), fold.feed)
    fold.close()
    return [METRICS[name].of(fold) for name in names]


@dataclass(frozen=True)
class Summary:
    """What runs say of one metric: mean ± half of `defined` of `runs` values; None: undefined, or no interval."""

    mean: Fraction | None
    half: float | None
    defined: int
    runs: int


def summary(values: Sequence[Fraction | None]) -> Summary:
    """Mean and 95 % interval of independent runs, Student's t; undefined if one of them is (see `replications`)."""
    defined = [value for value in values if value is not None]
    if len(defined) < len(values) or not defined:
        return Summary(None, None, len(defined), len(values))
    mean = sum(defined, Fraction(0)) / len(defined)
    interval = replications(defined)
    return Summary(mean, None if interval is None else interval.high - float(mean), len(defined), len(values))


@dataclass(frozen=True)
class Repeated:
    """Runs of one scenario, their seeds, and the summary of each headline metric."""

    title: str
    random: bool
    seeds: tuple[int, ...]
    metrics: Mapping[str, Summary]

    @classmethod
    def of(cls, scenario: Scenario, runs: int, tick: Callable[[], object] = lambda: None) -> Repeated:
        """Run the scenario `runs` times; `tick` is called after each."""
        rows = []
        for run in range(runs):
            rows.append(measured(scenario, run, HEADLINE))
            tick()
        sums = {name: summary(column) for name, column in zip(HEADLINE, zip(*rows, strict=True), strict=True)}
        seeds = tuple(seed_of(scenario, run) for run in range(runs))
        return cls(scenario.title or scenario.label, is_random(scenario), seeds, sums)

    def document(self) -> dict[str, Any]:
        """For `--json`, in seconds and the metrics' other units; null where undefined."""
        return {
            "schema": "labkit.repeat/1",
            "title": self.title,
            "random": self.random,
            "seeds": list(self.seeds),
            "level": 0.95,
            "method": "Student's t over runs",
            "metrics": {
                name: {
                    "unit": METRICS[name].unit,
                    "mean": None if one.mean is None else float(one.mean),
                    "half_width": one.half,
                    "defined": one.defined,
                }
                for name, one in self.metrics.items()
            },
        }

    def text(self) -> str:
        """A readable table."""
        many = len(self.seeds) > 1
        head = f"{self.title}: " + (
            f"mean ± 95 % of {len(self.seeds)} runs, Student's t"
            if many
            else "nothing in it is random, one run"
        )
        rows = [[name, said(one), METRICS[name].unit] for name, one in self.metrics.items()]
        return "\n".join([head, *("  " + line for line in columns(rows, 1))]) + "\n"


def said(one: Summary) -> str:
    """`0.0512 ± 0.0031`: two digits of doubt, and as many of the mean as it leaves standing."""
    if one.mean is None:
        return "-" if one.runs == 1 else f"- ({one.defined} of {one.runs} defined)"
    mean = float(one.mean)
    if not one.half:
        return f"{mean:.6g}"
    places = 1 - math.floor(math.log10(one.half))
    if not -6 < places < 9:
        return f"{mean:.6g} ± {one.half:.2g}"
    places = max(0, places)
    return f"{mean:.{places}f} ± {one.half:.{places}f}"


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Rows as lines of text: the first `left` columns to the left, the others to the right."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            room = " " * (width - _width(cell))
            cells.append(cell + room if place < left else room + cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    """Columns of a terminal."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
