import re
from fractions import Fraction

import pytest
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from labkit.show.figures.timeline import alt_text, timeline, timelines


def words(picture):
    return [text.get_text() for text in picture.findobj(Text) if text.get_visible() and text.get_text()]


def boxes(picture):
    """Name and box, in pixels, of every text that is drawn."""
    picture.canvas.draw()
    found = [t for t in picture.findobj(Text) if t.get_visible() and t.get_text().strip()]
    ticks = {id(t) for axes in picture.axes for t in axes.xaxis.get_ticklabels()}
    return [(t.get_text(), t.get_window_extent()) for t in found if id(t) not in ticks]


def test_every_request_seat_and_end_is_named(x1):
    shown = words(timelines(x1, seats=2))
    assert shown.count("A") == 8
    assert shown.count("B") == shown.count("C") == 2
    assert {"座位 1", "座位 2", "A 40 ms", "B 10 ms", "C 50 ms", "C 20 ms", "时间（ms）"} <= set(shown)


def test_empty_seats_say_so_and_how_long(x1):
    shown = words(timelines(x1, seats=2))
    assert {"有人等的空座 30 ms", "空座 10 ms", "空座 20 ms"} <= set(shown)


def test_each_policy_has_its_mean_and_share(x1):
    shown = words(timelines(x1, seats=2))
    assert any(w.startswith("静态") and "100/3" in w and "6/10" in w for w in shown)
    assert any(w.startswith("连续") and "70/3" in w and "6/8" in w for w in shown)


def test_a_request_has_its_own_hatch_and_colour(random_result):
    run = random_result(4, 8, 60, 3)
    picture = timeline(run, seats=4)
    cells = [p for p in picture.findobj(Rectangle) if p.get_fill() and p.get_linewidth() == 0]
    looks = {(p.get_hatch() or "", p.get_edgecolor()) for p in cells if p.get_width() != 1}
    assert len(looks) == 8
    assert len({hatch for hatch, _ in looks}) >= 7


def test_policies_share_one_time_axis(x1):
    first, second = timelines(x1, seats=2).axes
    assert first.get_xlim() == second.get_xlim()
    assert first.get_position().x0 == second.get_position().x0
    assert second.get_xlabel() == "时间（ms）"


def test_unequal_rounds_are_drawn_to_scale(q31_2):
    picture = timelines({"静态": q31_2["静态"]}, seats=2)
    edges = sorted(
        {
            (p.get_x(), round(p.get_width(), 9))
            for p in picture.findobj(Rectangle)
            if p.get_y() and not p.get_fill()
        }
    )
    assert {(0.0, 10.0), (10.0, 6.0), (16.0, 6.0), (22.0, 6.0), (28.0, 6.0)} <= set(edges)


@pytest.mark.parametrize(("seats", "requests"), [(1, 3), (2, 6), (3, 9), (8, 30), (8, 12)])
@pytest.mark.parametrize("seed", range(4))
def test_text_is_readable_inside_the_picture_and_never_overlaps(random_result, seats, requests, seed):
    picture = timeline(random_result(seats, requests, 60, seed), seats=seats)
    assert all(t.get_fontsize() >= 11 for t in picture.findobj(Text))
    found = boxes(picture)
    for name, box in found:
        assert box.x0 >= 0 and box.x1 <= picture.bbox.x1 and box.y0 >= 0 and box.y1 <= picture.bbox.y1, name
    for i, (name, box) in enumerate(found):
        for other, its in found[i + 1 :]:
            inside = min(box.x1, its.x1) - max(box.x0, its.x0), min(box.y1, its.y1) - max(box.y0, its.y0)
            assert min(inside) <= 5, f"{name!r} lies on {other!r}"  # letters do not fill their line


def test_the_alternative_text_counts_as_an_independent_reader_would(x1):
    for run in x1.values():
        words = alt_text(run, seats=2)
        ends = {r["id"]: round(1000 * r["end"]) for r in run["requests"]}
        assert f"{len(run['rounds'])} 轮" in words
        for id_, end in ends.items():
            assert f"{id_} {end} ms" in words
        average = Fraction(sum(ends.values()), 3)
        assert f"平均 {average} ≈ {float(average):.2f} ms" in words
        busy = sum(len(r["items"]) for r in run["rounds"])
        assert f"{busy}/{2 * len(run['rounds'])} 有人" in words


def test_the_alternative_text_tells_each_stretch(x1):
    assert "座位 2：B 0 到 10 ms、有人等的空座 10 到 40 ms、空座 40 到 50 ms。" in alt_text(
        x1["静态"], seats=2
    )


def test_the_alternative_text_of_a_long_run_stays_short(random_result):
    run = random_result(8, 30, 60, 1)
    text = alt_text(run, seats=8)
    assert len(text) < 500
    shown = [int(n) for n in re.findall(r"(\d+)/\d+ 轮有人", text)]
    assert sum(shown) == sum(len(r["items"]) for r in run["rounds"])


def test_the_picture_carries_its_text_into_html(x1):
    picture = timelines(x1, seats=2)
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"] == picture.alt
    assert f'alt="{picture.alt}"' in bundle["text/html"]
    assert picture.png().startswith(b"\x89PNG")


def test_the_background_is_opaque(x1):
    picture = timelines(x1, seats=2)
    assert picture.get_facecolor() == (1, 1, 1, 1)
    assert all(axes.get_facecolor() == (1, 1, 1, 1) for axes in picture.axes)


def test_a_run_in_which_nothing_ended_can_be_drawn(result):
    picture = timeline(result([(10, "A")], {"A": None}), seats=1)
    assert "没有请求完成" in picture.alt
    picture.png()


def test_a_run_without_rounds_can_be_drawn(result):
    timeline(result([], {"A": None}), seats=2).png()


def test_english(x1, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "en")
    picture = timelines({"static": x1["静态"]}, seats=2)
    assert "Seat 2: B 0 to 10 ms, empty while others wait 10 to 40 ms, empty 40 to 50 ms." in picture.alt
    assert not re.search(r"[\u3000-\u9fff\uff00-\uffef]", picture.alt + "".join(words(picture)))
    picture.png()
