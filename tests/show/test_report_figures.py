"""The figures of a report, from plain data: the edges of a tail, what is said of a line, shares that fill a bar."""

import math
from itertools import pairwise

import pytest

from labkit.show.figures.report_lines import Panel, lines
from labkit.show.figures.report_shares import shares
from labkit.show.figures.report_tails import MOST, Tail, _thinned, edges, tails


@pytest.fixture(autouse=True)
def english(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "en")


def tail(measured, censored=(), run="x"):
    return Tail(run, measured, censored, "1 s", "2 s")


def test_edges_of_a_tail_by_hand():
    """C31: 1, 2 and 3 s measured, one cut off at 2 s. After 2 s at least one of four takes longer, and at most two."""
    found = edges(tail([(1.0, 1), (2.0, 1), (3.0, 1)], [(2.0, 1)]))
    assert found == [(0.0, 1.0, 1.0), (1.0, 0.75, 0.75), (2.0, 0.25, 0.5), (3.0, 0.0, 0.25)]


def test_without_censoring_both_edges_are_the_tail():
    found = edges(tail([(1.0, 3), (5.0, 1)]))
    assert found == [(0.0, 1.0, 1.0), (1.0, 0.25, 0.25), (5.0, 0.0, 0.0)]
    assert edges(tail([])) == []


def test_a_long_tail_is_thinned_and_keeps_its_end():
    points = edges(tail([(float(k), 1) for k in range(1, 20_001)]))
    kept = _thinned(points)
    assert len(kept) < 3 * MOST < len(points)
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    ratios = [b[1] / a[1] for a, b in pairwise(kept[:-1])]
    assert min(ratios) > 0.45  # steps stay small until the last few values


def test_tails_draw_the_values_and_mark_the_cuts():
    picture = tails("How long?", [("T", [tail([(1.0, 1), (2.0, 1)], [(1.5, 1)])])])
    axes = picture.axes[0]
    marks = [line for line in axes.lines if line.get_marker() == "|" and len(line.get_xdata())]
    assert list(marks[0].get_xdata()) == [1500.0]
    assert axes.get_xlabel() == "T (ms)"
    assert picture.alt == "How long? T of x: 3, of them 1 cut off, p50 1 s, p99 2 s."


def test_many_values_go_on_a_logarithmic_axis():
    few = tails("?", [("T", [tail([(1.0, 3)])])])
    many = tails("?", [("T", [tail([(float(k), 1) for k in range(1, 101)])])])
    assert [p.axes[0].get_yscale() for p in (few, many)] == ["linear", "log"]


def test_a_line_says_its_mean_and_its_greatest():
    """2 for a second and 5 for three: the mean over time is 17/4."""
    panel = Panel("Waiting", "Waiting", steps={"x": [(0.0, 1.0, 2.0, 3.0), (1.0, 4.0, 5.0, 5.0)], "y": []})
    picture = lines("Queue?", [panel])
    assert picture.alt == "Queue? Waiting of x: mean 4.25, most 5, until 4 s. Waiting of y: none."
    points = Panel("Age", "Age (s)", points={"x": [(1.0, 2.0, 2.0), (12.0, 4.0, 6.0)]})
    picture = lines("Age?", [points])
    assert picture.alt == "Age? Age of x: mean 3, most 6, until 12 s."
    assert picture.axes[0].get_xlabel() == "Time (s)"


def test_nothing_is_said_to_be_nothing():
    picture = lines("Queue?", [Panel("Waiting", "Waiting", steps={"x": [(0.0, 1.0, 0.0, 0.0)]})])
    assert [text.get_text() for text in picture.axes[0].texts] == ["always 0"]
    assert picture.axes[0].get_ylim() == (0, 1)


def test_shares_fill_their_bar():
    bars = [("x", "tokens", {"red": 0.75, "blue": 0.25}), ("x", "requests", {"red": 0.5, "blue": 0.5})]
    picture = shares("Who gets what?", bars)
    axes = picture.axes[0]
    widths = [patch.get_width() for patch in axes.patches]
    assert math.isclose(sum(widths), 200)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["tokens", "requests"]
    assert picture.alt == "Who gets what? x, tokens: red 75 %, blue 25 %. x, requests: red 50 %, blue 50 %."
    assert {patch.get_hatch() for patch in axes.patches} == {"", "///"}


@pytest.mark.parametrize("name", ["W" * 24, "租" * 24, "i" * 24, "a"])
@pytest.mark.parametrize("count", [1, 4, 8])
def test_the_names_of_tenants_are_not_cut(name, count):
    """The legend lies in the picture, above the bars, however wide the names are."""
    names = [f"{name[:23]}{i}" for i in range(count)]
    picture = shares("?", [("x", "tokens", dict.fromkeys(names, 1 / count))])
    picture.canvas.draw()
    [legend] = picture.legends
    box, room = legend.get_window_extent(), picture.bbox
    assert box.x0 >= room.x0 and box.x1 <= room.x1
    assert box.y0 >= picture.axes[0].get_window_extent().y1 - 2


def test_the_mark_of_the_mean_is_what_is_drawn():
    """Points are not named by a line, nor lines by a point."""
    steps = Panel("n", "n", steps={"x": [(0.0, 1.0, 1.0, 2.0)]})
    points = Panel("n", "n", points={"x": [(1.0, 2.0, 3.0)]})
    looks = []
    for panels in ([steps], [points], [steps, points]):
        mean = lines("?", panels).legends[0].legend_handles[0]
        looks.append((mean.get_linestyle() != "None", mean.get_marker() != "None"))
    assert looks == [(True, False), (False, True), (True, True)]


def test_a_dollar_sign_is_no_formula():
    """Names are from outside: an unfinished formula would stop matplotlib."""
    name = "$x^{"
    for picture in (
        shares("?", [(name, "tokens", {name: 1.0})]),
        lines("?", [Panel("n", "n", steps={name: [(0.0, 1.0, 1.0, 1.0)], "y": []})]),
        tails("?", [("T", [tail([(1.0, 1)], run=name), tail([(1.0, 1)], run="y")])]),
    ):
        assert picture.png().startswith(b"\x89PNG")
