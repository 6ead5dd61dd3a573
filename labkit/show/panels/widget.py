"""A panel on the page: native range sliders, an image with alternative text, a live sentence, errors.

The browser half is `panel.js`. It asks for one set of values at a time and, while the kernel works, keeps
only the newest wish, so a drag never leaves a queue behind.
"""

from __future__ import annotations

import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from labkit.show.panels.panel import Panel
from labkit.show.picture import CSS_PX_PER_INCH
from labkit.show.text import t

HERE = Path(__file__).parent


class PanelWidget(anywidget.AnyWidget):
    """The widget of one panel. `asked` comes from the browser, all else goes to it; `done` is its serial."""

    _esm = (HERE / "panel.js").read_text(encoding="utf-8")
    _css = (HERE / "panel.css").read_text(encoding="utf-8")
    name = traitlets.Unicode().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
    sliders = traitlets.List().tag(sync=True)
    width = traitlets.Int().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    done = traitlets.Int(0).tag(sync=True)
    png = traitlets.Bytes(b"").tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    says = traitlets.Unicode().tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)
    details = traitlets.Unicode().tag(sync=True)

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._view: Any = None
        words = {key: t(f"panel.{key}") for key in ("keys", "silent")}
        super().__init__(name=panel.name, words=words, sliders=[asdict(s) for s in panel.sliders])
        self._show(panel.defaults(), serial=0)
        self.observe(self._answer, "asked")

    def view(self) -> dict[str, Any]:
        """The mime bundle that shows this widget."""
        shown: Any = self._repr_mimebundle_()
        return dict(shown[0] if isinstance(shown, tuple) else shown)

    def _answer(self, change: Any) -> None:
        asked = change["new"]
        self._show({s.name: int(asked["values"][s.name]) for s in self._panel.sliders}, int(asked["serial"]))

    def _show(self, values: dict[str, int], serial: int) -> None:
        """Compute and send everything in one message; an error is shown and the sliders live on."""
        try:
            self._view = self._view or self._panel.open()
            shown = self._view(**values)
            width = round(shown.picture.get_figwidth() * CSS_PX_PER_INCH)
            news = {"png": shown.picture.png(), "alt": shown.picture.alt, "says": shown.says, "width": width}
            news |= {"error": "", "details": ""}
        except Exception as problem:  # noqa: BLE001  (whatever it is, it belongs on the page)
            summary = f"{type(problem).__name__}: {problem}"
            news = {"error": t("panel.error", error=summary), "details": traceback.format_exc()}
        with self.hold_sync():
            for key, value in news.items():
                setattr(self, key, value)
            self.done = serial
