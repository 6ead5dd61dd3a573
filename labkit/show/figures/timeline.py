"""Figure 31.1: who sits in which seat, round by round; one policy, or several on one time axis.

One lane a seat, one cell a round. A request is told apart by its name, its hatch and its colour; an empty
seat is a dashed box that says so; a wedge and a time in ms mark where a request ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from labkit.show.exact import ends_ms, in_ms, mean, ms, number, result_of, seat_rounds, seats_of
from labkit.show.figures.lanes import Cell, Stretch, cells, stretches
from labkit.show.picture import Picture
from labkit.show.style import ALARM, FAINT, HATCHES, INK, LARGE, NORMAL, PALETTE, SMALL, settings
from labkit.show.text import t

WIDTH, LEFT, RIGHT = 8.0, 0.85, 0.35  # inches
TITLE, HEAD, FOOT, GAP = 0.42, 0.34, 0.55, 0.18  # inches
CELL, ROOM = 0.62, 0.38  # of a lane: the cell's height, the room above it for the time of an end
BRIEF = 24  # more stretches than this are summed up, not listed, in the alternative text


def timeline(run: Any, seats: int | None = None) -> Picture:
    """One run as a timeline. `run` is a run or its result object; then `seats` says K."""
    return _draw({"": run}, seats, t("timeline.title_one"))


def timelines(runs: Mapping[str, Any], seats: int | None = None) -> Picture:
    """Several runs, policy name to run, one above the other on one time axis (F31.1)."""
    return _draw(runs, seats, t("timeline.title"))


def alt_text(run: Any, seats: int | None = None) -> str:
    """What the timeline shows, in words and computed numbers: seats, stretches, ends, mean, share."""
    result, count = result_of(run), seats_of(run, seats)
    found = stretches(result, count)
    span = max((s.end for s in found), default=Fraction(0))
    parts = [t("timeline.alt", seats=count, rounds=len(result["rounds"]), span=in_ms(span))]
    by_lane = [[s for s in found if s.lane == lane] for lane in dict.fromkeys(s.lane for s in found)]
    parts += [_alt_seat(lane, brief=len(found) > BRIEF) for lane in by_lane]
    parts.append(_alt_ends(run, seats))
    return t("list.stop").join(parts)


def _alt_seat(lane: list[Stretch], brief: bool) -> str:
    seat = lane[0].lane + 1
    if brief:
        busy = [s for s in lane if s.id is not None]
        counts = {"count": len({s.id for s in busy}), "busy": sum(s.rounds for s in busy)}
        return t("timeline.alt_seat_brief", seat=seat, rounds=sum(s.rounds for s in lane), **counts)
    empty = {True: t("mark.empty_waited"), False: t("mark.empty")}
    words = [
        t("timeline.alt_stretch", id=s.id or empty[s.waited], start=number(s.start), end=number(s.end))
        for s in lane
    ]
    return t("timeline.alt_seat", seat=seat, stretches=t("list.comma").join(words))


def _alt_ends(run: Any, seats: int | None) -> str:
    ends = ends_ms(run)
    busy, offered = seat_rounds(run, seats)
    shared = {"mean": in_ms(mean(ends.values())), "busy": busy, "offered": offered}
    if not ends:
        return t("timeline.alt_ends", ends=t("timeline.none"), **shared)
    if len(ends) > BRIEF:
        first, last = in_ms(min(ends.values())), in_ms(max(ends.values()))
        return t("timeline.alt_ends_brief", count=len(ends), first=first, last=last, **shared)
    listed = t("list.comma").join(f"{id_} {in_ms(end)}" for id_, end in ends.items())
    return t("timeline.alt_ends", ends=listed, **shared)


def _draw(runs: Mapping[str, Any], seats: int | None, title: str) -> Picture:
    counts = {name: seats_of(run, seats) for name, run in runs.items()}
    found = {name: stretches(result_of(run), counts[name]) for name, run in runs.items()}
    lanes = {name: max((s.lane + 1 for s in found[name]), default=counts[name]) for name in runs}
    lane = 0.56 if max(lanes.values()) <= 4 else 0.44
    head = {name: HEAD if name else 0.0 for name in runs}
    height = TITLE + FOOT + sum(head[n] + lanes[n] * lane for n in runs) + GAP * (len(runs) - 1)
    span = max((float(s.end) for name in runs for s in found[name]), default=1.0) or 1.0
    with matplotlib.rc_context(settings()):
        alt = t("list.stop").join(
            (name + t("list.colon") if name else "") + alt_text(run, seats) for name, run in runs.items()
        )
        figure = Picture(WIDTH, height, f"{title}{t('list.stop')}{alt}")
        figure.text(0.1 / WIDTH, 1 - 0.12 / height, title, size=LARGE, va="top")
        looks = _looks(runs)
        top = TITLE
        for name, run in runs.items():
            top += head[name]
            tall = lanes[name] * lane
            box = (LEFT / WIDTH, 1 - (top + tall) / height, 1 - (LEFT + RIGHT) / WIDTH, tall / height)
            axes = figure.add_axes(box)
            if name:
                figure.text(
                    0.1 / WIDTH,
                    1 - (top - 0.06) / height,
                    _heading(name, run, seats),
                    size=NORMAL,
                    va="bottom",
                )
            _lanes(axes, result_of(run), counts[name], found[name], looks, lanes[name], span)
            top += tall + GAP
            axes.tick_params(labelbottom=name == list(runs)[-1])
        axes.set_xlabel(t("axis.time_ms"))
    return figure


def _heading(name: str, run: Any, seats: int | None) -> str:
    busy, offered = seat_rounds(run, seats)
    return t(
        "timeline.policy", policy=name, mean=in_ms(mean(ends_ms(run).values())), busy=busy, offered=offered
    )


def _looks(runs: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Colour and hatch of each request, by its place in the file: 56 different pairs before one repeats."""
    ids = list(dict.fromkeys(r["id"] for run in runs.values() for r in result_of(run)["requests"]))
    colours, hatches = len(PALETTE), len(HATCHES) - 1  # lengths without a common factor
    return {id_: (PALETTE[i % colours], HATCHES[i % hatches]) for i, id_ in enumerate(ids)}


