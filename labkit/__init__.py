"""A workbook and a small engine for batch scheduling of LLM requests.

`import labkit` costs nothing: the names below are fetched from their rooms when they are first used, so that
the command starts at once and runs where matplotlib or torch are missing.
"""

__version__ = "0.1.0"

_ROOMS = {
    "run": "labkit.scenario",
    "load": "labkit.scenario",
    "plot_style": "labkit.show",
    "predict": "labkit.show.predict",
    "replay": "labkit.show.replay",
}


def __getattr__(name: str) -> object:
    """Fetch a public name from its room at first use (PEP 562)."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'labkit' has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(_ROOMS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    """List the fetched-later names too, so that completion finds them."""
    return sorted({*globals(), *_ROOMS})
