"""What a report's tables have in common: the runs, a table with its note, a row for each run, the table as text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.measure.compare import Entrant
from labkit.measure.fold import Measures
from labkit.show.tables import Table
from labkit.show.text import t

NS = 10**9


@dataclass(frozen=True)
class Run:
    """One journal, read: the name to show it by, its first line, its measures, what it brings to a comparison.

    `result` is the result object where it is small enough to draw request by request.
    """

    name: str
    header: Mapping[str, Any]
    measures: Measures
    entrant: Entrant
    result: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Section:
    """A table with a note under it; `key` names it in links."""

    key: str
    table: Table
    note: str = ""


def side_by_side(
    runs: Sequence[Run], rows: Sequence[Sequence[str]], owners: Sequence[Run]
) -> list[Sequence[str]]:
    """The rows, with the name of their run in the second column where there are several."""
    if len(runs) == 1:
        return list(rows)
    return [[row[0], owner.name, *row[1:]] for row, owner in zip(rows, owners, strict=True)]


def heads(runs: Sequence[Run], first: str, *others: str) -> list[str]:
    """Heads of columns, with one for the run where there are several."""
    return [first, *([t("report.run")] if len(runs) > 1 else []), *others]


def each(
    runs: Sequence[Run], names: Sequence[str], cells: Callable[[Run, str], Sequence[str] | None]
) -> list[Sequence[str]]:
    """A row for each name and run; None leaves the row out."""
    rows, owners = [], []
    for name in names:
        for run in runs:
            found = cells(run, name)
            if found is not None:
                rows.append(found)
                owners.append(run)
    return side_by_side(runs, rows, owners)


def plain(section: Section) -> str:
    """The table as text: columns padded as wide as a terminal shows them, the note below."""
    rows = [list(section.table.head), *map(list, section.table.rows)]
    count = max(map(len, rows))
    widths = [max(_width(row[i]) for row in rows if i < len(row)) for i in range(count)]
    lines = [
        "  ".join(c + " " * (w - _width(c)) for c, w in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
    parts = [section.table.caption, *lines, *([section.note] if section.note else [])]
    return "\n".join(parts) + "\n"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
