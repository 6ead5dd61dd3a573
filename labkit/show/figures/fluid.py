"""C22: a fluid line over simulated paths: what a burst piles up, and what capacity that comes late leaves."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib

from labkit.show.picture import Picture
from labkit.show.style import ALARM, INK, LARGE, PALETTE, settings
from labkit.show.text import t

WIDTH, HEIGHT = 8.0, 3.6  # inches
BOX = (0.095, 0.165, 0.885, 0.61)

Points = Sequence[tuple[float, float]]


def fluid(line: Points, paths: Sequence[Points], title: str, believed: Points | None = None) -> Picture:
    """The fluid backlog `line` over `paths`, (seconds, requests) each; `believed`: a second line, dashed.

    Raises ValueError where there is no path or the line has no corner: then there is nothing to compare.
    """
    if not paths or not all(map(len, (line, *paths))):
        raise ValueError("paths: given none, or one without points, expected a line and at least one path")
    with matplotlib.rc_context(settings()):
        picture = Picture(WIDTH, HEIGHT, alt_text(line, paths, title, believed))
        picture.text(0.012, 0.965, title, size=LARGE, va="top")
        axes = picture.add_axes(BOX)
        for index, path in enumerate(paths):
            name = t("fluid.path") if index == 0 else None
            look = {"color": PALETTE[1], "linewidth": 1.1, "linestyle": "solid", "zorder": 2}
            axes.plot(*_plain(path), label=name, **look)
        look = {"color": INK, "linewidth": 2.6, "linestyle": "solid", "zorder": 4}
        axes.plot(*_plain(line), label=t("fluid.line"), **look)
        if believed is not None:
            look = {"color": ALARM, "linewidth": 2.2, "linestyle": "dashed", "zorder": 5, "clip_on": False}
            axes.plot(*_plain(believed), label=t("fluid.believed"), **look)
        axes.set(xlabel=t("fluid.x"), ylabel=t("fluid.y"))
        axes.set_xlim(0, float(max(x for x, _ in line)))
        axes.set_ylim(0, None)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.98), ncols=3, frameon=False, handlelength=2.8)
    return picture


def _plain(points: Points) -> tuple[list[float], list[float]]:
    """Places and levels as floats: a study's are exact."""
    return [float(x) for x, _ in points], [float(y) for _, y in points]


def alt_text(line: Points, paths: Sequence[Points], title: str, believed: Points | None) -> str:
    """The corners of the line, and how high the paths went."""
    corners = t("list.comma").join(t("fluid.corner", x=f"{float(x):g}", y=f"{float(y):g}") for x, y in line)
    peaks = [max(float(y) for _, y in path) for path in paths]
    said = t(
        "fluid.alt",
        title=title,
        corners=corners,
        count=len(paths),
        least=f"{min(peaks):g}",
        most=f"{max(peaks):g}",
    )
    if believed is not None:
        said += t("fluid.alt_believed", most=f"{max(float(y) for _, y in believed):g}")
    return said
