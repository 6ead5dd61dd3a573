"""The two plots of C18 as functions of data."""

import math

import pytest

from labkit.show.figures.tails import p99_by_rate, tails
from labkit.show.style import SMALL

TAILS = {
    "predicted": [(0.0, 1.0), (0.5, 1e-20), (1.0, 0.0)],
    "exact": [(0.0, 1.0), (1.0, 0.04)],
    "measured": [(0.5, 0.21, 0.2, 0.22), (1.0, 0.05, -0.01, 0.11)],
}
RATES = {
    "predicted": [(20, 0.058), (95, 0.92), (99.8, 23.0)],
    "servers": [(20, 1.47), (95, 1.71)],
    "exact": [(20, 1.46), (95, 1.70)],
    "measured": [(20, 1.45, 1.4, 1.5)],
}


def test_tails_say_and_show_every_series():
    picture = tails(TAILS)
    axes = picture.axes[0]
    assert picture.alt.startswith("M/M/1 说中了连续批处理的尾部吗？横轴逗留时间 t（s），纵轴Pr(T > t)。")
    assert "按座位和轮精确计算：（0，1）、（1，0.04）。" in picture.alt
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] == pytest.approx(0.0125)  # the slowest, 0.05, over 4
    assert list(axes.lines[0].get_xdata()) == [0.0, 0.5]  # probability 0 cannot be shown
    assert len(picture.png()) > 1000


def test_p99_has_straight_m_m_1_and_the_crossing():
    picture = p99_by_rate(RATES, 100.0, crossing=99.73)
    axes = picture.axes[0]
    assert axes.get_xlim()[0] > axes.get_xlim()[1]  # what is left runs towards 0
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "20",
        "50",
        "80",
        "90",
        "95",
        "98",
        "99",
        "99.5",
        "99.8",
    ]
    assert axes.lines[0].get_xdata() == pytest.approx([80, 5, 0.2])
    assert any(
        line.get_xdata() == pytest.approx([0.27, 0.27]) for line in axes.lines if len(line.get_xdata()) == 2
    )
    assert picture.alt.endswith("相等处：λ = 99.7")
    assert "（20，0.058）" in picture.alt


def test_english(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "en")
    assert "equal at λ = 99.7" in p99_by_rate(RATES, 100.0, crossing=99.73).alt
    assert "measured on the engine" in tails(TAILS).alt


def test_roles_are_told_apart_without_colour_and_keep_their_look():
    first, second = tails(TAILS).axes[0], p99_by_rate(RATES, 100.0).axes[0]
    for axes in (first, second):
        looks = {(line.get_linestyle(), line.get_marker(), line.get_linewidth()) for line in axes.lines[:3]}
        assert len(looks) == 3
    assert first.containers[0].lines[0].get_marker() == second.containers[0].lines[0].get_marker()
    assert (
        len(
            {
                line.get_color()
                for line in tails({"x": [(0, 1)], "exact": [(0, 1)], "y": [(0, 1)]}).axes[0].lines
            }
        )
        == 3
    )


def test_an_interval_that_reaches_zero_is_drawn_to_the_edge():
    bars = tails(TAILS).axes[0].containers[0].lines[2][0].get_segments()
    assert bars[0][0][1] == pytest.approx(0.2)
    assert 0 < bars[1][0][1] < 0.0125
    assert bars[1][1][1] == pytest.approx(0.11)


@pytest.mark.parametrize("picture", [tails(TAILS), p99_by_rate(RATES, 100.0, crossing=99.73)])
def test_text_is_large_enough_and_inside(picture):
    picture.draw_without_rendering()
    width, height = picture.canvas.get_width_height()
    seen = [
        text for text in picture.findobj(lambda artist: hasattr(artist, "get_fontsize")) if text.get_text()
    ]
    assert seen
    for text in seen:
        if text.get_visible():
            assert text.get_fontsize() >= SMALL
    for text in (
        *picture.texts,
        picture.axes[0].xaxis.label,
        picture.axes[0].yaxis.label,
        *picture.axes[0].texts,
    ):
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= 0 and box.x1 <= width and box.y1 <= height
    assert math.isfinite(picture.axes[0].get_ylim()[0])


@pytest.mark.parametrize("count", [0, 5])
def test_too_few_and_too_many_are_refused(count):
    with pytest.raises(ValueError, match="expected 1 to 4"):
        tails({str(i): [(0.0, 1.0)] for i in range(count)})


def test_a_rate_over_the_offline_rate_is_refused():
    with pytest.raises(ValueError, match="less than offline_rate 90"):
        p99_by_rate(RATES, 90.0)
