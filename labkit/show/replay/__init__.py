"""The stepper: a journal folded into frames, told in sentences, drawn and stepped in the browser.

`frames.py` folds, `sentences.py` tells, `wire.py` packs, the scripts draw; `widget.py` brings it into a notebook,
`still.py` to places without widgets.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Fetch `replay` and `replay_html` when they are first used: `replay --text` needs neither."""
    if name == "replay":
        from labkit.show.replay.widget import replay

        return replay
    if name == "replay_html":
        from labkit.show.replay.still import replay_html

        return replay_html
    raise AttributeError(f"labkit.show.replay has no {name!r}; it has replay, replay_html")
