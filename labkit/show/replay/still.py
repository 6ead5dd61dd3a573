"""The stepper where widgets can't load: the same script and data in an `<iframe>` that stands alone.

It needs no kernel and no network, and its policy lets it ask for nothing; the frame may run its script and nothing
else (`sandbox="allow-scripts"`).
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from labkit.show.replay.wire import Packed, encode, journals, pack
from labkit.show.text import language, t

HERE = Path(__file__).parent
SCRIPTS = ("draw.js", "lanes.js", "panes.js", "replay.js")  # one module, in files of one concept each
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"


@cache
def script() -> str:
    """The browser half as one ECMAScript module; its default export is what anywidget wants."""
    return "\n".join((HERE / part).read_text(encoding="utf-8") for part in SCRIPTS)


@cache
def style() -> str:
    """Its style sheet."""
    return (HERE / "replay.css").read_text(encoding="utf-8")


def replay_html(
    run: Any, compare: Any = None, *, names: Iterable[str] | None = None, lang: str | None = None
) -> str:
    """A run (or two, side by side) as HTML that stands alone: for the static site, mails, files.

    Takes what `labkit.replay` takes. The kept page needs no kernel and no network.
    """
    packed = pack(journals(run, compare, names), lang or language())
    return frame(packed, encode(packed))


def frame(packed: Packed, data: str) -> str:
    """The `<iframe>` of a packed run."""
    text = html.escape(document(packed, data), quote=True)
    title = html.escape(heading(packed), quote=True)
    return (
        f'<iframe class="labkit-replay-frame" title="{title}" sandbox="allow-scripts" loading="lazy" srcdoc="{text}" '
        f'style="width:100%;height:{height(packed)}px;border:0;display:block"></iframe>'
    )


def document(packed: Packed, data: str) -> str:
    """The page inside the frame. `data` is base64, so nothing in it can end the script."""
    title = html.escape(heading(packed))
    return (
        f'<!doctype html><html lang="{"zh-CN" if packed["lang"] == "zh" else "en"}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
        f'<style>{style()}</style></head><body class="labkit-replay-page"><main></main>'
        f'<script type="module">{script()}\nstandAlone(document.querySelector("main"), "{data}");</script>'
        "</body></html>"
    )


def heading(packed: Packed) -> str:
    """What the stepper is called: its name and the names of its runs."""
    names = t("list.comma", packed["lang"]).join(run["name"] for run in packed["runs"] if run["name"])
    return packed["words"]["name"] + (t("list.colon", packed["lang"]) + names if names else "")


def height(packed: Packed) -> int:
    """Pixels that the stepper needs at about 1,100 pixels of width, its table closed."""
    runs = packed["runs"]
    tallest = max(run["lanes"] * run["height"] for run in runs)
    below = 200 if len(runs) == 1 else 330
    return 330 + tallest + below
