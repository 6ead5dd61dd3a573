"""Who owns which page of the cache, followed through a journal: the page map of the stepper.

A page has owners, or it is free; a free page may still hold a published prefix (cached). One that is given back while
a round or a swap in flight may still touch it is held until it retires. The journal names every page that is taken,
shared, given back and retired. Which pages are published follows from law 10 and the named prefixes of
the requests, as far as the scenario lists them: it does not for a trace, whose cached pages count as free here.

A pool of more pages than `CELLS` is folded: a cell then stands for several pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

CELLS = 256

Key = tuple[Any, ...]


class Prefix:
    """The named runs `[name, length]` that a prompt begins with; equal keys mean equal leading positions.

    Runs are compared position by position, within one tenant: `["s", 48]` and `["s", 64]` share 48.
    """

    def __init__(self, tenant: str, runs: Sequence[tuple[str, int]]) -> None:
        self.tenant = tenant
        self.runs = runs
        self.length = sum(length for _, length in runs)

    def key(self, end: int) -> Key:
        """Under what the page that ends after `end` positions can be found."""
        cut: list[tuple[str, int]] = []
        for name, length in self.runs:
            if end and length:
                cut.append((name, min(end, length)))
                end -= cut[-1][1]
        return (self.tenant, *cut)


class Cell(NamedTuple):
    """A cell of the map: its two greatest owners, how many owners, pages in use, pages cached."""

    top: tuple[str, ...] = ()
    owners: int = 0
    used: int = 0
    cached: int = 0


FREE = Cell()


class PageMap:
    """The pool as the events so far leave it. `fold` pages make a cell; 0 keeps counts alone."""

    def __init__(self, page_tokens: int, fold: int = 0) -> None:
        self.page_tokens = page_tokens
        self.fold = fold
        self.in_use = 0
        self.shared = 0
        self.cached = 0
        self.held: set[int] = set()
        self.tables: dict[str, list[int]] = {}
        self._owners: dict[int, list[str]] = {}
        self._keys: dict[int, Key] = {}  # published pages, and under what
        self._pages: dict[Key, int] = {}
        self._published: dict[str, int] = {}  # how many leading pages of a table need no publishing any more
        self._by_owner: dict[int, dict[str, int]] = {}
        self._used: dict[int, int] = {}
        self._held: dict[int, int] = {}  # cached pages of a cell

    def take(self, owner: str, pages: Iterable[int]) -> None:
        """Pages join the end of `owner`'s table; what they held before is gone."""
        table = self.tables.setdefault(owner, [])
        for page in pages:
            key = self._keys.pop(page, None)
            if key is not None:
                del self._pages[key]
                if not self._owners.get(page):
                    self._cache(page, -1)
            self._own(owner, page)
            table.append(page)

    def share(self, owner: str, pages: Iterable[int]) -> None:
        """`owner`'s table begins with pages that hold what it needs."""
        table = self.tables.setdefault(owner, [])
        for page in pages:
            if page in self._keys and not self._owners.get(page):
                self._cache(page, -1)
            self._own(owner, page)
            table.append(page)
        self._published[owner] = len(table)

    def restored(self, owner: str, positions: int) -> None:
        """`owner` comes back from the host: no round has filled these pages, so they are not published."""
        self._published[owner] = positions // self.page_tokens

    def publish(self, owner: str, computed: int, prefix: Prefix) -> None:
        """The round that filled these pages has committed: those of a named prefix can be shared (law 10)."""
        table, done = self.tables.get(owner, []), self._published.get(owner, 0)
        full = min(computed, prefix.length) // self.page_tokens
        for index in range(done, min(full, len(table))):
            page, key = table[index], prefix.key((index + 1) * self.page_tokens)
            if key not in self._pages and page not in self._keys:
                self._pages[key], self._keys[page] = page, key
        self._published[owner] = max(done, full)

    def retire(self, page: int) -> None:
        """Nothing in flight can touch the page any more."""
        if page in self.held:
            self.held.remove(page)
            if page in self._keys:
                self._cache(page, 1)

    def release(self, owner: str, hold: bool = False) -> None:
        """`owner` gives back its table; `hold`: what is left without owner is not free before it retires."""
        for page in self.tables.pop(owner, []):
            owners = self._owners[page]
            owners.remove(owner)
            self.shared -= len(owners) == 1
            if not owners:
                del self._owners[page]
                self.in_use -= 1
                if hold:
                    self.held.add(page)
                elif page in self._keys:
                    self._cache(page, 1)
            if self.fold:
                cell = page // self.fold
                counts = self._by_owner[cell]
                counts[owner] -= 1
                if not counts[owner]:
                    del counts[owner]
                self._used[cell] -= not owners
        self._published.pop(owner, None)

    def cells(self, count: int) -> list[Cell]:
        """The map in `count` cells."""
        return [self._cell(index) for index in range(count)]

    def _cell(self, index: int) -> Cell:
        counts = self._by_owner.get(index)
        cached = self._held.get(index, 0)
        if not counts:
            return FREE if not cached else Cell(cached=cached)
        top = sorted(counts, key=lambda owner: -counts[owner])[:2]
        return Cell(tuple(top), len(counts), self._used[index], cached)

    def _own(self, owner: str, page: int) -> None:
        owners = self._owners.setdefault(page, [])
        self.in_use += not owners
        self.shared += len(owners) == 1
        owners.append(owner)
        if self.fold:
            cell = page // self.fold
            counts = self._by_owner.setdefault(cell, {})
            counts[owner] = counts.get(owner, 0) + 1
            self._used[cell] = self._used.get(cell, 0) + (len(owners) == 1)

    def _cache(self, page: int, change: int) -> None:
        self.cached += change
        if self.fold:
            cell = page // self.fold
            self._held[cell] = self._held.get(cell, 0) + change
