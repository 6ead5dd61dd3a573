"""A report's tails: which share of requests, or of gaps, takes longer than t; with censoring marked.

Those that were cut off are known to be at least so long. Counted as no longer than that they give the lower edge of
the tail, counted as endless the upper one; the band between is where the truth lies. A tick marks where each was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes

from labkit.show.figures.report_lines import COLOURS
from labkit.show.picture import Picture
from labkit.show.style import DASHES, FAINT, INK, LARGE, NORMAL, SMALL, settings
from labkit.show.text import t

WIDTH, HEIGHT = 8.0, 3.5  # inches
FEW = 20  # fewer values are drawn on a linear axis
MOST = 600  # points of a curve
TICKS = 80  # marks of censored values


@dataclass(frozen=True)
class Tail:
    """One run's values of one figure in s: (value, how often), of the measured and of the censored ones."""

    run: str
    measured: Sequence[tuple[float, int]]
    censored: Sequence[tuple[float, int]]
    p50: str
    p99: str

    @property
    def size(self) -> int:
        """n."""
        return sum(count for _, count in (*self.measured, *self.censored))


def edges(tail: Tail) -> list[tuple[float, float, float]]:
    """(t, least, greatest share that takes longer than t) from t = 0 on, at every value."""
    n = tail.size
    steps: dict[float, list[int]] = {}
    for place, values in enumerate((tail.measured, tail.censored)):
        for value, count in values:
            steps.setdefault(value, [0, 0])[place] += count
    low = high = n
    out = [(0.0, 1.0, 1.0)] if n else []
    for value in sorted(steps):
        measured, censored = steps[value]
        low -= measured + censored
        high -= measured
        out.append((value, low / n, high / n))
    return out


def tails(title: str, panels: Sequence[tuple[str, Sequence[Tail]]]) -> Picture:
    """One panel a figure (its name, its tails by run) side by side."""
    with matplotlib.rc_context(settings()):
        picture = Picture(WIDTH, HEIGHT, alt_text(title, panels))
        picture.text(0.1 / WIDTH, 1 - 0.12 / HEIGHT, title, size=LARGE, va="top")
        wide = (1 - 0.115) / len(panels)
        for i, (name, found) in enumerate(panels):
            axes = picture.add_axes((0.1 + i * wide, 0.17, wide - 0.03, 0.62))
            _panel(axes, name, found)
            if i:
                axes.tick_params(labelleft=False)
            else:
                axes.set_ylabel(t("report.axis_longer"))
        sizes = [tail.size for _, found in panels for tail in found]
        if max(sizes, default=0) >= FEW:
            lowest = min(0.5 / max(sizes), 0.5)
            for axes in picture.axes:
                axes.set(yscale="log", ylim=(lowest, 1.15))
        else:
            for axes in picture.axes:
                axes.set_ylim(0, 1.04)
        _legend(picture.axes[0], panels)
    return picture


def _panel(axes: Axes, name: str, found: Sequence[Tail]) -> None:
    longest = max((value for tail in found for value, _ in (*tail.measured, *tail.censored)), default=0.0)
    unit, scale = ("ms", 1000.0) if longest < 10 else ("s", 1.0)
    for i, tail in enumerate(found):
        points = _thinned(edges(tail))
        if not points:
            continue
        colour = COLOURS[i % len(COLOURS)]
        xs = [point[0] * scale for point in points]
        right = max(longest * scale * 1.03, xs[-1])
        lows = [low or float("nan") for _, low, _ in points] if tail.size >= FEW else [p[1] for p in points]
        look = {"color": colour, "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.8}
        axes.step([*xs, right], [*lows, lows[-1]], where="post", **look)
        if tail.censored:
            highs = [high for _, _, high in points]
            xs_band, lows_band = [*xs, right], [low or 1e-12 for _, low, _ in [*points, points[-1]]]
            axes.fill_between(
                xs_band, lows_band, [*highs, highs[-1]], step="post", color=colour, alpha=0.2, linewidth=0
            )
            by_value = {x: low for x, low, _ in edges(tail)}
            cuts = [value for value, _ in tail.censored][:: max(1, len(tail.censored) // TICKS)]
            heights = [max(by_value[value], 0.6 / tail.size) for value in cuts]
            axes.plot([c * scale for c in cuts], heights, "|", color=INK, markersize=9, markeredgewidth=1.6)
    axes.set_xlim(0, longest * scale * 1.03 or 1)
    axes.set_xlabel(t("report.axis_value", name=name, unit=unit))


def _thinned(points: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Few enough to draw: evenly spread over the axis of logarithms, the last always there."""
    if len(points) <= MOST:
        return points
    kept = [points[0]]
    for point in points[1:-1]:
        if point[1] <= kept[-1][1] * 0.99 or point[2] < kept[-1][2] * 0.99:
            kept.append(point)
    return [*kept, points[-1]]


def _legend(axes: Axes, panels: Sequence[tuple[str, Sequence[Tail]]]) -> None:
    names = [tail.run for tail in panels[0][1]]
    handles = []
    if len(names) > 1:
        for i, name in enumerate(names):
            look = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)]}
            handles += axes.plot([], [], label=name, **look)
    if any(tail.censored for _, found in panels for tail in found):
        handles += axes.plot(
            [],
            [],
            "|",
            color=INK,
            markersize=9,
            markeredgewidth=1.6,
            linestyle="",
            label=t("report.mark_cut"),
        )
        handles.append(
            axes.fill_between([], [], color=FAINT, alpha=0.3, linewidth=0, label=t("report.mark_between"))
        )
    if not handles:
        return
    figure = axes.get_figure()
    legend = figure.legend(
        handles=handles, loc="upper right", bbox_to_anchor=(0.995, 0.915), ncols=4, fontsize=SMALL, frameon=False,
        borderpad=0, handlelength=1.8, columnspacing=1.2,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_size(min(SMALL, NORMAL))


def alt_text(title: str, panels: Sequence[tuple[str, Sequence[Tail]]]) -> str:
    """n, how many were cut off, p50 and p99 of each curve."""
    parts = [title]
    for name, found in panels:
        for tail in found:
            if not tail.size:
                parts.append(t("report.alt_none", run=tail.run, figure=name))
                continue
            cut = sum(count for _, count in tail.censored)
            said = {"n": tail.size, "cut": cut, "p50": tail.p50, "p99": tail.p99}
            parts.append(t("report.alt_tail", run=tail.run, figure=name, **said))
    return t("list.stop").join(parts)
