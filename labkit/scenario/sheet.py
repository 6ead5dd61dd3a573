"""The file of a sweep: one row a run, always a beginning of the whole, so that a later start goes on where it ends.

CSV, or JSON Lines where the name ends in `.jsonl`. The first column is the hash of what was swept; a row is
written when its run and all before it are done. A last line cut short by a killed run is run again. While it is open
it is locked: two sweeps that write one file would leave rows of both.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from labkit.core.errors import InputError, escaped, quoted

Cell = Any  # None, bool, int, float, Decimal or str


class Sheet:
    """The rows of `path` and the place to write more. `columns`: the names, of which the first `known` are planned.

    The planned cells of a row say which run it is, the others what came of it. `path` None: nothing is kept.

    Raises:
        InputError: the file cannot be read or written, or is another sweep's.
    """

    def __init__(self, path: str | None, columns: Sequence[str], known: int) -> None:
        self.path = path
        self.columns = list(columns)
        self.known = known
        self.label = "" if path is None else escaped(path)
        self.rows: list[list[str]] = []  # those found, as text
        self._out: IO[str] | None = None
        self._lines = path is not None and path.lower().endswith(".jsonl")

    def open(self) -> None:
        """Read what is there and stand at its end."""
        if self.path is None:
            return
        place = Path(self.path)
        try:
            if place.exists() and not place.is_file():
                raise OSError(0, "a folder" if place.is_dir() else "a special file")
            self._out = open(self.path, "a+", encoding="utf-8", newline="\n")  # noqa: SIM115
            if not _locked(self._out):
                raise InputError(
                    f"{self.label}: given a file that another sweep is writing, expected another name for --out"
                )
            old = place.read_bytes()
            self._ours(old)
            kept = old[: old.rfind(b"\n") + 1]
            self.rows = self._read(kept)
            self._out.truncate(len(kept))
            if not kept and not self._lines:
                self._write(_csv(self.columns))
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"labkit sweep: --out: given {quoted(self.path)} ({escaped(reason)}), expected a file to write"
            ) from None

    def close(self) -> None:
        """Let go of the file."""
        if self._out is not None:
            self._out.close()

    def _ours(self, old: bytes) -> None:
        """Refuse a file that no sweep has begun: it is not ours to cut."""
        begins = f'{{"{self.columns[0]}":' if self._lines else _csv(self.columns)
        wanted = begins.encode()
        if old[: len(wanted)] != wanted[: len(old)]:
            raise InputError(
                f"{self.label}: given a file with other columns, expected this sweep's "
                f"({escaped(', '.join(self.columns)[:200])}) or another name for --out"
            )

    def _read(self, kept: bytes) -> list[list[str]]:
        try:
            text = kept.decode("utf-8")
            if self._lines:
                found = [
                    json.loads(line, parse_float=str, parse_int=str) for line in text.split("\n") if line
                ]
                heads = {tuple(row) for row in found}
                rows = [[_text(cell) for cell in row.values()] for row in found]
            else:
                heads, rows = set(), list(csv.reader(io.StringIO(text, newline="")))[1:]
            fits = heads <= {tuple(self.columns)} and all(map(self._whole, rows))
        except (ValueError, AttributeError, csv.Error):
            fits = False
        if not fits:
            raise InputError(
                f"{self.label}: given a file whose rows do not fit its columns, expected rows of this sweep; "
                "give --out another name or remove it"
            )
        return rows

    def _whole(self, row: list[str]) -> bool:
        """It has a cell a column, and what came of its run are finite numbers or nothing."""
        measured = row[self.known :]
        return len(row) == len(self.columns) and all(not c or math.isfinite(float(c)) for c in measured)

    def found(self, place: int, planned: Sequence[Cell]) -> list[str] | None:
        """What came of run `place` according to the file; None: it has not been run yet.

        Raises:
            InputError: the file holds another run there.
        """
        if place >= len(self.rows):
            return None
        row = self.rows[place]
        wanted = [_text(cell) for cell in planned]
        if row[: self.known] == wanted:
            return row[self.known :]
        names = [n for n, a, b in zip(self.columns, row, wanted, strict=False) if a != b]
        at = self.columns.index(names[0])
        what = "a changed scenario" if names[0] == self.columns[0] else f"{names[0]} {quoted(row[at])}"
        raise InputError(
            f"{self.label}: row {place + 1}: given {what}, expected {quoted(wanted[at])}: "
            "this file belongs to another sweep, give --out another name or remove it"
        )

    def add(self, cells: Sequence[Cell]) -> None:
        """One more row, on disk before this returns."""
        if self._lines:
            pairs = (
                f"{json.dumps(name)}:{_json(cell)}" for name, cell in zip(self.columns, cells, strict=True)
            )
            self._write("{" + ",".join(pairs) + "}\n")
        else:
            self._write(_csv([_text(cell) for cell in cells]))

    def _write(self, text: str) -> None:
        if self._out is not None:
            try:
                self._out.write(text)
                self._out.flush()
            except OSError as error:
                raise InputError(
                    f"labkit sweep: --out: cannot be written any further ({error.strerror})"
                ) from None


def _locked(stream: IO[str]) -> bool:
    """Whether nobody else holds the file, which is ours from now on, until it is closed or we are killed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            stream.seek(1 << 40)  # a byte that is never there: what is locked there nobody may read
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # else: no locks on this disk
    return True


def _csv(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _json(cell: Cell) -> str:
    return str(cell) if isinstance(cell, Decimal) else json.dumps(cell, ensure_ascii=False)


def _text(cell: Cell) -> str:
    """A cell of a CSV file: nothing for null, true and false as in JSON, numbers in their shortest form."""
    if cell is None:
        return ""
    return json.dumps(cell) if isinstance(cell, bool | int | float) else str(cell)
