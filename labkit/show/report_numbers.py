"""Numbers and names as a report writes them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from labkit.measure.latency import Bounds, Sample
from labkit.show.report_layout import NS, Run
from labkit.show.text import t

WIDE_SPACE = "\u3000"  # in many a Chinese title
LONGEST = 40  # characters of a name from outside
Number = Fraction | int | None


def number(value: Number, digits: int = 4) -> str:
    """A number for people, to four significant digits and never with an exponent; a word where it is undefined."""
    if value is None:
        return t("report.undefined")
    if value == int(value):
        return f"{int(value):,}".replace(",", " ") if abs(value) >= 10**4 else str(int(value))
    size = abs(float(value))
    places = digits - 1 if size == 0 else max(0, digits - 1 - _exponent(size))
    text = f"{float(value):,.{min(places, 9)}f}".replace(",", " " if size >= 10**4 else "")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _exponent(size: float) -> int:
    return int(f"{size:e}".partition("e")[2])


def printable(text: str) -> str:
    """Text in which nothing can drive a terminal or turn its direction; lines stay lines."""
    return "".join(c if c.isprintable() or c in "\n" + WIDE_SPACE else ascii(c)[1:-1] for c in text)


def clean(text: str, longest: int = LONGEST) -> str:
    """Text from outside on one line: nothing that could break it or drive a terminal, cut to so many characters."""
    safe = "".join(c if c.isprintable() or c == WIDE_SPACE else ascii(c)[1:-1] for c in text)
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


def percent(value: Number) -> str:
    """A share with its percent sign."""
    return t("report.undefined") if value is None else f"{number(100 * value)} %"


def unit_of(runs: Sequence[Run]) -> tuple[str, int]:
    """ms while the longest sojourn is under ten seconds, else s; and how many of it make a second."""
    longest = max((row.sojourn().ns for run in runs for row in run.measures.requests), default=0)
    return ("ms", 1000) if longest < 10 * NS else ("s", 1)


def times(value: Number, unit: tuple[str, int]) -> str:
    """A time in s, written in the unit."""
    return number(None if value is None else value * unit[1])


def between(bounds: Bounds, unit: tuple[str, int]) -> str:
    """A percentile as one number, as 'at least', or as its two bounds."""
    if bounds.low is None:
        return t("report.undefined")
    low = times(bounds.low, unit)
    if bounds.exact:
        return low
    return f"≥ {low}" if bounds.high is None else f"{low}–{times(bounds.high, unit)}"


def mean_of(sample: Sample, unit: tuple[str, int]) -> str:
    """The mean of the measured; where some were cut off, also the least that the mean of all can be."""
    mean = times(sample.mean(), unit)
    return f"{mean} (≥ {times(sample.mean_at_least(), unit)})" if sample.censored else mean
