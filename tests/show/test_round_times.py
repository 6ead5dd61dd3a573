from fractions import Fraction
from itertools import pairwise

import pytest
from matplotlib.text import Text

from labkit.show.figures.round_times import Drawing, alt_text, compare, flips, round_times, says
from labkit.show.panels.round_times import AT, LONGEST_ONE, LONGEST_TWO


@pytest.fixture
def runs(result):
    """X1 by hand for any two round times: what the engine must agree with."""

    def both(one, two):
        static = [(two, "AB"), (one, "A"), (one, "A"), (one, "A"), (one, "C")]
        ends = {"A": two + 3 * one, "B": two, "C": two + 4 * one}
        continuous = [(two, "AB"), (two, "AC"), (one, "A"), (one, "A")]
        return {
            "静态": result(static, ends),
            "连续": result(continuous, {"A": 2 * two + 2 * one, "B": two, "C": 2 * two}),
        }

    return both


@pytest.mark.parametrize("one", range(1, LONGEST_ONE + 1))
def test_the_order_flips_where_the_ledger_says(runs, one):
    comparison = compare(runs, one, 10, AT)
    request, makespan, average = (flips(AT, values) for values in zip(*comparison.swept, strict=True))
    assert request == [one]
    assert makespan == [2 * one]
    assert average == [Fraction(5, 2) * one]


def test_the_sentence_and_the_text_state_the_numbers(runs):
    comparison = compare(runs, 6, 10, AT)
    assert says(comparison) == (
        "t₁ = 6 ms，t₂ = 10 ms：请求 A，静态早 4 ms；全部完成，连续早 2 ms；平均，连续早 10/3 ≈ 3.33 ms。"
    )
    text = alt_text(comparison)
    assert "静态：A 28 ms、B 10 ms、C 34 ms，平均 24 ms" in text
    assert "连续：A 32 ms、B 10 ms、C 20 ms，平均 62/3 ≈ 20.67 ms" in text
    assert "请求 A t₂ = 6 ms、全部完成 t₂ = 12 ms、平均 t₂ = 15 ms" in text


def test_a_tie_is_called_a_tie(runs):
    assert "平均，两者相同" in says(compare(runs, 6, 15, AT))


def test_no_flip_is_said_too(result):
    same = result([(10, "A")], {"A": 10})
    comparison = compare(lambda one, two: {"x": same, "y": same}, 1, 1, (1, 2))
    assert "平均没有" in alt_text(comparison)


def test_nothing_finished_is_an_error_that_says_so(result):
    empty = result([(10, "A")], {"A": None})
    with pytest.raises(ValueError, match="no request finished"):
        compare(lambda one, two: {"x": empty, "y": empty}, 1, 1, (1,))


@pytest.mark.parametrize(("one", "two"), [(1, 1), (1, 40), (6, 10), (6, 15), (15, 1), (15, 40), (9, 33)])
def test_the_way_to_a_position_leaves_no_trace(runs, one, two):
    moved = Drawing(compare(runs, 15, 40, AT), -LONGEST_TWO)
    moved.show(compare(runs, 1, 1, AT))
    moved.show(compare(runs, one, two, AT))
    fresh = Drawing(compare(runs, one, two, AT), -LONGEST_TWO)
    assert moved.picture.png() == fresh.picture.png()
    assert moved.picture.alt == fresh.picture.alt


@pytest.mark.parametrize(("one", "two"), [(1, 1), (1, 40), (6, 10), (11, 40), (15, 1), (15, 40)])
def test_text_is_readable_and_inside_the_picture(runs, one, two):
    picture = round_times(runs, one, two, AT)
    picture.canvas.draw()
    found = [t for t in picture.findobj(Text) if t.get_visible() and t.get_text().strip()]
    assert all(t.get_fontsize() >= 11 for t in found)
    names = [(t.get_text(), t.get_window_extent()) for t in found if " = " in t.get_text()]
    assert len(names) == 3
    for name, box in names:
        assert box.x0 >= 0 and box.x1 <= picture.bbox.x1 and box.y1 <= picture.bbox.y1, name
    for (name, box), (other, its) in pairwise(names):
        assert not (box.overlaps(its) and min(box.y1, its.y1) - max(box.y0, its.y0) > 5), f"{name} on {other}"


def test_axes_have_units_and_lines_more_than_colour(runs):
    picture = round_times(runs, 6, 10, AT)
    left, right = picture.axes
    assert all("ms" in label for label in (left.get_xlabel(), right.get_xlabel(), right.get_ylabel()))
    named = [line for line in right.lines if not line.get_label().startswith("_")]
    assert len({(line.get_marker(), line.get_linestyle()) for line in named}) >= 3
    assert len({bar.get_hatch() for bar in left.patches}) == 2
