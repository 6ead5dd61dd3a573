"""Small tables for a page: HTML with caption and header cells, so that a screen reader can walk them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from labkit.show.exact import ends_ms, in_ms, mean, number, seat_rounds
from labkit.show.text import t

STYLE = "font-variant-numeric:tabular-nums;border-collapse:collapse"
CELL = "padding:4px 12px;text-align:left;vertical-align:baseline"


class Table:
    """A table that shows itself: a caption, `rows` of strings, the first cell of each row its header."""

    def __init__(self, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.caption = caption
        self.head = tuple(head)
        self.rows = [tuple(row) for row in rows]

    def _repr_html_(self) -> str:
        cells = [_row("th", "col", self.head)] if self.head else []
        for first, *rest in self.rows:
            cells.append(f"<tr>{_cell('th', first, 'row')}{''.join(_cell('td', r) for r in rest)}</tr>")
        caption = f'<caption style="text-align:left;padding:4px 12px">{html.escape(self.caption)}</caption>'
        return f'<table style="{STYLE}">{caption}{"".join(cells)}</table>'

    def __repr__(self) -> str:
        return "\n".join([self.caption, *("  ".join(row) for row in (self.head, *self.rows) if row)])


def _cell(tag: str, text: str, scope: str = "") -> str:
    attribute = f' scope="{scope}"' if scope else ""
    return f'<{tag}{attribute} style="{CELL}">{html.escape(text)}</{tag}>'


def _row(tag: str, scope: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(_cell(tag, text, scope) for text in texts)}</tr>"


def table(caption: str, of: str, rows: Mapping[Any, Mapping[str, Any]]) -> Table:
    """A table of one's own: a row for each name, a column for each key of the rows, `of` heads the names.

    Fractions are written as `number` writes them, a missing value as a dash, all else as `str` does.
    """
    columns = list(dict.fromkeys(key for row in rows.values() for key in row))
    cells = [[str(name), *(_said(row.get(column)) for column in columns)] for name, row in rows.items()]
    return Table(caption, [of, *columns], cells)


def _said(value: Any) -> str:
    if value is None:
        return "–"
    return number(value) if isinstance(value, Fraction) else str(value)


def ends_table(runs: Mapping[str, Any]) -> Table:
    """One line a run: when each request completes, the exact mean, the last completion, seat-rounds busy.

    `runs`: name to run. Times in ms; a dash for a request that did not finish (it has no completion time).
    """
    ends = {name: ends_ms(run) for name, run in runs.items()}
    ids = list(dict.fromkeys(id_ for each in ends.values() for id_ in each))
    rows = []
    for name, run in runs.items():
        own = ends[name]
        busy, offered = seat_rounds(run)
        times = [number(own[id_]) if id_ in own else "–" for id_ in ids]
        last = in_ms(max(own.values(), default=None))
        rows.append([name, *times, in_ms(mean(own.values())), last, f"{busy}/{offered}"])
    head = [t("table.policy"), *ids, t("table.mean"), t("table.makespan"), t("table.busy")]
    return Table(t("table.ends"), head, rows)
