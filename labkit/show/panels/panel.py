"""What a panel is: named controls, and a view that turns their values into a picture and its words.

The view lays its figure out once and then only moves its artists; what it shows depends on the values
alone, not on the way there. Without widgets or a kernel a panel is its grid of stills: pictures at chosen
values, each with its alternative text, its sentence and its data table.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from labkit.show.panels.beside import publish
from labkit.show.picture import Picture
from labkit.show.tables import Table
from labkit.show.text import t

Value = int | str


@dataclass(frozen=True)
class Slider:
    """One whole number from `low` to `high` in steps of `step`: its accessible name `label`, its unit."""

    name: str
    label: str
    low: int
    high: int
    value: int
    step: int = 1
    unit: str = ""

    def __post_init__(self) -> None:
        if self.value not in range(self.low, self.high + 1, self.step):
            raise ValueError(f"slider {self.name!r}: {self.value} is not on it")

    def spec(self) -> dict[str, Any]:
        """What the browser needs to know of it."""
        return {"kind": "slider", **asdict(self)}

    def read(self, given: Any) -> int:
        """A value from the browser. Raises ValueError where the slider does not have it."""
        if isinstance(given, bool) or not isinstance(given, int | float) or given != given // 1:
            raise ValueError(f"{self.name}: given {given!r}, expected a whole number")
        if not self.low <= given <= self.high:
            raise ValueError(f"{self.name}: given {given!r}, expected {self.low} to {self.high}")
        return int(given)


@dataclass(frozen=True)
class Stops:
    """A slider that stops at listed whole numbers only, evenly spaced on the track: 1, 2, 5, 10, …"""

    name: str
    label: str
    stops: tuple[int, ...]
    value: int
    unit: str = ""

    def __post_init__(self) -> None:
        if self.value not in self.stops:
            raise ValueError(f"slider {self.name!r}: {self.value} is not one of its stops")

    def spec(self) -> dict[str, Any]:
        """What the browser needs to know of it."""
        return {"kind": "stops", **asdict(self), "stops": list(self.stops)}

    def read(self, given: Any) -> int:
        """A value from the browser. Raises ValueError where the slider does not have it."""
        if isinstance(given, bool) or given not in self.stops:
            raise ValueError(f"{self.name}: given {given!r}, expected one of {self.stops}")
        return int(given)


@dataclass(frozen=True)
class Choice:
    """One of a few named things: `options` are what a person reads and what the view gets."""

    name: str
    label: str
    options: tuple[str, ...]
    value: str

    def __post_init__(self) -> None:
        if self.value not in self.options:
            raise ValueError(f"choice {self.name!r}: {self.value!r} is not one of its options")

    def spec(self) -> dict[str, Any]:
        """What the browser needs to know of it."""
        return {"kind": "choice", **asdict(self), "options": list(self.options)}

    def read(self, given: Any) -> str:
        """A value from the browser. Raises ValueError where it is no option."""
        if given not in self.options:
            raise ValueError(f"{self.name}: given {given!r}, expected one of {self.options}")
        return str(given)


Control = Slider | Stops | Choice


@dataclass(frozen=True)
class Shown:
    """What a panel shows for some values: a picture with its alternative text, one sentence, the numbers."""

    picture: Picture
    says: str
    tables: tuple[Table, ...] = ()


View = Callable[..., Shown]


@dataclass(frozen=True)
class Panel:
    """A panel: its accessible `name`, its controls, and `open`, which lays out a figure and gives its view.

    `grid` lists further values at which the still form shows the panel, each over the defaults.
    """

    name: str
    controls: tuple[Control, ...]
    open: Callable[[], View]
    grid: tuple[Mapping[str, Value], ...] = ()

    def defaults(self) -> dict[str, Value]:
        """The values that the controls start with."""
        return {c.name: c.value for c in self.controls}

    def still(self, **values: Value) -> Shown:
        """What the panel shows for `values` (the rest at their defaults), drawn afresh."""
        return self.open()(**{**self.defaults(), **values})

    def _repr_mimebundle_(self, **_: Any) -> Mapping[str, Any]:
        still = stills(self)
        try:
            from labkit.show.panels.widget import PanelWidget
        except ImportError:  # no widgets here: the pictures alone
            return still
        return {**PanelWidget(self).view(), **still}

    def _ipython_display_(self) -> None:
        publish(dict(self._repr_mimebundle_()), "labkit-panel")


def stills(panel: Panel) -> dict[str, str]:
    """The still form: HTML and plain text. Each picture is made before the view moves on to the next."""
    view = panel.open()
    figures, words = [], []
    for values in ({}, *panel.grid):
        shown = view(**{**panel.defaults(), **values})
        figures.append(still_html(shown))
        words.append(shown.picture.alt)
    note = f"<p><small>{html.escape(t('panel.still'))}</small></p>"
    inside = "".join([*figures, note])
    return {
        "text/html": f'<div role="group" aria-label="{html.escape(panel.name)}">{inside}</div>',
        "text/plain": "\n".join(words),
    }


def still_html(shown: Shown) -> str:
    """One picture, its sentence, and its numbers in a fold."""
    caption = f"<figcaption>{html.escape(shown.says)}{fold_html(shown.tables)}</figcaption>"
    return f'<figure style="margin:0 0 12px">{shown.picture.html()}{caption}</figure>'


def tables_html(tables: tuple[Table, ...]) -> str:
    """The numbers as HTML tables, one after the other."""
    return "".join(table._repr_html_() for table in tables)


def fold_html(tables: tuple[Table, ...]) -> str:
    """The same in a fold that 显示数据表 opens; nothing where there is no table."""
    if not tables:
        return ""
    return f"<details><summary>{html.escape(t('panel.table'))}</summary>{tables_html(tables)}</details>"
