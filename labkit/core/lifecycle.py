"""One request's life: the table of legal state changes (law 6) and the record the scheduler keeps of it.

    submitted -> WAITING -> ACTIVE -> finished
                   ^  ^       |
                   |  +-------+        preempted or its round lost, cache dropped (recompute)
                SWAPPED <-----+        preempted, cache moved to the host; to WAITING if it never got there

Every state may end as cancelled, expired or failed; only a waiting one may still be rejected.
Terminal states are final.
"""

from __future__ import annotations

import enum
from typing import Any

from labkit.core.invariants import InvariantError
from labkit.core.pages import PageRef
from labkit.core.types import Outcome, Request


class Status(enum.Enum):
    """Where a request is while it is in the system."""

    WAITING = "waiting"
    ACTIVE = "active"
    SWAPPED = "swapped"


_ENDS = {Outcome.CANCELLED, Outcome.EXPIRED, Outcome.FAILED}
TRANSITIONS: dict[Status | None, set[Status | Outcome]] = {
    None: {Status.WAITING, Outcome.REJECTED},
    Status.WAITING: {Status.ACTIVE, Outcome.REJECTED, *_ENDS},
    Status.ACTIVE: {Status.WAITING, Status.SWAPPED, Outcome.FINISHED, *_ENDS},
    Status.SWAPPED: {Status.ACTIVE, Status.WAITING, *_ENDS},
}


class Sequence:
    """What the scheduler knows of one live request.

    `computed` positions are in the cache, `total` are wanted in it before the next token can come out (law 2);
    each emitted token adds one to `total`. `scheduled` and `wanted` are the same two as they will be once every round
    in flight has settled: planning goes by those, and with nothing in flight there is no difference. `most` positions
    are all that its bound allows. `epoch` counts admissions undone (law 5). `mark` is the most positions
    it had at any preemption, or those it began with: what it has beyond it was gained since. `table` lists its
    pages in order. `doom`: it has ended, but the round it runs in has not.
    """

    __slots__ = (
        "aged",
        "bound_pages",
        "bypassed",
        "chain",
        "computed",
        "doom",
        "emitted",
        "epoch",
        "found",
        "host_pages",
        "id",
        "key",
        "last_served",
        "mark",
        "most",
        "paused",
        "preemptions",
        "prompt_tokens",
        "published",
        "request",
        "scheduled",
        "status",
        "table",
        "total",
        "waiting_since",
        "wanted",
    )

    def __init__(self, request: Request, bound_pages: int) -> None:
        self.request = request
        self.id = request.id
        self.prompt_tokens = request.prompt_tokens
        self.status: Status | Outcome | None = None
        self.epoch = 0
        self.computed = 0
        self.total = request.prompt_tokens + (1 if request.prefilled else 0)
        self.scheduled = 0
        self.wanted = self.total
        self.most = self.total + request.max_output_tokens - 1
        self.emitted = 0
        self.preemptions = 0
        self.mark = 0
        self.table: list[PageRef] = []
        self.bound_pages = bound_pages
        self.host_pages = 0
        self.chain: list[bytes] = []  # keys of its shareable pages
        self.published = 0
        self.found = 0  # pages it would have hit when that was last counted
        self.bypassed = 0
        self.aged = False
        self.paused = False
        self.doom: tuple[Outcome, str | None] | None = None
        self.waiting_since = request.arrival_ns
        self.last_served = -1
        self.key: tuple[Any, ...] = ()

    @property
    def outputs_left(self) -> int:
        """Tokens it may still emit under its bound."""
        return self.request.max_output_tokens - self.emitted

    def to(self, target: Status | Outcome) -> None:
        """Move to `target`; raises InvariantError (law 6) where the table has no such arrow."""
        allowed = TRANSITIONS.get(self.status) if not isinstance(self.status, Outcome) else None
        if allowed is None or target not in allowed:
            raise InvariantError(6, f"request {self.id!r}: no way from {self.status} to {target}")
        self.status = target
