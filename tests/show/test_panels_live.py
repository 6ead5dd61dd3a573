"""A panel's picture depends on its values alone, and drawing only what moves shows what drawing all shows."""

import io
import random
from fractions import Fraction

import matplotlib
import numpy as np
import pytest
from PIL import Image

import labkit
from labkit import show
from labkit.show.figures.live import LivePicture, packed
from labkit.show.panels.panel import Slider
from labkit.show.style import settings


def scenario(kind, size, **rest):
    budget = {"tokens": 64, "seats": size}
    return {"schema": "labkit.scenario/1", "budget": budget, "policy": {"batching": kind}, **rest}


def both(one, two):
    cost = {"kind": "table", "seconds": {"1": one / 1000, "2": two / 1000}}
    files = {"静态": "x1_static", "连续": "x1_continuous"}
    return {name: labkit.run({**labkit.load(file).raw, "cost": cost}) for name, file in files.items()}


def window_run(rate, window_ms, size):
    """Sixteen requests, evenly spaced: quick, and every batch can be reckoned by hand."""
    one = {"kind": "fixed", "value": 1}
    load = {"process": "fixed", "rate": rate, "count": 16, "seed": 1, "prompt": one, "output": one}
    made = scenario("static", size, cost={"kind": "linear", "fixed": 0.04, "per_seat": 0.005}, arrivals=load)
    made["policy"]["batch_window_seconds"] = window_ms / 1000
    return labkit.run(made, check=False)


PANELS = {
    "round_times": lambda: show.round_times(both),
    "batch_window": lambda: show.batch_window(window_run),
}


@pytest.fixture(params=PANELS)
def panel(request):
    return PANELS[request.param]()


def some_values(panel, luck):
    return {
        c.name: luck.randrange(c.low, c.high + 1, c.step) if isinstance(c, Slider) else luck.choice(c.stops)
        for c in panel.controls
    }


def test_the_way_there_leaves_no_trace(panel):
    luck = random.Random(5)
    view = panel.open()
    for _ in range(8):
        values = some_values(panel, luck)
        moved, fresh = view(**values), panel.still(**values)
        assert moved.says == fresh.says
        assert moved.picture.alt == fresh.picture.alt
        assert [str(t) for t in moved.tables] == [str(t) for t in fresh.tables]
        assert moved.picture.png() == fresh.picture.png(), values


def test_the_extremes_can_be_shown(panel):
    view = panel.open()
    ends = [(c.low, c.high) if isinstance(c, Slider) else (c.stops[0], c.stops[-1]) for c in panel.controls]
    for first in ends[0]:
        for second in ends[1]:
            shown = view(**dict(zip((c.name for c in panel.controls), (first, second), strict=True)))
            assert shown.picture.png()
            assert str(first) in shown.says
            assert str(second) in shown.says


def test_moving_artists_drawn_above_the_background_look_as_in_a_whole_drawing():
    picture = LivePicture(3, 2)
    axes = picture.add_axes((0.2, 0.2, 0.7, 0.7))
    axes.set(xlim=(0, 10), ylim=(0, 10))
    (line,) = axes.plot([1, 2], [3, 9], zorder=10)
    bars = axes.bar([4, 6], [2, 3], zorder=9)
    picture.move(line, *bars)
    picture.pixels()
    line.set_data([1, 9], [9, 1])
    bars[0].set_height(7)
    moved = picture.pixels().copy()
    for artist in (line, *bars):
        artist.set_animated(False)
    with matplotlib.rc_context(settings()):
        picture.canvas.draw()
    assert np.array_equal(moved, np.asarray(picture.canvas.buffer_rgba()))


def test_a_change_of_what_stays_is_drawn_after_relaid():
    picture = LivePicture(2, 1)
    axes = picture.add_axes((0.2, 0.2, 0.7, 0.7))
    before = picture.png()
    axes.set_xlim(0, 400)
    assert picture.png() == before
    picture.relaid("wide")
    wide = picture.png()
    assert wide != before
    axes.set_xlim(0, 1)
    picture.relaid()
    assert picture.png() == before
    axes.set_xlim(0, 400)
    picture.relaid("wide")
    assert picture.png() == wide


def test_the_png_is_the_pixels():
    pixels = np.random.default_rng(1).integers(0, 256, (7, 5, 4), dtype=np.uint8)
    pixels[..., 3] = 255
    read = Image.open(io.BytesIO(packed(pixels)))
    assert read.mode == "RGB"
    assert (np.asarray(read) == pixels[..., :3]).all()


def test_the_window_panel_says_what_can_be_reckoned_by_hand():
    """Two a second, evenly: the next comes 500 ms later, so the window only delays; 45 ms for one alone."""
    from labkit.show.figures.batch_window import outcome

    for window in (0, 100, 400):
        found = outcome(window_run(2, window, 8))
        assert (found.ttft, found.filled) == (45 + window, 1)
    # 80 a second: eight have come after 87.5 ms, so size fires first: two batches of eight, 80 ms each.
    full = outcome(window_run(80, 400, 8))
    assert full.filled == 8
    # The device is free again after 167.5 ms, the second eight are there after 187.5 ms: both batches start at once.
    assert full.ttft == sum(Fraction(175, 2) - Fraction(25, 2) * i + 80 for i in range(8)) / 8
