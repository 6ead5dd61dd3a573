"""One total order (law 8): it admits from the front and chooses victims from the back.

A rank is a tuple that compares smaller for who comes first: the aged before all others, then the policy's own
key, then arrival, then place in the file. Ranks never tie, because places differ.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from labkit.core.credit import Accounts
from labkit.core.lifecycle import Sequence
from labkit.core.types import Policy

_NEVER = 1 << 80
_by_key = attrgetter("key")

Rank = tuple[Any, ...]


class Ordering:
    """Ranks sequences under one policy; under `credit` ranks move with the accounts, else they stay."""

    def __init__(self, policy: Policy, accounts: Accounts) -> None:
        self.order = policy.order
        self.accounts = accounts
        self.moving = policy.order == "credit"

    def rank(self, seq: Sequence) -> Rank:
        """The rank of `seq` now; smaller comes first."""
        request = seq.request
        arrival = (request.arrival_ns, request.place)
        if seq.aged:
            return (0, 0, *arrival)
        if self.order == "sjf":
            return (1, request.max_output_tokens, *arrival)
        if self.order == "edf":
            return (1, _NEVER if request.deadline_ns is None else request.deadline_ns, *arrival)
        if self.order == "priority":
            return (1, -request.priority, *arrival)
        if self.order == "credit":
            return (1, -self.accounts.balance(request.tenant), *arrival)
        return (1, 0, *arrival)

    def ranked(self, queue: RankedList) -> list[Sequence]:
        """The queue in its present order, without changing it."""
        if self.moving:
            return sorted(queue.items, key=self.rank)
        return queue.items

    def outranks(self, first: Sequence, second: Sequence) -> bool:
        """True if `first` comes before `second`."""
        return self.rank(first) < self.rank(second)


class RankedList:
    """Sequences kept sorted by the rank that they had when they were put in."""

    def __init__(self, ordering: Ordering) -> None:
        self.ordering = ordering
        self.items: list[Sequence] = []

    def add(self, seq: Sequence) -> None:
        """Put `seq` where its rank belongs."""
        # Under `credit` ranks move, so that a fixed key is kept for storage and the order is made when it's asked for.
        request = seq.request
        seq.key = (request.arrival_ns, request.place) if self.ordering.moving else self.ordering.rank(seq)
        insort(self.items, seq, key=_by_key)

    def remove(self, seq: Sequence) -> None:
        """Take `seq` out; its key must be the one it was put in with."""
        at = bisect_left(self.items, seq.key, key=_by_key)
        if at == len(self.items) or self.items[at] is not seq:
            raise KeyError(seq.id)
        del self.items[at]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self.items)
