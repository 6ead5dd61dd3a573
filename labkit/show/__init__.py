"""What a person sees: figures, panels, tables, the browser stepper, and the fonts that they need.

Everything here is a fold over a result or a journal. The names below are what a notebook uses; each is loaded
on first use, so `import labkit.show` costs nothing and works where matplotlib or the widgets are missing.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "plot_style": "labkit.show.style",
    "timeline": "labkit.show.figures.timeline",
    "timelines": "labkit.show.figures.timeline",
    "curves": "labkit.show.figures.curves",
    "fluid": "labkit.show.figures.fluid",
    "shares": "labkit.show.figures.shares",
    "survival": "labkit.show.figures.survival",
    "tanks": "labkit.show.figures.tanks",
    "round_times": "labkit.show.panels.round_times",
    "batch_window": "labkit.show.panels.batch_window",
    "guesses": "labkit.show.predict",
    "replay_html": "labkit.show.replay",
    "ends_ms": "labkit.show.exact",
    "seat_rounds": "labkit.show.exact",
    "ends_table": "labkit.show.tables",
    "table": "labkit.show.tables",
    "hardware": "labkit.show.machine",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"labkit.show has no {name!r}; it has {', '.join(_HOMES)}")


def __dir__() -> list[str]:
    return sorted(_HOMES)
