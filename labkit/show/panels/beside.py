"""A widget and its still form, each an output of its own: whichever cannot be used is hidden by a style rule.

A front end that knows the widget's type but can't load it (reopened without a kernel, extension missing, converted)
shows an error or nothing, never the other types of the same output. The still form waits a moment, so that it does
not flash up before the widget is there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"
RULES = """
.{key} {{ animation: labkit-late 0s 2.5s both; }}
@keyframes labkit-late {{
  from {{ visibility: hidden; max-height: 0; }}
  to {{ visibility: visible; max-height: none; }}
}}
.jp-OutputArea-child:has(.{shown}) + .jp-OutputArea-child:has(.{key}) {{ display: none; }}
.jp-OutputArea-child:not(:has(.{shown})):has(+ .jp-OutputArea-child .{key}) {{ display: none; }}
"""
_serial = itertools.count(1)


def publish(bundle: dict[str, Any], shown: str) -> Callable[[dict[str, Any]], None]:
    """Show a mime bundle in a notebook; `shown` is the class that the widget's script puts on its element.

    What it gives back takes a newer bundle and renews the still form, so that a saved notebook holds the latest.
    """
    from IPython.display import publish_display_data

    key = f"labkit-still-{shown}-{os.getpid()}-{next(_serial)}"
    beside = WIDGET_TYPE in bundle
    if beside:
        publish_display_data({kind: bundle[kind] for kind in (WIDGET_TYPE, "text/plain")})

    def show(bundle: dict[str, Any], update: bool = True) -> None:
        still = {kind: data for kind, data in bundle.items() if kind != WIDGET_TYPE}
        if beside:
            rules = RULES.format(key=key, shown=shown)
            still["text/html"] = f'<style>{rules}</style><div class="{key}">{still["text/html"]}</div>'
        publish_display_data(still, transient={"display_id": key}, update=update)

    show(bundle, update=False)
    return show