def _lanes(
    axes: Axes,
    result: Mapping[str, Any],
    seats: int,
    found: list[Stretch],
    looks: Mapping[str, tuple[str, str]],
    lanes: int,
    span: float,
) -> None:
    """Draw every cell, every empty stretch and every end of one run into its axes."""
    axes.set_xlim(0, span * 1.005)
    axes.set_ylim(lanes, 0)
    axes.set_yticks(
        [i + ROOM + CELL / 2 for i in range(lanes)], [t("axis.seat", seat=i + 1) for i in range(lanes)]
    )
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    inch = (WIDTH - LEFT - RIGHT) / (span * 1.005)  # inches a ms
    sitting = cells(result, seats)
    for cell in sitting:
        _cell(axes, cell.lane, float(cell.start), float(cell.end), *looks[cell.id])
    for s in found:
        if s.id is None:
            _hole(axes, s, inch)
        else:
            own = [c for c in sitting if c.lane == s.lane and s.start <= c.start < s.end]
            _names(axes, s, own, inch)
    _ends(axes, result, found, inch)


def _wide(text: str) -> float:
    """Inches that a short text of the smallest size takes, with a little air; Chinese is one em each."""
    ems = sum(1.0 if c > "\u2e7f" else 0.58 for c in text)
    return ems * SMALL / 72 + 0.06


def _cell(axes: Axes, lane: int, start: float, end: float, colour: str, hatch: str) -> None:
    pale = tuple(0.45 * c + 0.55 for c in to_rgb(colour))
    axes.add_patch(
        Rectangle(
            (start, lane + ROOM), end - start, CELL, facecolor=pale, edgecolor=colour, hatch=hatch, lw=0
        )
    )
    axes.add_patch(Rectangle((start, lane + ROOM), end - start, CELL, fill=False, edgecolor=INK, lw=0.9))


def _hole(axes: Axes, s: Stretch, inch: float) -> None:
    """An empty seat: a dashed box, heavier and in words where somebody waits meanwhile."""
    left, right, tall = float(s.start), float(s.end), CELL - 0.08
    edge = ALARM if s.waited else FAINT
    box = Rectangle((left, s.lane + ROOM + 0.04), right - left, tall, fill=False, edgecolor=edge)
    box.set(linestyle="dashed", linewidth=2.0 if s.waited else 1.0)
    axes.add_patch(box)
    for words in _hole_words(s):
        if (right - left) * inch >= _wide(words):
            place = {"x": (left + right) / 2, "y": s.lane + ROOM + CELL / 2, "ha": "center", "va": "center"}
            axes.text(s=words, size=SMALL, color=edge, **place)
            break


def _hole_words(s: Stretch) -> tuple[str, ...]:
    """What an empty seat says, longest first."""
    empty = t("mark.empty")
    for_long = f"{empty} {in_ms(s.end - s.start)}"
    if not s.waited:
        return for_long, empty
    waited = t("mark.empty_waited")
    return f"{waited} {in_ms(s.end - s.start)}", waited, for_long, empty


def _names(axes: Axes, s: Stretch, own: list[Cell], inch: float) -> None:
    """The request's name in each of its cells, or once in the middle where the cells are too narrow."""
    assert s.id is not None
    places = [(c.start + c.end) / 2 for c in own]
    if float(min(c.end - c.start for c in own)) * inch < _wide(s.id):
        places = [(s.start + s.end) / 2] if float(s.end - s.start) * inch >= _wide(s.id) else []
    paper = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.92}
    for place in places:
        look = {"size": SMALL, "ha": "center", "va": "center", "bbox": paper}
        axes.text(float(place), s.lane + ROOM + CELL / 2, s.id, **look)


def _ends(axes: Axes, result: Mapping[str, Any], found: list[Stretch], inch: float) -> None:
    """A wedge where each request ends, and its time above where there is room for it."""
    last = {s.id: s for s in found if s.id is not None}
    ended = [
        (last[r["id"]], ms(r["end"])) for r in result["requests"] if r["end"] is not None and r["id"] in last
    ]
    free: dict[int, float] = {}
    for s, end in sorted(ended, key=lambda pair: (pair[0].lane, pair[1])):
        x = float(s.end)
        axes.plot(x, s.lane + ROOM - 0.02, marker="v", color=INK, markersize=7, clip_on=False, zorder=5)
        full, short = t("mark.end", id=s.id, ms=in_ms(end)), number(end)
        for words in (full, short):
            left = x * inch - _wide(words) - 0.04
            if left >= free.get(s.lane, -LEFT):
                axes.text(x - 0.08 / inch, s.lane + ROOM - 0.03, words, size=SMALL, ha="right", va="bottom")
                free[s.lane] = x * inch + 0.08
                break
