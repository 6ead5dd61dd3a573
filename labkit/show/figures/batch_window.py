"""C10: what a waiting window buys and costs, at low, middle and high load.

Left, mean time to first token against the longest wait that a batch may be held for: one curve a load, every
point a run. Right, how many requests a batch holds at the window that is set, with the greatest size beside
it: that is what the waiting buys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import matplotlib

from labkit.show.exact import mean, ms, result_of
from labkit.show.figures.curves import COLOURS, draw_lines
from labkit.show.figures.live import LivePicture
from labkit.show.style import ALARM, INK, LARGE, MARKERS, SMALL, settings
from labkit.show.tables import Table
from labkit.show.text import t

WIDTH, HEIGHT = 8.0, 3.9  # inches
LEFT_BOX, RIGHT_BOX = (0.085, 0.16, 0.45, 0.6), (0.66, 0.16, 0.325, 0.6)
HATCHES = ("", "///", "...")

Runs = Callable[[int, int, int], Any]


@dataclass(frozen=True)
class Outcome:
    """Of one run: mean time to first token in ms (E31.1), requests a batch."""

    ttft: Fraction
    filled: Fraction


def outcome(run: Any) -> Outcome:
    """Read one run in which each batch takes one round. Raises ValueError where no token came out."""
    result = result_of(run)
    times = [ms(r["ttft"]) for r in result["requests"] if r["ttft"] is not None]
    average = mean(times)
    if average is None:
        raise ValueError("no request of this run had a token, so there is no time to first token")
    return Outcome(average, Fraction(len(times), len(result["rounds"])))


@dataclass(frozen=True)
class Windows:
    """All that the figure shows: the load's rates, the windows in ms, an outcome for each, the place set."""

    rates: tuple[int, ...]
    windows: tuple[int, ...]
    size: int
    window: int
    found: Mapping[int, tuple[Outcome, ...]]

    def here(self, rate: int) -> Outcome:
        """The outcome at the window that is set."""
        return self.found[rate][self.windows.index(self.window)]


def sweep(
    outcomes: Callable[[int, int, int], Outcome],
    rates: Sequence[int],
    windows: Sequence[int],
    window: int,
    size: int,
) -> Windows:
    """Ask `outcomes(rate a second, window in ms, greatest size)` for every rate and window."""
    found = {rate: tuple(outcomes(rate, w, size) for w in windows) for rate in rates}
    return Windows(tuple(rates), tuple(windows), size, window, found)


def says(w: Windows) -> str:
    """One sentence: time to first token and filling at each load, at the window and size that are set."""
    parts = [
        t(
            "window.at_rate",
            rate=rate,
            ttft=round(w.here(rate).ttft),
            filled=f"{float(w.here(rate).filled):.1f}",
        )
        for rate in w.rates
    ]
    return t("window.says", window=w.window, size=w.size, parts=t("list.semicolon").join(parts))


def alt_text(w: Windows) -> str:
    """The sentence, and where each curve begins and ends."""
    curves = []
    for rate in w.rates:
        first, last = w.found[rate][0].ttft, w.found[rate][-1].ttft
        curves.append(t("window.alt_curve", rate=rate, first=round(first), last=round(last)))
    ends = {"low": w.windows[0], "high": w.windows[-1]}
    return says(w) + t("list.stop") + t("window.alt", curves=t("list.semicolon").join(curves), **ends)


def tables(w: Windows) -> tuple[Table]:
    """Time to first token and filling for every window and rate."""
    head = [t("window.window_ms")]
    for rate in w.rates:
        head += [t("window.table_ttft", rate=rate), t("window.table_filled", rate=rate)]
    rows = []
    for at, window in enumerate(w.windows):
        cells = [w.found[rate][at] for rate in w.rates]
        rows.append(
            [str(window), *(c for o in cells for c in (f"{round(o.ttft)}", f"{float(o.filled):.1f}"))]
        )
    return (Table(t("window.table", size=w.size), head, rows),)


