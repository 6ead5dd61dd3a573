"""Q31.2 and C08: when a round with two sequences takes longer than one with one, who is earlier?

Left, the completion times under two policies at one pair of round times. Right, how much earlier the second
policy is than the first, against t₂: above zero the second wins, below it the first. Every point is a run;
the upright dashes at t₁, 2 t₁ and 2.5 t₁ are what the formula says, to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import matplotlib

from labkit.show.exact import ends_ms, in_ms, mean, number
from labkit.show.figures.live import LivePicture
from labkit.show.picture import Picture
from labkit.show.style import DASHES, FAINT, INK, LARGE, MARKERS, PALETTE, SMALL, settings
from labkit.show.tables import Table
from labkit.show.text import t

WIDTH, HEIGHT = 8.0, 3.9  # inches
LEFT_BOX, RIGHT_BOX = (0.085, 0.16, 0.36, 0.6), (0.555, 0.16, 0.43, 0.6)
LIMITS = (25, 50, 100, 200, 400, 800, 1600)  # ms: the left axis ends at the first that holds everything
FACTORS = (Fraction(1), Fraction(2), Fraction(5, 2))  # of t₁: A, all done, mean
LINE_COLOURS = (PALETTE[5], PALETTE[2], PALETTE[4])

Runs = Callable[[int, int], Mapping[str, Any]]


@dataclass(frozen=True)
class Times:
    """What one policy made of one pair of round times, in ms: each completion, the mean, the last."""

    ends: Mapping[str, Fraction]
    mean: Fraction
    makespan: Fraction


def times(run: Any) -> Times:
    """Read one run. Raises ValueError where no request finished: then there is nothing to compare."""
    ends = ends_ms(run)
    average = mean(ends.values())
    if average is None:
        raise ValueError("no request finished in this run, so it has no completion time to compare")
    return Times(ends, average, max(ends.values()))


def saved(first: Times, second: Times, watch: str) -> tuple[Fraction, Fraction, Fraction]:
    """How many ms earlier `second` is: request `watch`, all done, the mean. Negative: it is later."""
    return first.ends[watch] - second.ends[watch], first.makespan - second.makespan, first.mean - second.mean


def flips(at: Sequence[int], values: Sequence[Fraction]) -> list[Fraction]:
    """Where a line through these points goes from ≥ 0 to < 0: exact where it is straight in between."""
    out = []
    for (x0, y0), (x1, y1) in zip(
        zip(at, values, strict=True), list(zip(at, values, strict=True))[1:], strict=False
    ):
        if y0 >= 0 > y1:
            out.append(x0 + (x1 - x0) * y0 / (y0 - y1))
    return out


@dataclass(frozen=True)
class Comparison:
    """All that the figure shows for one t₁ and t₂: both policies there, and the sweep over t₂."""

    one: int
    two: int
    names: tuple[str, str]
    here: tuple[Times, Times]
    at: tuple[int, ...]
    swept: tuple[tuple[Fraction, Fraction, Fraction], ...]
    watch: str

    @property
    def now(self) -> tuple[Fraction, Fraction, Fraction]:
        """How much earlier the second policy is at (t₁, t₂) itself."""
        return saved(*self.here, self.watch)

    def what(self) -> tuple[str, str, str]:
        """The names of the three measures, in the order of `saved`."""
        return t("mark.request", id=self.watch), t("mark.makespan"), t("mark.mean")


def compare(runs: Runs, one: int, two: int, at: Sequence[int]) -> Comparison:
    """Run both policies at t₁ = `one`, t₂ = `two` ms and at every t₂ of `at`; `runs` gives two named runs."""
    named = runs(one, two)
    first, second = named
    here = times(named[first]), times(named[second])
    watch = next(iter(here[0].ends))
    swept = []
    for value in at:
        pair = runs(one, value)
        swept.append(saved(times(pair[first]), times(pair[second]), watch))
    return Comparison(one, two, (first, second), here, tuple(at), tuple(swept), watch)


def says(c: Comparison) -> str:
    """One sentence: which policy is earlier by each measure at this t₁ and t₂, and by how much."""
    verdicts = []
    for what, value in zip(c.what(), c.now, strict=True):
        key = "round_times.tie" if value == 0 else "round_times.verdict"
        verdicts.append(t(key, what=what, policy=c.names[value > 0], ms=in_ms(abs(value))))
    return t("round_times.says", one=c.one, two=c.two, verdicts=t("list.semicolon").join(verdicts))


def alt_text(c: Comparison) -> str:
    """The numbers of both halves of the figure."""
    parts = [says(c)]
    for name, here in zip(c.names, c.here, strict=True):
        listed = t("list.comma").join(f"{id_} {in_ms(end)}" for id_, end in here.ends.items())
        parts.append(t("round_times.alt_ends", policy=name, ends=listed, mean=in_ms(here.mean)))
    found = []
    for what, values in zip(c.what(), zip(*c.swept, strict=True), strict=True):
        points = flips(c.at, values)
        found += [t("round_times.alt_flip", what=what, at=in_ms(p)) for p in points]
        found += [] if points else [t("round_times.alt_no_flip", what=what)]
    parts.append(t("round_times.alt_flips", low=c.at[0], high=c.at[-1], flips=t("list.comma").join(found)))
    return t("list.stop").join(parts)


def tables(c: Comparison) -> tuple[Table, Table]:
    """The numbers of both halves of the figure."""
    rows = [[id_, *(number(here.ends[id_]) for here in c.here)] for id_ in c.here[0].ends]
    rows.append([t("mark.mean"), *(number(here.mean) for here in c.here)])
    head = [t("table.request"), *c.names]
    swept = [[str(at), *map(number, values)] for at, values in zip(c.at, c.swept, strict=True)]
    return (
        Table(t("round_times.table_ends", one=c.one, two=c.two), head, rows),
        Table(
            t("round_times.table_saved", one=c.one, first=c.names[0], second=c.names[1]),
            [t("round_times.two_ms"), *c.what()],
            swept,
        ),
    )


class Drawing:
    """The figure, laid out once; `show` moves its artists to another comparison of the same two policies."""

    def __init__(self, c: Comparison, deepest: int) -> None:
        """Lay out for the policies and requests of `c`; `deepest` ms is the lower end of the right axis."""
        with matplotlib.rc_context(settings()):
            self.picture = LivePicture(WIDTH, HEIGHT)
            self._left(c)
            self._right(c, deepest)
        moving = self.bars, self.labels, self.formula, self.lines, self.marks, self.names, [self.cursor]
        self.picture.move(*(artist for group in moving for artist in group))
        self.limit = 0
        self.show(c)

    def _left(self, c: Comparison) -> None:
        self.left = self.picture.add_axes(LEFT_BOX)
        self.picture.text(0.012, 0.965, t("round_times.title_ends"), size=LARGE - 1, va="top")
        rows = [*c.here[0].ends, t("mark.mean")]
        places = range(len(rows))
        self.bars, self.labels = [], []
        for i, name in enumerate(c.names):
            hatch = ("", "///")[i]
            colours = {"color": PALETTE[(0, 1)[i]], "edgecolor": INK, "hatch": hatch, "linewidth": 0.8}
            bars = self.left.barh(
                [p + (i - 0.5) * 0.38 for p in places], [1] * len(rows), 0.36, label=name, **colours
            )
            self.bars += list(bars)
            self.labels += [self.left.text(0, b.get_y() + 0.18, "", size=SMALL, va="center") for b in bars]
        self.left.set_yticks(list(places), rows)
        self.left.set_ylim(len(rows) - 0.5, -0.5)
        self.left.tick_params(axis="y", length=0)
        self.left.set_xlabel(t("axis.end_ms"))
        self.left.legend(
            loc="lower left", bbox_to_anchor=(-0.02, 0.985), ncols=2, frameon=False, handlelength=1.6
        )

    def _right(self, c: Comparison, deepest: int) -> None:
        axes = self.right = self.picture.add_axes(RIGHT_BOX)
        self.picture.text(0.49, 0.965, t("round_times.title_flip"), size=LARGE - 1, va="top")
        axes.axhline(0, color=INK, linewidth=1)
        axes.set_xlim(0, c.at[-1] * 1.02)
        axes.set_ylim(deepest, -0.75 * deepest)
        axes.set_xlabel(t("axis.two_ms"))
        axes.set_ylabel(t("axis.saved_ms", first=c.names[0], second=c.names[1]), labelpad=2)
        self.lines, self.marks = [], []
        for what, colour, marker, dash in zip(c.what(), LINE_COLOURS, MARKERS, DASHES, strict=False):
            look = {"color": colour, "marker": marker, "linestyle": dash}
            self.lines += axes.plot([], [], markersize=4, linewidth=1.6, label=what, **look)
            self.marks += axes.plot(
                [], [], markersize=9, markeredgecolor=INK, zorder=5, clip_on=False, **look
            )
        look = {"color": FAINT, "linestyle": "dashed", "linewidth": 1, "clip_on": False}
        self.formula = [axes.plot([], [], **look)[0] for _ in FACTORS]
        self.names = [axes.text(0, 0, "", size=SMALL, color=FAINT, va="center") for _ in FACTORS]
        self.cursor = axes.plot([], [], color=INK, linestyle="dotted", linewidth=1.4)[0]
        axes.legend(loc="lower left", frameon=True, framealpha=1, edgecolor="none", handlelength=2.6)

    def show(self, c: Comparison) -> None:
        """Move every artist to the numbers of `c` and renew the alternative text."""
        values = [v for here in c.here for v in (*here.ends.values(), here.mean)]
        limit = next((x for x in LIMITS if x >= float(max(values)) * 1.02), LIMITS[-1])
        if limit != self.limit:
            self.limit = limit
            self.left.set_xlim(0, limit * 1.18)
            self.left.set_xticks([limit * i / 5 for i in range(6)])
            self.picture.relaid(limit)
        for bar, label, value in zip(self.bars, self.labels, values, strict=True):
            bar.set_width(float(value))
            label.set_x(float(value) + limit * 0.02)
            label.set_text(number(value).split(" ≈ ")[-1])
        for line, mark, series, now in zip(
            self.lines, self.marks, zip(*c.swept, strict=True), c.now, strict=True
        ):
            line.set_data(c.at, [float(v) for v in series])
            mark.set_data([c.two], [float(now)])
        self._formula(c.one)
        # Down to the lowest mark and no further: the legend stands below.
        self.cursor.set_data([c.two] * 2, [min(0.0, *map(float, c.now)), self.right.get_ylim()[1]])
        self.picture.alt = alt_text(c)

    def _formula(self, one: int) -> None:
        """Upright dashes from the zero line up to the names t₁, 2 t₁ and 2.5 t₁, each on a line of its own.

        The names stand to the right of their dashes, or all to the left where the right would run out of
        room; the dash that others would have to cross is the longer one.
        """
        top, end = self.right.get_ylim()[1], self.right.get_xlim()[1]
        to_left = float(FACTORS[-1] * one) > 0.7 * end
        for i, (line, name, factor) in enumerate(zip(self.formula, self.names, FACTORS, strict=True)):
            row = len(FACTORS) - 1 - i if to_left else i
            x, y = float(factor * one), top * (1.34 - 0.145 * row)
            line.set_data([x, x], [0, y])
            name.set(x=x + end * (-0.01 if to_left else 0.01), y=y, ha="right" if to_left else "left")
            words = "t₁" if factor == 1 else t("round_times.line", factor=number(factor))
            name.set_text(f"{words} = {number(factor * one)}")


def round_times(runs: Runs, one: int, two: int, at: Sequence[int]) -> Picture:
    """The figure for one pair of round times in whole ms; `runs(t₁, t₂)` gives two runs by name."""
    c = compare(runs, one, two, at)
    return Drawing(c, deepest=-max(at)).picture
