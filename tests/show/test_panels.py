import re
import sys

import pytest

from labkit.show.panels.panel import Choice, Panel, Shown, Slider, Stops
from labkit.show.picture import Picture
from labkit.show.tables import Table

pytest.importorskip("anywidget")


@pytest.fixture
def panel():
    """A panel that counts how often it was laid out, and fails at 13."""
    opened = []

    def open_view():
        picture = Picture(2, 1)
        opened.append(picture)

        def view(count, kind):
            if count == 13:
                raise ValueError("thirteen is too many")
            picture.alt = f"{count} {kind} dots"
            return Shown(picture, f"now {count}", (Table("dots", ["count"], [[str(count)]]),))

        return view

    controls = (
        Slider("count", "how many", 1, 20, 5, unit="dots"),
        Choice("kind", "which", ("red", "blue"), "red"),
    )
    return Panel("dots", controls, open_view, grid=({"count": 7}, {"kind": "blue"})), opened


def ask(widget, serial, **values):
    widget.asked = {"serial": serial, "values": {"count": 5, "kind": "red", **values}}


def widget_of(panel):
    from labkit.show.panels.widget import PanelWidget

    return PanelWidget(panel[0])


def test_the_widget_starts_with_the_defaults(panel):
    widget = widget_of(panel)
    assert (widget.alt, widget.says, widget.error) == ("5 red dots", "now 5", "")
    assert widget.png.startswith(b"\x89PNG")
    assert widget.name == "dots"
    assert [(c["kind"], c["label"]) for c in widget.controls] == [("slider", "how many"), ("choice", "which")]


def test_a_move_recomputes_the_words_and_the_table_in_the_same_figure(panel):
    widget = widget_of(panel)
    ask(widget, 1, count=9, kind="blue")
    assert (widget.alt, widget.says, widget.done) == ("9 blue dots", "now 9", 1)
    assert ">9</th>" in widget.table
    assert len(panel[1]) == 1
    assert widget.kernel_ms > 0


def test_an_error_is_shown_in_the_panel_and_passes(panel):
    widget = widget_of(panel)
    ask(widget, 1, count=13)
    assert "ValueError: thirteen is too many" in widget.error
    assert "Traceback" in widget.details
    assert (widget.alt, widget.done) == ("5 red dots", 1)
    ask(widget, 2, count=14)
    assert (widget.alt, widget.error, widget.details) == ("14 red dots", "", "")


@pytest.mark.parametrize(
    "values", [{"count": 21}, {"count": "5"}, {"count": None}, {"kind": "green"}, {"count": 1.5}]
)
def test_what_no_control_can_say_is_an_error_and_no_step(panel, values):
    widget = widget_of(panel)
    ask(widget, 1, **values)
    assert "ValueError" in widget.error
    assert widget.alt == "5 red dots"
    ask(widget, 2)
    assert widget.error == ""


def test_a_panel_that_cannot_be_laid_out_says_so(panel):
    def broken():
        raise RuntimeError("no data")

    widget = widget_of((Panel("broken", (), broken), None))
    assert "RuntimeError: no data" in widget.error
    assert widget.png == b""


def test_the_bundle_holds_the_widget_and_its_grid_of_stills(panel):
    bundle = panel[0]._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    shown = bundle["text/html"]
    for alt in ("5 red dots", "7 red dots", "5 blue dots"):
        assert f'alt="{alt}"' in shown
    assert shown.count("<summary>显示数据表</summary>") == 3
    assert '<th scope="row"' in shown
    assert bundle["text/plain"].splitlines() == ["5 red dots", "7 red dots", "5 blue dots"]


def test_in_a_notebook_the_still_form_is_an_output_of_its_own(panel, monkeypatch):
    """Where the widget's type is known but it cannot be loaded, no other type of the same output is shown."""
    display = pytest.importorskip("IPython.display")
    outputs = []
    monkeypatch.setattr(display, "publish_display_data", lambda data, **_: outputs.append(data))
    panel[0]._ipython_display_()
    widget, still = outputs
    assert "text/html" not in widget
    assert "application/vnd.jupyter.widget-view+json" not in still
    (key,) = re.findall(r'<div class="(labkit-still-labkit-panel-[0-9-]+)">', still["text/html"])
    assert f".jp-OutputArea-child:has(.labkit-panel) + .jp-OutputArea-child:has(.{key})" in still["text/html"]


def test_without_widgets_the_still_form_remains(panel, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "labkit.show.panels.widget", raising=False)
    assert set(panel[0]._repr_mimebundle_()) == {"text/html", "text/plain"}


def test_still_takes_values(panel):
    assert panel[0].still(count=7).says == "now 7"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Slider("a", "a", 0, 10, 11),
        lambda: Slider("a", "a", 0, 10, 3, step=2),
        lambda: Stops("a", "a", (1, 2, 4), 3),
        lambda: Choice("a", "a", ("x", "y"), "z"),
    ],
)
def test_a_control_cannot_start_where_it_cannot_be(make):
    with pytest.raises(ValueError, match="not"):
        make()


def test_stops_reads_its_own_numbers_only():
    stops = Stops("a", "a", (1, 2, 4), 2)
    assert stops.read(4) == 4
    for given in (3, True, "4", None):
        with pytest.raises(ValueError, match="expected one of"):
            stops.read(given)
