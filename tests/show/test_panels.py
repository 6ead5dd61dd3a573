import sys

import pytest

from labkit.show.panels.panel import Panel, Shown, Slider
from labkit.show.picture import Picture

pytest.importorskip("anywidget")


@pytest.fixture
def panel():
    """A panel that counts how often it was laid out, and fails at 13."""
    opened = []

    def open_view():
        picture = Picture(2, 1)
        opened.append(picture)

        def view(count):
            if count == 13:
                raise ValueError("thirteen is too many")
            picture.alt = f"{count} dots"
            return Shown(picture, f"now {count}")

        return view

    made = Panel("dots", (Slider("count", "how many", 1, 20, 5, unit="dots"),), open_view)
    return made, opened


def ask(widget, serial, **values):
    widget.asked = {"serial": serial, "values": values}


def test_the_widget_starts_with_the_defaults(panel):
    from labkit.show.panels.widget import PanelWidget

    widget = PanelWidget(panel[0])
    assert (widget.alt, widget.says, widget.error) == ("5 dots", "now 5", "")
    assert widget.png.startswith(b"\x89PNG")
    assert widget.name == "dots"
    assert widget.sliders[0]["label"] == "how many"


def test_a_move_recomputes_the_text_in_the_same_figure(panel):
    from labkit.show.panels.widget import PanelWidget

    widget = PanelWidget(panel[0])
    ask(widget, 1, count=9)
    assert (widget.alt, widget.says, widget.done) == ("9 dots", "now 9", 1)
    assert len(panel[1]) == 1


def test_an_error_is_shown_in_the_panel_and_passes(panel):
    from labkit.show.panels.widget import PanelWidget

    widget = PanelWidget(panel[0])
    ask(widget, 1, count=13)
    assert "ValueError: thirteen is too many" in widget.error
    assert "Traceback" in widget.details
    assert (widget.alt, widget.done) == ("5 dots", 1)
    ask(widget, 2, count=14)
    assert (widget.alt, widget.error, widget.details) == ("14 dots", "", "")


def test_the_bundle_holds_the_widget_and_its_still_form(panel):
    bundle = panel[0]._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert 'alt="5 dots"' in bundle["text/html"]
    assert "now 5" in bundle["text/html"]
    assert bundle["text/plain"] == "5 dots"


def test_without_widgets_the_still_form_remains(panel, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "labkit.show.panels.widget", raising=False)
    assert set(panel[0]._repr_mimebundle_()) == {"text/html", "text/plain"}


def test_still_takes_values(panel):
    assert panel[0].still(count=7).says == "now 7"
