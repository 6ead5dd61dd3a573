"""A round's plan: what runs, who comes in, who gives way, and why each of the others waits (law 11)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from labkit.core.pages import PageRef


class Reason(enum.Enum):
    """What stops a waiting request in this round."""

    TOKENS = "tokens"  # nothing, or too little, is left of the token budget B or of its class's share
    SEATS = "seats"  # K sequences are active
    PAGES = "pages"  # the KV pages it needs are not free
    SECONDS = "seconds"  # the estimated round would be longer than round_seconds
    BYPASS = "bypass"  # an earlier one has been passed max_bypass times
    BATCH = "batch"  # static batching: the batch in progress is closed
    WINDOW = "window"  # static batching: the batch is still being collected
    SWAPPED = "swapped"  # a swapped request has to come back first
    READER = "reader"  # its own reader has not made room
    PREEMPTED = "preempted"  # it gave way in this very round, or its pages are still on their way to the host


class PlanItem(NamedTuple):
    """`new_tokens` positions (q) of one request after `context` (s); `yields`: the round ends with its next token."""

    id: str
    epoch: int
    new_tokens: int
    context: int
    prefill: bool
    yields: bool


class Entry(NamedTuple):
    """A request that takes a seat in this round, with the published pages that it will share."""

    id: str
    hits: tuple[PageRef, ...]
    from_swap: bool


class Victim(NamedTuple):
    """An active request that gives way to `to`; `fail`: it may not be preempted, so it ends."""

    id: str
    mode: Literal["recompute", "swap", "fail"]
    to: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What `decide` wants done at `now`; `version` is that of the state it was decided on.

    `holds`: somebody would have to give way, and a round is in flight. Then nothing is done before that has settled
    (N02: a request is preempted only at a safe boundary), so that no victim ever has a result on its way.
    """

    now: int
    version: int
    items: tuple[PlanItem, ...]
    entries: tuple[Entry, ...] = ()
    victims: tuple[Victim, ...] = ()
    passed: Mapping[str, int] = field(
        default_factory=dict
    )  # how many later-ranked ones were admitted past it
    found: Mapping[str, int] = field(default_factory=dict)  # pages that waiting requests would have hit
    notes: Mapping[str, Reason] = field(default_factory=dict)
    rest: Reason = Reason.SEATS  # why all those wait whom `notes` does not name
    transfers: tuple[int, ...] = ()  # bytes of each swap transfer
    idle_seats: int = 0
    forms_batch: bool = False
    wake_ns: int | None = None
    holds: bool = False

    def why(self, request_id: str) -> Reason:
        """What stops a waiting request (law 11)."""
        return self.notes.get(request_id, self.rest)
