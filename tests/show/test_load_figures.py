"""Figures about loads: what they say in words, which shapes they draw, what they refuse."""

from __future__ import annotations

from fractions import Fraction

import pytest

from labkit.show.figures import fluid, shares, survival, tanks

LINE = [(Fraction(0), Fraction(0)), (Fraction(10), Fraction(500)), (Fraction(20), Fraction(0))]
PATH = [(0, 0), (10, 480), (20, 3)]


@pytest.fixture(autouse=True, params=["zh", "en"])
def language(request, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", request.param)
    return request.param


def test_a_fluid_says_its_corners_and_the_peaks(language):
    picture = fluid.fluid(LINE, [PATH, [(0, 0), (5, 7)]], "?", believed=[(0, 0), (20, 40)])
    for number in ("500", "480", "7", "40", "20"):
        assert number in picture.alt
    lines = picture.axes[0].lines
    assert [list(line.get_ydata()) for line in lines] == [[0, 480, 3], [0, 7], [0, 500, 0], [0, 40]]
    assert len({line.get_linestyle() for line in lines[-2:]}) == 2
    assert len(picture.png()) > 1000
    for none in ([], [[]]):
        with pytest.raises(ValueError, match="expected a line and at least one path"):
            fluid.fluid(LINE, none, "?")


def test_shares_fill_each_bar(language):
    cases = {"a": {"x": 0.5, "y": 0.46, "z": 0.04}, "b": {"x": 1.0, "y": 0.0, "z": 0.0}}
    picture = shares.shares(cases, "?")
    bars = picture.axes[0].containers
    assert [[round(bar.get_width(), 9) for bar in group] for group in bars] == [[50, 100], [46, 0], [4, 0]]
    assert [bar.get_x() for bar in list(bars[2])] == [96, 100]
    assert len({bar[0].get_hatch() for bar in bars}) == 3
    assert {text.get_text() for text in picture.axes[0].texts} == {"50.0", "46.0", "4.0", "100.0"}
    assert "46 %" in picture.alt
    assert len(picture.png()) > 1000


@pytest.mark.parametrize("cases", [{}, {"a": {}}, {"a": {"x": 0.9}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}])
def test_parts_that_make_no_whole_are_refused(cases):
    with pytest.raises(ValueError, match="expected"):
        shares.shares(cases, "?")


def test_the_share_that_is_slower():
    assert survival.steps([3, 1, 2, 2]) == ([0, 1, 2, 3], [100, 75, 25, 0])
    assert survival.steps([0, 0, 4]) == ([0, 4], [pytest.approx(100 / 3), 0])
    values = [0.01] * 990 + [5.0] * 9 + [9.5]
    picture = survival.survival({"open": values, "closed": [0.01] * 50}, "?")
    assert all(number in picture.alt for number in ("1000", "0.01", "9.5", "50"))
    assert [line.get_label() for line in picture.axes[0].lines[:2]] == ["open", "closed"]
    assert picture.axes[0].get_yscale() == "log"
    assert len(picture.png()) > 1000


@pytest.mark.parametrize("samples", [{}, {"a": []}, {name: [1.0] for name in "abcde"}])
def test_no_sample_or_too_many_are_refused(samples):
    with pytest.raises(ValueError, match="expected 1 to 4"):
        survival.survival(samples, "?")


def test_tanks_are_drawn_to_the_same_end():
    whole = {link: [(0, 1), (10, 4)] for link in tanks.LINKS} | {"entry": []}
    cut = {link: [(0, 1), (30, 90)] for link in tanks.LINKS}
    picture = tanks.tanks(whole, cut)
    assert [axes.get_xlim() for axes in picture.axes] == [(0, 30)] * 4
    assert all(list(line.get_xdata())[-1] == 30 for axes in picture.axes for line in axes.lines)
    assert picture.alt.count("90") == 4
    assert len(picture.png()) > 1000
    with pytest.raises(ValueError, match="expected output, active, queue, entry"):
        tanks.tanks({}, cut)
