"""A few named curves over one axis: the plain plot of a page, with every point said in its alternative text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from labkit.show.picture import Picture
from labkit.show.style import DASHES, INK, LARGE, MARKERS, PALETTE, settings
from labkit.show.text import t

WIDTH, HEIGHT = 8.0, 3.6  # inches
BOX = (0.085, 0.165, 0.895, 0.61)
COLOURS = (PALETTE[5], PALETTE[4], PALETTE[2], PALETTE[3])  # dark enough for a line on white
BRIEF = 14  # more points than this: the alternative text says the ends and the extremes

Points = Sequence[tuple[float, float]]


def curves(
    series: Mapping[str, Points],
    title: str,
    x: str,
    y: str,
    *,
    doubling: bool = False,
    top: float | None = None,
) -> Picture:
    """Points (x, y) of each name, joined; `x` and `y` name the axes with their units, `title` asks a question.

    `doubling`: the x axis is logarithmic with base 2, and marks the points' own places. `top`: end of the
    y axis, which begins at 0. Raises ValueError for more curves than there are looks.
    """
    if not 1 <= len(series) <= len(COLOURS):
        raise ValueError(f"series: given {len(series)} curves, expected 1 to {len(COLOURS)}")
    with matplotlib.rc_context(settings()):
        picture = Picture(WIDTH, HEIGHT, alt_text(series, title, x, y))
        picture.text(0.012, 0.965, title, size=LARGE, va="top")
        axes = picture.add_axes(BOX)
        draw_lines(axes, series)
        axes.set(xlabel=x, ylabel=y)
        axes.set_ylim(0, top)
        if doubling:
            places = sorted({point[0] for points in series.values() for point in points})
            axes.set_xscale("log", base=2)
            axes.set_xticks(places, [f"{place:g}" for place in places])
            axes.xaxis.set_minor_locator(NullLocator())
        place = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.98), "ncols": len(series)}
        axes.legend(frameon=False, handlelength=2.8, **place)
    return picture


def draw_lines(axes: Axes, series: Mapping[str, Points]) -> list[Line2D]:
    """One line for each name, told apart by colour, marker and dashes; the lines, for those who move them.

    Later ones have smaller marks, so that equal curves are still seen to be several.
    """
    lines = []
    looks = zip(COLOURS, MARKERS, DASHES, (10.0, 7.0, 5.5, 4.0), strict=True)
    for (name, points), (colour, marker, dash, size) in zip(series.items(), looks, strict=False):
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        look = {"color": colour, "marker": marker, "linestyle": dash, "markeredgecolor": INK}
        lines += axes.plot(xs, ys, label=name, markersize=size, linewidth=1.8, markeredgewidth=0.6, **look)
    return lines


def alt_text(series: Mapping[str, Points], title: str, x: str, y: str) -> str:
    """The question, the axes, and each curve's points; of long curves the ends, the least and the greatest."""
    parts = [title, t("curves.axes", x=x, y=y)]
    parts += [t("curves.series", name=name, points=_points(points)) for name, points in series.items()]
    return t("list.stop").join(parts)


def _points(points: Points) -> str:
    def said(point: tuple[float, float]) -> str:
        return t("curves.point", x=_short(point[0]), y=_short(point[1]))

    if len(points) <= BRIEF:
        return t("list.comma").join(map(said, points))
    least, greatest = (pick(points, key=lambda p: p[1]) for pick in (min, max))
    ends = {"first": said(points[0]), "last": said(points[-1])}
    return t("curves.brief", count=len(points), least=said(least), greatest=said(greatest), **ends)


def _short(value: float) -> str:
    return f"{float(value):.4g}"
