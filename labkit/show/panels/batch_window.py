"""The panel of C10: the waiting window and the greatest batch size, at three loads."""

from __future__ import annotations

from functools import lru_cache

from labkit.show.figures.batch_window import Drawing, Outcome, Runs, outcome, says, sweep, tables
from labkit.show.panels.panel import Panel, Shown, Stops, View
from labkit.show.text import t

RATES = (2, 20, 80)  # requests a second: low, middle and high load
WINDOWS = (0, 25, 50, 100, 200, 400)  # ms
SIZES = (2, 4, 8, 16)
HIGHEST = 500  # ms


def batch_window(runs: Runs) -> Panel:
    """A panel over `runs(rate, window_ms, size)`, which runs one scenario with this load and these limits.

    Every combination is run once, when the panel is laid out; a step then only draws.
    """

    @lru_cache(maxsize=4096)
    def found(rate: int, window: int, size: int) -> Outcome:
        return outcome(runs(rate, window, size))

    def open_view() -> View:
        drawing: Drawing | None = None
        for size in SIZES:
            sweep(found, RATES, WINDOWS, WINDOWS[0], size)

        def view(window: int, size: int) -> Shown:
            nonlocal drawing
            windows = sweep(found, RATES, WINDOWS, window, size)
            if drawing is None:
                drawing = Drawing(windows, HIGHEST, max(SIZES))
            else:
                drawing.show(windows)
            return Shown(drawing.picture, says(windows), tables(windows))

        return view

    window = Stops("window", t("window.window"), WINDOWS, 100, unit="ms")
    size = Stops("size", t("window.size"), SIZES, 8)
    return Panel(t("window.name"), (window, size), open_view, grid=({"window": 400}, {"size": 16}))
