"""The panel of Q31.2: two sliders, t₁ and t₂, and which policy is earlier by which measure (C08)."""

from __future__ import annotations

from functools import lru_cache

from labkit.show.figures.round_times import Drawing, Runs, compare, says, tables
from labkit.show.panels.panel import Panel, Shown, Slider, View
from labkit.show.text import t

LONGEST_ONE, LONGEST_TWO = 15, 40  # ms: 2.5 times the first still fits on the axis of the second
AT = (1, *range(10, LONGEST_TWO + 1, 10))  # the values of t₂ at which both policies are run for the curves


def round_times(runs: Runs) -> Panel:
    """A panel over `runs(t₁, t₂)`, which runs two policies at these round times in ms, by name."""
    cached = lru_cache(maxsize=4096)(runs)

    def open_view() -> View:
        drawing: Drawing | None = None

        def view(one: int, two: int) -> Shown:
            nonlocal drawing
            comparison = compare(cached, one, two, AT)
            if drawing is None:
                drawing = Drawing(comparison, deepest=-LONGEST_TWO)
            else:
                drawing.show(comparison)
            return Shown(drawing.picture, says(comparison), tables(comparison))

        return view

    one = Slider("one", t("round_times.one"), 1, LONGEST_ONE, 6, unit="ms")
    two = Slider("two", t("round_times.two"), 1, LONGEST_TWO, 10, unit="ms")
    return Panel(t("round_times.name"), (one, two), open_view, grid=({"two": 18},))
