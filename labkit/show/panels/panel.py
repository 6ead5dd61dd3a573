"""What a panel is: named sliders, and a view that turns their values into a picture and a sentence.

The view lays its figure out once and then only moves its artists; what it shows depends on the values
alone, not on the way there. Without widgets or a kernel a panel is still a picture with its alternative
text.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.show.picture import Picture
from labkit.show.text import t


@dataclass(frozen=True)
class Slider:
    """One parameter: a whole number from `low` to `high`, its accessible name `label`, and its unit."""

    name: str
    label: str
    low: int
    high: int
    value: int
    step: int = 1
    unit: str = ""


@dataclass(frozen=True)
class Shown:
    """What a panel shows for some values: a picture with its alternative text, and one sentence about it."""

    picture: Picture
    says: str


View = Callable[..., Shown]


@dataclass(frozen=True)
class Panel:
    """A panel: its accessible `name`, its sliders, and `open`, which lays out a figure and gives its view."""

    name: str
    sliders: tuple[Slider, ...]
    open: Callable[[], View]

    def defaults(self) -> dict[str, int]:
        """The values that the sliders start with."""
        return {s.name: s.value for s in self.sliders}

    def still(self, **values: int) -> Shown:
        """What the panel shows for `values` (the rest at their defaults), drawn afresh."""
        return self.open()(**{**self.defaults(), **values})

    def _repr_mimebundle_(self, **_: Any) -> Mapping[str, Any]:
        shown = self.still()
        still = {"text/html": still_html(shown), "text/plain": shown.picture.alt}
        try:
            from labkit.show.panels.widget import PanelWidget
        except ImportError:  # no widgets here: the picture alone
            return still
        return {**PanelWidget(self).view(), **still}


def still_html(shown: Shown) -> str:
    """The still form of a panel: its picture, its sentence, and why it does not move."""
    words = f"{html.escape(shown.says)}<br><small>{html.escape(t('panel.still'))}</small>"
    return f'<figure style="margin:0">{shown.picture.html()}<figcaption>{words}</figcaption></figure>'
