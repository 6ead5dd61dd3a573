"""Reading what a student handed in: an nbformat 4 notebook or a percent-format .py, as code cells and nothing more."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.show.text import t

MAX_BYTES = 8 << 20
MAX_CELLS = 400
MARKER = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?: (?P<id>[A-Za-z0-9_-]+))?\s*$")


class UnreadableError(ValueError):
    """A file that is no notebook; the text says why in one English line, `said()` in the reader's language."""

    def __init__(self, key: str, **values: object) -> None:
        self.key, self.values = f"grade.file.{key}", values
        super().__init__(t(self.key, "en", **values))

    def said(self) -> str:
        """The reason for a report."""
        return t(self.key, **self.values)


@dataclass(frozen=True)
class Cell:
    """One cell: its id (or its place, counted from 1), its kind (`code` or `markdown`), its text."""

    id: str
    kind: str
    source: str


def read(path: Path) -> list[Cell]:
    """The cells of a file; raises UnreadableError. Links and devices are not followed or opened."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableError("encoding") from None
    return from_percent(text) if path.suffix == ".py" else from_json(text)


def read_bytes(path: Path) -> bytes:
    """The bytes of a plain file of at most 8 MiB; raises UnreadableError. Links and devices are not opened."""
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        fd = os.open(path, flags)
    except OSError as error:
        if path.is_symlink():
            raise UnreadableError("link") from None
        raise UnreadableError("open", reason=error.strerror) from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
        os.close(fd)
        large = stat.S_ISREG(status.st_mode)
        raise UnreadableError("large" if large else "plain", most=MAX_BYTES >> 20)
    with os.fdopen(fd, "rb") as file:
        return file.read(MAX_BYTES)


def from_json(text: str) -> list[Cell]:
    """The cells of a notebook's JSON; raises UnreadableError with the first thing that is wrong with it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableError("json" if text.strip() else "empty") from None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise UnreadableError("no_cells")
    if len(cells) > MAX_CELLS:
        raise UnreadableError("cells", most=MAX_CELLS)
    return [_cell(cell, number) for number, cell in enumerate(cells, 1)]


def _cell(cell: Any, number: int) -> Cell:
    source = cell.get("source", "") if isinstance(cell, dict) else None
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise UnreadableError("cell", number=number)
    name = cell.get("id")
    kind = "code" if cell.get("cell_type") == "code" else "markdown"
    return Cell(name if isinstance(name, str) and name else str(number), kind, source)


def from_percent(text: str) -> list[Cell]:
    """The cells of a percent-format file: `# %% id` begins code, `# %% [markdown] id` comments that are text.

    What stands before the first marker is a cell too, so a plain .py is a notebook of one cell.
    """
    cells: list[tuple[str, str, list[str]]] = [("", "code", [])]
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.startswith("# %%"):
            match = MARKER.match(line)
            kind = "markdown" if line.startswith("# %% [markdown]") else "code"
            cells.append(((match and match["id"]) or "", kind, []))
        else:
            cells[-1][2].append(line)
    if len(cells) > MAX_CELLS:
        raise UnreadableError("cells", most=MAX_CELLS)
    found = []
    for number, (name, kind, lines) in enumerate(cells):
        source = "\n".join(map(_uncommented, lines) if kind == "markdown" else lines).strip("\n")
        if source or number:
            found.append(Cell(name or str(number), kind, source))
    return found


def _uncommented(line: str) -> str:
    return line.removeprefix("# ") if line.startswith("# ") else line.removeprefix("#")


def to_percent(cells: list[Cell]) -> str:
    """The percent-format text of cells; `from_percent` reads the same cells from it."""
    blocks = []
    for cell in cells:
        if cell.kind == "markdown":
            body = "\n".join(f"# {line}".rstrip() for line in cell.source.split("\n"))
            blocks.append(f"# %% [markdown] {cell.id}\n{body}\n")
        else:
            blocks.append(f"# %% {cell.id}\n{cell.source}\n")
    return "\n".join(blocks)
