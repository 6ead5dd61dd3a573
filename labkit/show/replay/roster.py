"""Who is in the system: seats, the queue in its order, and how far each request has come."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, deque
from fractions import Fraction
from typing import Any

from labkit.show.replay.frame import Event, Limits, Seat, Waiting
from labkit.show.replay.pagemap import Prefix

FIRST = 12  # of a long queue this many are looked at

_NEVER = 1 << 80


class Live:
    """One request that has not ended, as the journal has told of it so far. `lane` None: it waits."""

    __slots__ = (
        "aged", "computed", "delivered", "emitted", "index", "key", "lane", "paused", "prefix", "reason", "since",
        "submit", "swapped",
    )  # fmt: skip

    def __init__(self, submit: Event, index: int, prefix: Prefix | None) -> None:
        self.submit = submit
        self.index = index  # order of arrival
        self.prefix = prefix  # what can be shared of its prompt
        self.since = submit["t"]
        self.lane: int | None = None
        self.reason: str | None = None
        self.key: tuple[Any, ...] = ()  # its place in the queue
        self.swapped = False
        self.paused = False
        self.aged = False
        self.computed = 0
        self.emitted = 0
        self.delivered = 0

    @property
    def unread(self) -> int:
        """Tokens that came out and that the client has not read."""
        return 0 if self.submit["direct"] else self.emitted - self.delivered


class Roster:
    """All live requests; a request takes the lowest free lane when it is admitted and leaves it when it goes.

    The queue is kept sorted: swapped first, then by the policy's order (law 8). Under `credit` that order moves with
    the balances, so it is made when the queue is looked at.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.seats = limits.seats
        self.live: dict[str, Live] = {}
        self.lanes: list[str | None] = []
        self.submitted = 0
        self.balances: dict[str, Fraction] = {}
        self.news: dict[str, None] = {}  # whose reason was told since the last look at the queue
        self._queue: list[tuple[tuple[Any, ...], str]] = []
        self._ages: deque[tuple[int, str]] = deque()
        self._work: Counter[str] = Counter()

    def of(self, event: Event) -> Live:
        """The request of an event. Raises ValueError if it is not in the system."""
        live = self.live.get(event["id"])
        if live is None:
            raise ValueError(f"{event['event']} of request {event['id']!r}, which is not in the system")
        return live

    def submit(self, event: Event) -> None:
        """A request arrives."""
        name = event["id"]
        if name in self.live:
            raise ValueError(f"request {name!r} is submitted twice")
        runs = self.limits.prefixes.get(name) if self.limits.sharing else None
        live = self.live[name] = Live(event, self.submitted, Prefix(event["tenant"], runs) if runs else None)
        self.submitted += 1
        self._work[event["tenant"]] += 1
        self._enqueue(live)

    def sit(self, event: Event) -> int:
        """A request takes a seat; returns its lane."""
        live = self.of(event)
        if live.lane is not None:
            raise ValueError(f"request {event['id']!r} is admitted, but it has a seat")
        self._age(event["t"])
        self._dequeue(live)
        lane = next((at for at, holder in enumerate(self.lanes) if holder is None), len(self.lanes))
        self.lanes[lane : lane + 1] = [event["id"]]
        live.lane, live.swapped, live.reason, live.computed = lane, False, None, event["context"]
        return lane

    def give_way(self, event: Event) -> int | None:
        """A request leaves its seat and waits, its cache dropped or on the host; returns its lane.

        One that is on its way to the host has none any more: it never got there and waits on, its cache dropped.
        """
        live = self.of(event)
        lane = self._stand(live)
        if lane is None and live.swapped and event["for"] == event["id"]:
            self._dequeue(live)
        elif lane is None:
            raise ValueError(f"request {event['id']!r} gives way, but it has no seat")
        live.since, live.reason, live.swapped = event["t"], "preempted", event["mode"] == "swap"
        if not live.swapped:
            live.computed = 0
        self._enqueue(live)
        return lane

    def remove(self, event: Event) -> tuple[Live, int | None]:
        """A request has ended; returns it and the lane it had. A tenant without work has no balance any more."""
        live = self.of(event)
        lane = self._stand(live)
        if lane is None:
            self._dequeue(live)
        del self.live[event["id"]]
        self.news.pop(event["id"], None)
        tenant = live.submit["tenant"]
        self._work[tenant] -= 1
        if not self._work[tenant]:
            self.balances.pop(tenant, None)
        return live, lane

    def note(self, name: str, reason: str) -> None:
        """The journal says what stops a waiting request (law 11)."""
        if name in self.live:
            self.live[name].reason = reason
            self.news[name] = None

    def seated(self, items: list[list[Any]]) -> list[Seat | None]:
        """Each seat, up to the last that is taken, with who sits there and what a round of `items` does with it."""
        doing = {name: (new, context, phase) for name, new, context, phase in items}
        seats: list[Seat | None] = []
        for name in self.lanes:
            if name is None:
                seats.append(None)
                continue
            live = self.live[name]
            new, context, does = doing.get(name, (0, live.computed, "paused" if live.paused else "held"))
            computed = max(live.computed, context + new)
            seats.append(Seat(name, does, new, context, computed, live.emitted, live.unread))
        while seats and seats[-1] is None:
            seats.pop()
        return seats

    def promised(self, tables: dict[str, list[int]]) -> int:
        """Pages that `reserve` has promised to those who sit, beyond what they hold."""
        if not self.limits.reserve:
            return 0
        size, promised = self.limits.page_tokens, 0
        for name in self.lanes:
            if name is not None:
                submit = self.live[name].submit
                bound = -(-(submit["prompt_tokens"] + submit["max_output_tokens"]) // size)
                promised += bound - len(tables.get(name, ()))
        return promised

    @property
    def waiting(self) -> int:
        """How many wait or are swapped out."""
        return len(self._queue)

    def queue(self, now: int) -> tuple[list[Waiting], list[Waiting]]:
        """The first of those who wait, and those behind them whose reason is news."""
        self._age(now)
        ordered = self._queue
        if self.limits.order == "credit":
            ordered = sorted((self._key(self.live[name]), name) for _, name in self._queue)
        first = [name for _, name in ordered[:FIRST]]
        shown = set(first)
        news, self.news = self.news, {}
        behind = [name for name in news if name not in shown and self.live[name].lane is None]
        return [self._waiting(name) for name in first], [self._waiting(name) for name in behind]

    def _waiting(self, name: str) -> Waiting:
        live = self.live[name]
        return Waiting(name, live.reason, live.swapped)

    def counts(self) -> dict[str, int]:
        """How many there are: submitted, and of those waiting, swapped, active."""
        waiting = len(self._queue)
        swapped = bisect_left(self._queue, (1,), key=lambda entry: entry[0][:1])
        return {
            "submitted": self.submitted, "waiting": waiting - swapped, "swapped": swapped,
            "active": len(self.live) - waiting,
        }  # fmt: skip

    def _stand(self, live: Live) -> int | None:
        lane, live.lane = live.lane, None
        if lane is not None:
            self.lanes[lane] = None
        return lane

    def _enqueue(self, live: Live) -> None:
        live.key = self._key(live)
        insort(self._queue, (live.key, live.submit["id"]))
        if self.limits.aging_ns is not None and not live.aged:
            self._ages.append((live.since, live.submit["id"]))

    def _dequeue(self, live: Live) -> None:
        del self._queue[bisect_left(self._queue, (live.key, live.submit["id"]))]

    def _age(self, now: int) -> None:
        """Who has waited longer than `aging_seconds` ranks first from now on, for good (C26)."""
        limit = self.limits.aging_ns
        while limit is not None and self._ages and now - self._ages[0][0] > limit:
            since, name = self._ages.popleft()
            live = self.live.get(name)
            if live is not None and live.lane is None and live.since == since:
                self._dequeue(live)
                live.aged = True
                self._enqueue(live)

    def _key(self, live: Live) -> tuple[Any, ...]:
        return (0 if live.swapped else 1, *self._rank(live))

    def _rank(self, live: Live) -> tuple[Any, ...]:
        submit, order = live.submit, self.limits.order
        if live.aged:
            return (0, 0, live.index)
        key: Any = 0
        if order == "sjf":
            key = submit["max_output_tokens"]
        elif order == "edf":
            key = _NEVER if submit["deadline"] is None else submit["deadline"]
        elif order == "priority":
            key = -submit["priority"]
        elif order == "credit":
            key = -self.balances.get(submit["tenant"], Fraction(0))
        return (1, key, live.index)
