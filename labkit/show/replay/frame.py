"""What a frame holds: all there is to see at one step of a run. Filled by `frames.py`, read by the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from labkit.show.replay.pagemap import Cell

Event = dict[str, Any]
ENDS = ("finish", "reject", "cancel", "expire", "fail")


class Happening(NamedTuple):
    """Something that an event says of one request (or of the whole, then `id` is empty), at `t` ns."""

    t: int
    kind: str
    id: str = ""
    data: Mapping[str, Any] = {}


class Seat(NamedTuple):
    """Who sits here and does what: prefill or decode `new` positions after `context`, or nothing (paused, held).

    `computed` of `prompt` and `emitted` of at most `bound` tokens at the end; `unread`: emitted, not yet read.
    """

    id: str
    does: Literal["prefill", "decode", "paused", "held"]
    new: int
    context: int
    computed: int
    emitted: int
    unread: int


class Waiting(NamedTuple):
    """Who waits, what stops it as the journal last said, and whether its pages are on the host."""

    id: str
    reason: str | None
    swapped: bool


class Pages(NamedTuple):
    """Counts of the cache: in use, promised beyond that, with several owners, free but still holding a prefix.

    `held`: given back, and not free before a round or a swap in flight has ended.
    """

    in_use: int
    promised: int
    shared: int
    cached: int
    held: int = 0


NO_PAGES = Pages(0, 0, 0, 0)


@dataclass(slots=True)
class Frame:
    """One step of a run; times in ns. `seats` has a place for each lane up to the last that is taken.

    An empty one is None; `limit` says how many seats there are.
    `queue` holds the first of the `waiting`, in order; `news` those behind them whose reason has changed. `fixed` is
    the round that was planned while this one ran, with its items; `wasted` who is computed for nothing, having ended
    or lost its cache since that was planned.
    """

    kind: Literal["round", "idle", "end"]
    start: int
    end: int
    round: int | None = None
    before: list[Happening] = field(default_factory=list)
    seats: list[Seat | None] = field(default_factory=list)
    limit: int = 0
    waiting: int = 0
    queue: list[Waiting] = field(default_factory=list)
    news: list[Waiting] = field(default_factory=list)
    pages: Pages = NO_PAGES
    cells: list[Cell] = field(default_factory=list)
    idle_seats: int = 0
    during: list[Happening] = field(default_factory=list)
    tokens: list[tuple[str, int]] = field(default_factory=list)
    after: list[Happening] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    fixed: tuple[int, list[list[Any]]] | None = None
    wasted: list[str] = field(default_factory=list)

    @property
    def eventful(self) -> bool:
        """Something happened but for tokens: what a jump looks for."""
        return bool(self.before or self.during or self.after or self.kind == "end")


@dataclass(frozen=True)
class Limits:
    """What the scenario in the journal's first line says of budget and policy, as far as a frame needs it."""

    seats: int
    pool: int | None
    page_tokens: int
    order: str
    reserve: bool
    sharing: bool
    aging_ns: int | None
    prefixes: Mapping[str, list[tuple[str, int]]]
    title: str
    overlaps: bool = False  # rounds are planned while others run

    @classmethod
    def of(cls, header: Event) -> Limits:
        """Read the journal's first line; what it lacks has the scenario's default."""
        scenario = header["scenario"]
        budget, policy = _part(scenario, "budget"), _part(scenario, "policy")
        page_tokens = _whole(budget, "page_tokens", 16)
        pool = None
        if budget.get("kv_bytes") is not None:
            room = _whole(budget, "kv_bytes", 0) - _whole(budget, "workspace_bytes", 0)
            pool = max(1, room // (page_tokens * _whole(budget, "bytes_per_token", 65536)))
        aging = policy.get("aging_seconds")
        known = isinstance(aging, int | float) and math.isfinite(aging)
        return cls(
            seats=_whole(budget, "seats", 1),
            pool=pool,
            page_tokens=page_tokens,
            order=str(policy.get("order", "fcfs")),
            reserve=policy.get("admission", "reserve") == "reserve",
            sharing=bool(policy.get("prefix_sharing", False)),
            aging_ns=round(Decimal(str(aging)) * 10**9) if known else None,
            prefixes=_prefixes(scenario.get("requests")),
            title=str(scenario.get("title") or ""),
            overlaps=policy.get("pipeline_depth") == 2,
        )


def _part(scenario: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = scenario.get(key)
    return part if isinstance(part, Mapping) else {}


def _whole(part: Mapping[str, Any], key: str, default: int) -> int:
    """A whole number of the header; a run's own header always holds one where it is given."""
    value = part.get(key, default)
    return value if isinstance(value, int) and value >= (default > 0) else default


def _prefixes(requests: Any) -> dict[str, list[tuple[str, int]]]:
    """The named runs of each listed request, as far as they are runs."""
    found = {}
    for request in requests if isinstance(requests, list) else ():
        runs = request.get("prefix") if isinstance(request, Mapping) else None
        if isinstance(runs, list) and all(_is_run(run) for run in runs):
            found[str(request.get("id"))] = [(run[0], run[1]) for run in runs]
    return found


def _is_run(run: Any) -> bool:
    return isinstance(run, list) and len(run) == 2 and isinstance(run[0], str) and isinstance(run[1], int)
