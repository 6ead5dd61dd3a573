"""A real run beside its virtual twin: each round's time measured and predicted, each request's end in both (C13)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import matplotlib
from matplotlib.axes import Axes

from labkit.show.picture import Picture
from labkit.show.style import FAINT, INK, LARGE, PALETTE, settings
from labkit.show.text import t

WIDTH, HEIGHT = 10.0, 4.6  # inches
LEFT, RIGHT = (0.085, 0.15, 0.385, 0.66), (0.6, 0.15, 0.385, 0.66)


def beside_real(
    rounds: Sequence[tuple[float, float]], ends: Mapping[str, tuple[float, float]], title: str | None = None
) -> Picture:
    """`rounds`: (measured, predicted) seconds of each round; `ends`: (real, virtual) end of each request in seconds.

    A mark on the line is a prediction that came true. Raises ValueError where there is no round.
    """
    if not rounds:
        raise ValueError("rounds: given none, expected at least one (measured, predicted)")
    title = title or t("beside_real.title")
    with matplotlib.rc_context(settings()):
        picture = Picture(WIDTH, HEIGHT, alt_text(rounds, ends, title))
        picture.text(0.012, 0.97, title, size=LARGE, va="top")
        left, right = picture.add_axes(LEFT), picture.add_axes(RIGHT)
        scale = 1000.0
        _scatter(left, [(m * scale, p * scale) for m, p in rounds], "o", PALETTE[4])
        left.set(xscale="log", yscale="log", title=t("beside_real.rounds", error=_percent(rounds)))
        left.set(xlabel=t("beside_real.measured_ms"), ylabel=t("beside_real.predicted_ms"))
        _scatter(right, list(ends.values()), "s", PALETTE[5])
        right.set(title=t("beside_real.ends", error=_percent(ends.values())))
        right.set(xlabel=t("beside_real.real_s"), ylabel=t("beside_real.virtual_s"))
        for axes in (left, right):
            axes.title.set_size(12)
    return picture


def _scatter(axes: Axes, points: Sequence[tuple[float, float]], marker: str, colour: str) -> None:
    """The points, and the line on which both are the same."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    look = {"s": 26, "color": colour, "edgecolors": INK, "linewidths": 0.4, "alpha": 0.55}
    axes.scatter(xs, ys, marker=marker, **look)
    if points:
        low, high = min(xs + ys), max(xs + ys)
        axes.plot([low, high], [low, high], color=FAINT, linestyle="dashed", linewidth=1.4)


def _percent(pairs: Sequence[tuple[float, float]] | object) -> str:
    """Median relative error of the second against the first."""
    errors = [abs(second - first) / first for first, second in pairs if first > 0]  # type: ignore[attr-defined]
    return f"{statistics.median(errors):.0%}" if errors else "–"


def alt_text(
    rounds: Sequence[tuple[float, float]], ends: Mapping[str, tuple[float, float]], title: str
) -> str:
    """Counts and median errors of both halves."""
    return t("beside_real.alt", title=title, rounds=len(rounds), error=_percent(rounds)) + t(
        "beside_real.alt_ends", requests=len(ends), error=_percent(ends.values())
    )
