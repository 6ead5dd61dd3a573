"""A panel on the page: native controls, an image with alternative text, a live sentence, a table, errors.

The browser half is `panel.js`. It asks for one set of values at a time and, while the kernel works, keeps
only the newest wish, so a drag never leaves a queue behind.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from time import perf_counter
from typing import Any

import anywidget
import traitlets

from labkit.show.panels.panel import Panel, Shown, Value, tables_html
from labkit.show.picture import CSS_PX_PER_INCH
from labkit.show.text import t

HERE = Path(__file__).parent
WORDS = ("keys", "silent", "table")


class PanelWidget(anywidget.AnyWidget):
    """The widget of one panel. `asked` comes from the browser, all else goes to it; `done` is its serial.

    `kernel_ms` is how long the latest answer took to compute here, for benches.
    """

    _esm = (HERE / "panel.js").read_text(encoding="utf-8")
    _css = (HERE / "panel.css").read_text(encoding="utf-8")
    name = traitlets.Unicode().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    width = traitlets.Int().tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    done = traitlets.Int(0).tag(sync=True)
    png = traitlets.Bytes(b"").tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    says = traitlets.Unicode().tag(sync=True)
    table = traitlets.Unicode().tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)
    details = traitlets.Unicode().tag(sync=True)

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._view: Any = None
        self.kernel_ms = 0.0
        words = {key: t(f"panel.{key}") for key in WORDS}
        super().__init__(name=panel.name, words=words, controls=[c.spec() for c in panel.controls])
        self._show(panel.defaults(), serial=0)
        self.observe(self._answer, "asked")

    def view(self) -> dict[str, Any]:
        """The mime bundle that shows this widget."""
        shown: Any = self._repr_mimebundle_()
        return dict(shown[0] if isinstance(shown, tuple) else shown)

    def _answer(self, change: Any) -> None:
        asked = change["new"]
        self._show(asked.get("values"), asked.get("serial"))

    def _show(self, asked: Any, serial: Any) -> None:
        """Compute and send everything in one message; an error is shown and the controls live on."""
        began = perf_counter()
        try:
            values = {c.name: c.read(asked[c.name]) for c in self._panel.controls}
            news = self._news(values)
        except Exception as problem:  # noqa: BLE001  (whatever it is, it belongs on the page)
            summary = f"{type(problem).__name__}: {problem}"
            news = {"error": t("panel.error", error=summary), "details": traceback.format_exc()}
        with self.hold_sync():
            for key, value in news.items():
                setattr(self, key, value)
            self.done = int(serial)
        self.kernel_ms = 1000 * (perf_counter() - began)

    def _news(self, values: dict[str, Value]) -> dict[str, Any]:
        self._view = self._view or self._panel.open()
        shown: Shown = self._view(**values)
        return {
            "png": shown.picture.png(),
            "alt": shown.picture.alt,
            "says": shown.says,
            "table": tables_html(shown.tables),
            "width": round(shown.picture.get_figwidth() * CSS_PX_PER_INCH),
            "error": "",
            "details": "",
        }
