"""The page pool and the prefix index.

A page is free, or owned by one or more page tables; `owned` counts each physical page once, however many share it.
When rounds overlap, the last holder may let go of a page that a round or a swap in flight may still touch. Such a page
is *quarantined*: neither owned nor free nor found, until all those steps have retired (law 5).
Free pages come in two kinds: plain ones, and *cached* ones that still hold a published prefix. Plain pages are
reused first, then cached ones, oldest release first; a request releases its tail before its head, so that the
head of a prefix outlives its tail.

    plain --take--> owned --release--> plain        (never published)
                      |  ^-----share---- cached --take (evicts)--> owned, next generation
                      +-----release----> cached
                      +-----release----> quarantined --retire--> plain or cached
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from labkit.core.invariants import InvariantError

UNLIMITED = 1 << 62


class PageRef(NamedTuple):
    """A page as its holder knows it; a reference of an older generation is stale (law 5)."""

    id: int
    generation: int


class PagePool:
    """Physical pages with reference counts and generations; `capacity` None is unlimited."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = UNLIMITED if capacity is None else capacity
        self.references: list[int] = []
        self.generations: list[int] = []
        self.owned = 0
        self.quarantined = 0
        self.touched: dict[int, int] = {}  # steps in flight that may still touch a page that was let go of
        self._plain: list[int] = []
        self._cached: OrderedDict[int, bytes] = OrderedDict()  # oldest release first: the eviction order
        self._key_of: dict[int, bytes] = {}
        self._index: dict[bytes, int] = {}

    @property
    def free(self) -> int:
        """Pages without any reference that no step in flight may touch, cached ones among them."""
        return self.capacity - self.owned - self.quarantined

    def take(self, count: int) -> list[PageRef]:
        """`count` pages for one holder. Raises InvariantError (law 7) if there are not as many: planning must know."""
        if count > self.free:
            raise InvariantError(7, f"{count} pages asked for, {self.free} are free")
        taken = []
        for _ in range(count):
            if self._plain:
                page = self._plain.pop()
                self.generations[page] += 1
            elif len(self.references) < self.capacity:
                page = len(self.references)
                self.references.append(0)
                self.generations.append(0)
            else:
                page = next(iter(self._cached))
                self._forget(page)
                self.generations[page] += 1
            self.references[page] = 1
            taken.append(PageRef(page, self.generations[page]))
        self.owned += count
        return taken

    def share(self, refs: Sequence[PageRef]) -> None:
        """One more holder for each page; a cached page comes back into use."""
        for ref in refs:
            self._check(ref)
            if self.references[ref.id] == 0:
                if ref.id not in self._cached:
                    raise InvariantError(10, f"page {ref.id} is shared but holds no published prefix")
                del self._cached[ref.id]
                self.owned += 1
            self.references[ref.id] += 1

    def release(self, refs: Sequence[PageRef], steps: int = 0) -> None:
        """One holder less for each page of a table, tail first.

        `steps` in flight may still touch them on its behalf: each has to `retire` them, also where others go on
        holding a page.
        """
        for ref in reversed(refs):
            self._check(ref)
            if self.references[ref.id] <= 0:
                raise InvariantError(7, f"page {ref.id} is released twice")
            self.references[ref.id] -= 1
            if steps:
                self.touched[ref.id] = self.touched.get(ref.id, 0) + steps
            if self.references[ref.id] == 0:
                self.owned -= 1
                if ref.id in self.touched:
                    self.quarantined += 1
                else:
                    self._free(ref.id)

    def retire(self, refs: Sequence[PageRef]) -> list[PageRef]:
        """One step less that may touch each of these pages, tail first; returns those that come free by it."""
        freed = []
        for ref in reversed(refs):
            self._check(ref)
            left = self.touched.get(ref.id, 0) - 1
            if left < 0:
                raise InvariantError(7, f"page {ref.id} is retired twice")
            if left:
                self.touched[ref.id] = left
                continue
            del self.touched[ref.id]
            if self.references[ref.id] == 0:
                self.quarantined -= 1
                self._free(ref.id)
                freed.append(ref)
        return freed

    def _free(self, page: int) -> None:
        key = self._key_of.get(page)
        if key is None:
            self._plain.append(page)
        else:
            self._cached[page] = key

    def publish(self, ref: PageRef, key: bytes) -> None:
        """Make a filled page findable under `key` (law 10). The first page of a content stays the one that is found."""
        self._check(ref)
        if key not in self._index and ref.id not in self._key_of:
            self._index[key] = ref.id
            self._key_of[ref.id] = key

    def lacks(self, key: bytes) -> bool:
        """No page is published under `key`."""
        return key not in self._index

    def find(self, chain: Sequence[bytes]) -> list[PageRef]:
        """The longest run of published pages from the head of `chain`, none quarantined; changes nothing."""
        found = []
        for key in chain:
            page = self._index.get(key)
            if page is None or (page in self.touched and not self.references[page]):
                break
            found.append(PageRef(page, self.generations[page]))
        return found

    def _check(self, ref: PageRef) -> None:
        if self.generations[ref.id] != ref.generation:
            raise InvariantError(5, f"stale reference to page {ref.id}, generation {ref.generation}")

    def _forget(self, page: int) -> None:
        del self._index[self._key_of.pop(page)]
        del self._cached[page]

    def audit(self) -> None:
        """Raise InvariantError (law 7) unless free, owned and quarantined pages make up the pool."""
        owned = sum(1 for count in self.references if count > 0)
        held = sum(1 for page in self.touched if not self.references[page])
        idle = len(self._plain) + len(self._cached)
        counts = f"{owned} owned + {held} quarantined + {idle} idle pages of {len(self.references)}"
        if owned + held + idle != len(self.references) or (owned, held) != (self.owned, self.quarantined):
            raise InvariantError(7, f"{counts} (counted: {self.owned}, {self.quarantined})")
        if len(self.references) > self.capacity:
            raise InvariantError(7, f"{len(self.references)} pages in a pool of {self.capacity}")
        for page, key in self._key_of.items():
            if self._index.get(key) != page:
                raise InvariantError(10, f"page {page} is published but not found")


def prefix_chain(tenant: str, runs: Sequence[tuple[str, int]], page_tokens: int) -> list[bytes]:
    """Keys of the whole pages inside the named runs, each a digest of its positions and of all before it.

    Position by position, a run is (name, 0), (name, 1), …; equal keys mean equal leading positions of one tenant
    (the chain starts from the tenant's name: law 10).
    """
    digest = hashlib.blake2b(tenant.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    chain: list[bytes] = []
    segments: list[tuple[str, int, int]] = []
    room = page_tokens
    for name, length in runs:
        offset = 0
        while offset < length:
            step = min(room, length - offset)
            segments.append((name, offset, offset + step))
            offset += step
            room -= step
            if room == 0:
                content = repr(_merged(segments)).encode("utf-8", "surrogatepass")
                digest = hashlib.blake2b(digest + content, digest_size=16).digest()
                chain.append(digest)
                segments, room = [], page_tokens
    return chain


def _merged(segments: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Join segments that continue each other, so that the same positions always look the same."""
    merged = segments[:1]
    for name, start, stop in segments[1:]:
        last = merged[-1]
        if last[0] == name and last[2] == start:
            merged[-1] = (name, last[1], stop)
        else:
            merged.append((name, start, stop))
    return merged
