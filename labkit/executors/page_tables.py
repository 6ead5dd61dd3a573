"""Which pages hold which request: the core's records folded into page tables, for an executor with a real cache.

The core decides about pages; an executor only follows. `admit` brings shared pages, `pages` adds to a table's end,
`release` gives the table back. A preemption starts a new epoch, and what an older epoch computed is stale (law 5).
Copies to the host and back are owed from the record on and made by the round that carries them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Record = Mapping[str, Any]


class Move(NamedTuple):
    """A copy that is owed: `out` from `pages` to the host, or back in, to the pages that the table has by then."""

    id: str
    out: bool
    pages: tuple[int, ...] = ()


class PageTables:
    """Page ids of each active request in order of positions, its epoch, and the swap copies that are owed."""

    def __init__(self) -> None:
        self.tables: dict[str, list[int]] = {}
        self.epochs: dict[str, int] = {}
        self.moves: list[Move] = []

    def follow(self, record: Record) -> None:
        """Take in one record of the core; those that concern no pages change nothing."""
        kind, name = record["event"], record.get("id", "")
        if kind == "admit":
            self.tables[name] = [page for page, _ in record["shared"]]
            self.epochs[name] = record["epoch"]
        elif kind == "pages":
            self.tables[name].extend(page for page, _ in record["pages"])
        elif kind == "preempt":
            self.epochs[name] = record["epoch"] + 1
        elif kind == "swap_out":
            self.moves.append(Move(name, True, tuple(self.tables[name])))
        elif kind == "swap_in":
            self.moves.append(Move(name, False))
        elif kind == "release":
            del self.tables[name]

    def forget(self, request_id: str) -> None:
        """The request has ended; copies that were owed to it are not."""
        self.tables.pop(request_id, None)
        self.epochs.pop(request_id, None)
        self.moves = [move for move in self.moves if move.id != request_id]
