import pytest

from labkit import show
from labkit.show.figures.curves import alt_text, curves

SERIES = {"measured": [(2, 67.0), (8, 36.5)], "exact": [(2, 66.78), (8, 36.91)]}


def test_the_alternative_text_says_the_question_and_every_point():
    picture = show.curves(SERIES, "Emptier?", "seats", "busy (%)", doubling=True, top=100)
    assert picture.alt == (
        "Emptier?横轴seats，纵轴busy (%)。measured：（2，67）、（8，36.5）。exact：（2，66.78）、（8，36.91）。"
    )
    axes = picture.axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["2", "8"]
    assert axes.get_ylim() == (0, 100)
    assert len(picture.png()) > 1000


def test_curves_are_told_apart_without_colour():
    lines = curves({name: [(0, i), (1, i)] for i, name in enumerate("abcd")}, "?", "x", "y").axes[0].lines
    for looks in ([line.get_marker() for line in lines], [line.get_linestyle() for line in lines]):
        assert len(set(looks)) == 4


def test_of_a_long_curve_the_ends_and_extremes_are_said():
    points = [(i, (i - 30) ** 2) for i in range(50)]
    assert "50 个点，从（0，900）到（49，361），最小（30，0），最大（0，900）" in alt_text(
        {"a": points}, "?", "x", "y"
    )


@pytest.mark.parametrize("names", ["", "abcde"])
def test_too_few_and_too_many_curves_are_refused(names):
    with pytest.raises(ValueError, match="expected 1 to 4"):
        curves({name: [(0, 1)] for name in names}, "?", "x", "y")
