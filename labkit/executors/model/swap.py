"""Swapped requests on the host: copies of their pages, and the conditions under which one may come back (N03).

Copies are queued on the device in the order in which they are asked for, behind the rounds launched before and ahead
of those launched after: what leaves has left before its pages are written again, what returns is there before it is
read. On a GPU the host's side is pinned memory, and the host does not wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from labkit.executors.model.paged import PagedCache


class StaleCopy(ValueError):
    """A copy that does not belong where it is to go: another model revision, position or cache format."""


class HostCopy(NamedTuple):
    """Pages on the host: the first `positions` positions of one request, as the model `revision` computed them."""

    kv: Tensor
    positions: int
    revision: str


class SwapSpace:
    """The host's side of `cache`, by request; `revision` is that of the model whose keys and values it holds."""

    def __init__(self, cache: PagedCache, revision: str) -> None:
        self.cache = cache
        self.revision = revision
        self.copies: dict[str, HostCopy] = {}

    def take_out(self, request_id: str, pages: Sequence[int], positions: int) -> None:
        """Copy what holds the first `positions` positions out of `pages`, which may be used again at once."""
        kv = self.cache.copy_out(pages[: -(-positions // self.cache.page_tokens)])
        self.copies[request_id] = HostCopy(kv, positions, self.revision)

    def bring_back(self, request_id: str, pages: Sequence[int], positions: int) -> None:
        """Copy a request's pages into `pages`, in order of positions, and let go of the copy.

        Raises:
            StaleCopy: the copy is of another revision, ends at another position, or has another format.
        """
        copy, cache = self.copies[request_id], self.cache
        format_ = (*cache.kv.shape[:1], *cache.kv.shape[2:], cache.kv.dtype)
        found = (*copy.kv.shape[:1], *copy.kv.shape[2:], copy.kv.dtype)
        for what, given, expected in (
            ("model revision", copy.revision, self.revision),
            ("position", copy.positions, positions),
            ("cache format", found, format_),
        ):
            if given != expected:
                raise StaleCopy(
                    f"swapped pages of {request_id!r}: given {what} {given}, expected {expected} (N03)"
                )
        cache.copy_in(copy.kv, pages[: copy.kv.shape[1]])
        del self.copies[request_id]

    def forget(self, request_id: str) -> None:
        """The request has ended."""
        self.copies.pop(request_id, None)
