"""A report's figures over time: the queue and its age, rounds, pages, the output backlog; one line a run.

Long runs come in bins: the line is the mean in a bin, the paler one the greatest value there, so that no peak is
lost by being drawn thin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from labkit.show.picture import Picture
from labkit.show.style import DASHES, FAINT, LARGE, MARKERS, PALETTE, SMALL, settings
from labkit.show.text import t

WIDTH, PANEL, TITLE, FOOT, LEFT, RIGHT, GAP = 8.0, 1.75, 0.5, 0.6, 0.95, 0.25, 0.3  # inches
COLOURS = (PALETTE[4], PALETTE[5], PALETTE[2], PALETTE[3], PALETTE[0], PALETTE[1], PALETTE[7], PALETTE[6])
FEW = 60  # points: so many get a mark each
Step = tuple[float, float, float, float]
Point = tuple[float, float, float]


@dataclass(frozen=True)
class Panel:
    """One axis. `steps`: run to (start s, end s, mean, greatest); `points`: run to (s, mean, greatest).

    `name` says what is drawn, for the alternative text; `label` is the axis with its unit.
    """

    name: str
    label: str
    steps: Mapping[str, Sequence[Step]] | None = None
    points: Mapping[str, Sequence[Point]] | None = None

    @property
    def runs(self) -> Mapping[str, Sequence[tuple[float, ...]]]:
        """What there is, by run."""
        return self.steps if self.steps is not None else self.points or {}

    @property
    def end(self) -> float:
        """The last time drawn, in s."""
        last = 1 if self.steps is not None else 0
        return max((row[last] for rows in self.runs.values() for row in rows), default=0.0)


def lines(title: str, panels: Sequence[Panel]) -> Picture:
    """The panels below each other on one time axis. Times in s; the axis shows ms where all is short."""
    height = TITLE + FOOT + len(panels) * PANEL + (len(panels) - 1) * GAP
    end = max(panel.end for panel in panels)
    unit, scale = ("ms", 1000.0) if end < 10 else ("s", 1.0)
    with matplotlib.rc_context(settings()):
        picture = Picture(WIDTH, height, alt_text(title, panels))
        picture.text(0.1 / WIDTH, 1 - 0.12 / height, title, size=LARGE, va="top")
        top = TITLE
        for panel in panels:
            box = (LEFT / WIDTH, 1 - (top + PANEL) / height, 1 - (LEFT + RIGHT) / WIDTH, PANEL / height)
            axes = picture.add_axes(box)
            _draw(axes, panel, scale)
            axes.set_xlim(0, end * scale * 1.01 or 1)
            highest = max((row[-1] for rows in panel.runs.values() for row in rows), default=0)
            axes.set_ylim(0, highest * 1.08 or 1)
            if not highest:
                look = {"ha": "center", "va": "center", "color": FAINT, "transform": axes.transAxes}
                axes.text(0.5, 0.5, t("report.always_zero"), **look)
            if panel.steps is not None:
                axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.set_ylabel(panel.label)
            axes.tick_params(labelbottom=panel is panels[-1])
            top += PANEL + GAP
        axes.set_xlabel(t("report.axis_time", unit=unit))
        handles = picture.axes[0].get_legend_handles_labels()[0] if len(panels[0].runs) > 1 else []
        if any(row[-1] > row[-2] for panel in panels for rows in panel.runs.values() for row in rows):
            mark: dict[str, Any] = {"linestyle": "-" if any(panel.steps for panel in panels) else ""}
            if any(panel.points for panel in panels):
                mark |= {"marker": MARKERS[0], "markersize": 4}
            handles.append(Line2D([], [], color=FAINT, linewidth=1.6, label=t("report.mark_mean"), **mark))
            handles.append(Patch(color=FAINT, alpha=0.3, linewidth=0, label=t("report.mark_most")))
        if handles:
            place = (1 - RIGHT / WIDTH, 1 - 0.06 / height)
            legend = picture.legend(
                handles=handles,
                loc="upper right",
                bbox_to_anchor=place,
                ncols=6,
                fontsize=SMALL,
                frameon=False,
            )
            for text in legend.get_texts():
                text.set_parse_math(False)
    return picture


def _draw(axes: Axes, panel: Panel, scale: float) -> None:
    for i, (name, rows) in enumerate(panel.runs.items()):
        look = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.6}
        if not rows:
            axes.plot([], [], label=name, **look)
            continue
        if panel.steps is not None:
            edges = [row[0] * scale for row in rows] + [rows[-1][1] * scale]
            peaks, means = [row[3] for row in rows], [row[2] for row in rows]
            axes.stairs(peaks, edges, color=look["color"], alpha=0.22, fill=True, linewidth=0)
            axes.stairs(means, edges, baseline=None, label=name, **look)
            continue
        xs = [row[0] * scale for row in rows]
        means, peaks = [row[1] for row in rows], [row[2] for row in rows]
        marker, colour = MARKERS[i % len(MARKERS)], look["color"]
        if len(rows) <= FEW:
            axes.plot(xs, means, label=name, marker=marker, markersize=4, **look)
        else:  # no line between points far apart: nothing is known there
            axes.vlines(xs, means, peaks, color=colour, alpha=0.3, linewidth=1.2)
            axes.plot(xs, means, label=name, marker=marker, markersize=2.6, linestyle="", color=colour)


def alt_text(title: str, panels: Sequence[Panel]) -> str:
    """Mean, greatest value and end of every line."""
    parts = [title]
    for panel in panels:
        for name, rows in panel.runs.items():
            if not rows:
                parts.append(t("report.alt_none", run=name, figure=panel.name))
                continue
            if panel.steps is not None:
                span = sum(row[1] - row[0] for row in rows)
                mean = sum((row[1] - row[0]) * row[2] for row in rows) / span if span else 0.0
                most, end = max(row[3] for row in rows), rows[-1][1]
            else:
                mean = sum(row[1] for row in rows) / len(rows)
                most, end = max(row[2] for row in rows), rows[-1][0]
            said = {"mean": f"{mean:.4g}", "most": f"{most:.4g}", "end": f"{end:.4g} s"}
            parts.append(t("report.alt_line", run=name, figure=panel.name, **said))
    return t("list.stop").join(parts)
