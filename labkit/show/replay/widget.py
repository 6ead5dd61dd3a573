"""The stepper in a notebook: a widget that gets the whole run once, and a copy that stands alone beside it.

A notebook front end that can't load the widget (no extension, no kernel, reopened, converted) shows the copy in its
place, with one line that says so. Front ends don't do that by themselves: where they know the widget's type they
show an error instead. So the copy is an output of its own, and a style rule hides whichever of the two is not needed.
"""

from __future__ import annotations

import html
import itertools
import os
from collections.abc import Iterable
from functools import cache
from typing import Any

from labkit.show.replay.still import frame, heading, script, style
from labkit.show.replay.wire import Packed, encode, journals, pack
from labkit.show.text import language, t

_serial = itertools.count(1)
HIDING = """
.{key} {{ animation: labkit-late 0s 2.5s both; }}
@keyframes labkit-late {{
  from {{ visibility: hidden; max-height: 0; }}
  to {{ visibility: visible; max-height: none; }}
}}
.jp-OutputArea-child:has(.labkit-replay) + .jp-OutputArea-child:has(.{key}) {{ display: none; }}
.jp-OutputArea-child:not(:has(.labkit-replay)):has(+ .jp-OutputArea-child .{key}) {{ display: none; }}
"""


class Replay:
    """A run, or two on one clock, to be stepped: what `labkit.replay` gives. Shows itself in a notebook."""

    def __init__(self, packed: Packed) -> None:
        self.name = heading(packed)
        self.data = encode(packed)  # may cut a very long run
        self._packed = packed
        self._key = f"labkit-still-{os.getpid()}-{next(_serial)}"
        self._widget: Any = None

    @property
    def html(self) -> str:
        """The copy that stands alone, as `replay_html` gives it."""
        return frame(self._packed, self.data)

    @property
    def widget(self) -> Any:
        """The anywidget, made when it's first asked for. Raises ImportError where there is none."""
        if self._widget is None:
            self._widget = widget_class()(data=self.data, still=self._key)
        return self._widget

    def __repr__(self) -> str:
        steps = max(len(run["frames"]) for run in self._packed["runs"])
        return t("replay.text", self._packed["lang"], name=self.name, steps=steps)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """One bundle for both: a place that can't show widgets takes the HTML."""
        bundle = {"text/html": self._still(), "text/plain": repr(self)}
        try:
            shown = self.widget._repr_mimebundle_()
        except ImportError:
            return bundle
        return {**dict(shown[0] if isinstance(shown, tuple) else shown), **bundle}

    def _ipython_display_(self) -> None:
        from IPython.display import publish_display_data

        bundle = self._repr_mimebundle_()
        still = {"text/html": bundle.pop("text/html"), "text/plain": bundle["text/plain"]}
        if len(bundle) > 1:
            publish_display_data(bundle)
            still["text/html"] = f"<style>{HIDING.format(key=self._key)}</style>{still['text/html']}"
        publish_display_data(still)

    def _still(self) -> str:
        line = html.escape(self._packed["words"]["still"])
        return f'<div class="{self._key}"><p>{line}</p>{self.html}</div>'


@cache
def widget_class() -> Any:
    """The widget's class, made when the first is wanted: this is where anywidget is needed."""
    import anywidget
    import traitlets

    class ReplayWidget(anywidget.AnyWidget):
        """The browser half is `replay.js`; nothing comes back from it. `still`: class of the copy to hide."""

        _esm = script()
        _css = style()
        data = traitlets.Unicode().tag(sync=True)
        still = traitlets.Unicode().tag(sync=True)

    return ReplayWidget


def replay(
    run: Any, compare: Any = None, *, names: Iterable[str] | None = None, lang: str | None = None
) -> Replay:
    """Step through a run in the browser: by slider, keys or play, with no kernel once it is shown.

    `run` is what `labkit.run` gives, a journal (its first line first), a journal file, or a mapping of names to
    those. `compare` is a second run on the same clock (figure 31.1: static against continuous). `names` head the
    runs; the default is their scenarios' titles. `lang` is `zh` or `en`; the default follows `LABKIT_LANG`.

    Raises:
        TypeError: something has no journal.
        InputError: a journal file is wrong.
    """
    return Replay(pack(journals(run, compare, names), lang or language()))
