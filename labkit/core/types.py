"""What is asked of the scheduler: requests, budgets, policies; and what it asks of others: a cost estimate.

Everything here is plain, frozen data. Time is integer nanoseconds (law 1), money is exact (`Fraction`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol

NS_PER_SECOND = 1_000_000_000

Batching = Literal["continuous", "static"]
Order = Literal["fcfs", "sjf", "edf", "priority", "credit"]
Charge = Literal["tokens", "requests", "cost"]
Phase = Literal["decode_first", "prefill_first", "shared"]
Admission = Literal["reserve", "grow"]
Preemption = Literal["none", "recompute", "swap", "cheapest"]


class Outcome(enum.Enum):
    """How a request ended; `unfinished` marks one that the end of the observation cut off (censored)."""

    FINISHED = "finished"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the scheduler sees it: never its true output length (law 4).

    `place` is its position in the file and breaks ties; `prompt_tokens` is P, `max_output_tokens` the bound
    Omax, `arrival_ns` a, `deadline_ns` d (absolute). `prefix` names runs of positions from the start of the
    prompt, compared position by position. `prefilled`: the prompt is in the cache on admission.
    """

    id: str
    place: int
    arrival_ns: int
    prompt_tokens: int
    max_output_tokens: int
    tenant: str = "default"
    priority: int = 0
    deadline_ns: int | None = None
    prefilled: bool = False
    prefix: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """A client that reads slowly: one token every `interval_ns`; the server holds at most `buffer_tokens`.

    `patience_ns`: how long the buffer may stay full before the request is cancelled; None: for ever.
    """

    interval_ns: int
    buffer_tokens: int
    patience_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """What the world does to a request, apart from sending it. The engine acts on it, the scheduler never sees it.

    `intended_ns`: when the client meant to send it, where that is not when it did (C30); None: the same.
    """

    cancel_ns: int | None = None
    fail_ns: int | None = None
    reader: Reader | None = None
    network_ns: int = 0
    deliver_every: int = 1
    intended_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A request on its way to the server. `oracle` is for the executor alone.

    The virtual one wants the true output length in it, the real model the prompt and how to sample.
    """

    request: Request
    client: Client = field(default_factory=Client)
    oracle: object = None


@dataclass(frozen=True, slots=True)
class Budget:
    """E31.5: new tokens a round (B), active sequences (K), pages of KV cache (from M), seconds a round.

    `pages` None: unlimited. `host_pages`: room for swapped pages. `round_ns` bounds the *estimated* round time.
    """

    tokens: int
    seats: int
    pages: int | None = None
    page_tokens: int = 16
    page_bytes: int = 16 * 65536
    host_pages: int = 0
    round_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How requests share the budget; the field meanings are those of the scenario file, with units in the names.

    `lease_ns`: how long after the instant at which it was due a signal of an overlapping round or swap may come; then
    it counts as lost.
    """

    batching: Batching = "continuous"
    batch_window_ns: int = 0
    static_finished: Literal["stop", "compute"] = "stop"
    order: Order = "fcfs"
    aging_ns: int | None = None
    charge: Charge = "tokens"
    phase: Phase = "decode_first"
    min_prefill_share: Fraction = Fraction(0)
    min_decode_share: Fraction = Fraction(0)
    prefill_chunk: int | None = None
    max_bypass: int | None = 16
    admission: Admission = "reserve"
    preemption: Preemption = "none"
    min_run_tokens: int = 1
    max_queue: int | None = None
    margin_ns: int = 0
    prefix_sharing: bool = False
    pipeline_depth: int = 1
    lease_ns: int = NS_PER_SECOND
    backpressure: frozenset[str] = frozenset({"output", "active", "queue", "entry"})


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant's `weight` in the credit order; the most credit or debt it may carry over, in units of the charge."""

    weight: Fraction = Fraction(1)
    max_carry: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a scheduler is given before the first request."""

    budget: Budget
    policy: Policy
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    default_carry: Fraction = Fraction(0)


class RoundLoad(Protocol):
    """The cost of a round that is being put together, one item after another."""

    def ns_with(self, new_tokens: int, context: int, prefill: bool) -> int:
        """Duration in ns if this item were in the round too."""
        ...

    def add(self, new_tokens: int, context: int, prefill: bool) -> None:
        """Put the item into the round."""
        ...

    def add_transfer(self, nbytes: int) -> None:
        """Put one swap transfer of `nbytes` into the round."""
        ...

    def ns(self) -> int:
        """Duration of the round as it stands, in ns, at least 1."""
        ...


class RoundCost(Protocol):
    """A model of how long a round takes (C13). The scheduler plans by one, the virtual executor lives by another."""

    @property
    def edges(self) -> tuple[int, ...]:
        """Chunk lengths beyond which a longer chunk may make the round shorter (bucket edges), ascending."""
        ...

    def begin(self, idle_seats: int = 0) -> RoundLoad:
        """An empty round. `idle_seats`: ended members of a static batch that the kernel goes on computing."""
        ...

    def alone(self, computed: int, total: int, decodes: int, chunk: int) -> Fraction:
        """Exact ns for one request alone: `computed`..`total` in chunks of `chunk`, then `decodes` decodes."""
        ...

    def transfer(self, nbytes: int) -> Fraction:
        """Exact ns of one swap transfer."""
        ...
