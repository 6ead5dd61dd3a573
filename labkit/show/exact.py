"""Exact numbers out of a result object: milliseconds as fractions, so that 100/3 stays 100/3.

The engine counts whole nanoseconds. A second in the result object is the double nearest to n / 10⁹, so for
any time under 50 days rounding `seconds * 10⁹` gives n back exactly, and everything below is a `Fraction`
of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

NS_PER_SECOND = 10**9
NS_PER_MS = 10**6

Result = Mapping[str, Any]


def result_of(run: Any) -> Result:
    """The result object (`labkit.result/1`) of a run, or the mapping itself where that is what was given."""
    return run if isinstance(run, Mapping) else run.result


def ms(seconds: float) -> Fraction:
    """A time of the result object, in seconds, as exact milliseconds."""
    return Fraction(round(seconds * NS_PER_SECOND), NS_PER_MS)


def ends_ms(run: Any) -> dict[str, Fraction]:
    """When each finished request ended, in ms after time zero, in the order of the file (c of table 31.1)."""
    requests = result_of(run)["requests"]
    return {r["id"]: ms(r["end"]) for r in requests if r["outcome"] == "finished"}


def mean(values: Any) -> Fraction | None:
    """The exact mean; None where there is nothing to take it of (never 0)."""
    numbers = list(values)
    return sum(numbers, Fraction(0)) / len(numbers) if numbers else None


def seats_of(run: Any, seats: int | None = None) -> int:
    """K, the number of seats: as given, else as the run's scenario says, else the most ever busy."""
    if seats is not None:
        return seats
    if not isinstance(run, Mapping):
        return int(run.scenario.raw["budget"]["seats"])
    return max((len(r["items"]) for r in result_of(run)["rounds"]), default=1)


def seat_rounds(run: Any, seats: int | None = None) -> tuple[int, int]:
    """How many seat-rounds were busy, and how many there were; a busy seat has an item in that round."""
    rounds = result_of(run)["rounds"]
    return sum(len(r["items"]) for r in rounds), seats_of(run, seats) * len(rounds)


def number(value: Fraction) -> str:
    """A number for people: whole, or a small fraction with its decimal (`100/3 ≈ 33.33`), or a decimal."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = f"{float(value):.2f}"
    if value.denominator <= 16 and Fraction(decimal) != value:
        return f"{value} ≈ {decimal}"
    return decimal.rstrip("0").rstrip(".")


def in_ms(value: Fraction | None) -> str:
    """The same with its unit; a dash where the value is undefined."""
    return "–" if value is None else f"{number(value)} ms"