class Drawing:
    """The figure, laid out once; `show` moves its artists."""

    def __init__(self, w: Windows, highest: int, largest: int) -> None:
        """Lay out for the rates and windows of `w`; `highest` ms and `largest` batch end the upright axes."""
        with matplotlib.rc_context(settings()):
            self.picture = LivePicture(WIDTH, HEIGHT)
            self._left(w, highest)
            self._right(w, largest)
        self.picture.move(*self.lines, *self.marks, self.cursor)
        self.picture.move(*self.bars, self.size, *self.labels, self.named)
        self.show(w)

    def _left(self, w: Windows, highest: int) -> None:
        axes = self.left = self.picture.add_axes(LEFT_BOX)
        self.picture.text(0.012, 0.965, t("window.title_ttft"), size=LARGE - 1, va="top")
        axes.set(xlim=(-10, w.windows[-1] + 10), ylim=(0, highest))
        axes.set(xlabel=t("window.axis_window"), ylabel=t("window.axis_ttft"))
        self.lines = draw_lines(axes, {t("window.rate", rate=rate): [(0, 0)] for rate in w.rates})
        self.marks = [
            axes.plot([], [], color=c, marker=m, markersize=11, markeredgecolor=INK, zorder=5)[0]
            for c, m in zip(COLOURS, MARKERS, strict=False)
        ][: len(w.rates)]
        self.cursor = axes.plot([], [], color=INK, linestyle="dotted", linewidth=1.4)[0]
        place = {"loc": "lower left", "bbox_to_anchor": (-0.03, 0.985), "ncols": len(w.rates)}
        axes.legend(frameon=False, handlelength=2.2, columnspacing=1.0, handletextpad=0.5, **place)

    def _right(self, w: Windows, largest: int) -> None:
        axes = self.right = self.picture.add_axes(RIGHT_BOX)
        self.picture.text(0.6, 0.965, t("window.title_filled"), size=LARGE - 1, va="top")
        names = [t("window.rate", rate=rate) for rate in w.rates]
        places = range(len(names))
        self.bars = []
        for place, colour, hatch in zip(places, COLOURS, HATCHES, strict=False):
            look = {"color": colour, "alpha": 0.75, "edgecolor": INK, "hatch": hatch}
            self.bars += axes.bar([place], [1], 0.6, **look)
        paper = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        look = {"size": SMALL, "ha": "center", "va": "bottom", "bbox": paper}
        self.labels = [axes.text(p, 0, "", **look) for p in places]
        self.size = axes.plot([], [], color=ALARM, linestyle="dashed", linewidth=1.6)[0]
        above = {"ha": "left", "va": "bottom", "transform": axes.transAxes}
        self.named = axes.text(-0.02, 1.03, "", size=SMALL, color=ALARM, **above)
        axes.set_xticks(list(places), names)
        axes.set(xlim=(-0.5, len(names) - 0.4), ylim=(0, largest * 1.15), ylabel=t("window.axis_filled"))

    def show(self, w: Windows) -> None:
        """Move every artist to the numbers of `w` and renew the alternative text."""
        for line, mark, rate in zip(self.lines, self.marks, w.rates, strict=True):
            line.set_data(w.windows, [float(o.ttft) for o in w.found[rate]])
            mark.set_data([w.window], [float(w.here(rate).ttft)])
        self.cursor.set_data([w.window] * 2, self.left.get_ylim())
        for bar, label, rate in zip(self.bars, self.labels, w.rates, strict=True):
            filled = float(w.here(rate).filled)
            bar.set_height(filled)
            label.set_y(filled + 0.35)
            label.set_text(f"{filled:.1f}")
        self.size.set_data(self.right.get_xlim(), [w.size] * 2)
        self.named.set_text(t("window.size_line", size=w.size))
        self.picture.alt = alt_text(w)
