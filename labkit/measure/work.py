"""What the server did in a window: rounds, positions, tokens, preemptions, the age of its queue, its output backlog.

Positions and tokens count at the end of the round that made them, if that lies in (start, end]; busy time is that
of the rounds clipped to the window. Costs are shared out by two rules, since a round's cost has no one true split
(N16): by computed positions, and by seats. Either bill sums to the rounds exactly.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

from labkit.core.types import NS_PER_SECOND, Outcome
from labkit.measure.result import Trace
from labkit.measure.steps import Steps, Thin, Trail

Record = dict[str, Any]
Item = tuple[str, str, int]  # request, its tenant, new positions
RULES = ("positions", "seats")


class Work:
    """Sums over the rounds and ends of one window; times in ns."""

    def __init__(self, start: int = 0, end: int | None = None, thin: bool = False) -> None:
        self.start = start
        self.end = end
        self.rounds = 0
        self.busy = 0
        self.longest_round = 0
        self.round_time = 0  # Σ of the rounds that ended in the window
        self.seat_time = 0  # Σ busy seats · ns
        self.executed = 0  # positions computed, again or not
        self.recomputed = 0
        self.generated = 0  # output tokens emitted
        self.lost = 0  # emitted, never delivered, since the request ended first
        self.finished = 0
        self.finished_on_target = 0
        self.input_finished = 0
        self.input_computed = 0
        self.preemptions: Counter[str] = Counter()
        self.pages_peak = 0
        self.backlog = Steps(start, Thin() if thin else None)  # emitted and not yet with the client
        self.buffer_peak = 0  # most tokens of one request that its client had not read
        self.executed_by: Counter[str] = Counter()  # positions, by tenant
        self.generated_by: Counter[str] = Counter()
        self.finished_by: Counter[str] = Counter()
        self.age = Age()
        # for figures
        self.pages = Thin() if thin else None
        self.ages = Trail() if thin else None
        self.round_times = Trail() if thin else None
        # ns by tenant, as numerators over each denominator: exact without the growth of adding fractions
        self._bills: dict[str, dict[str, Counter[int]]] = {r: defaultdict(Counter) for r in RULES}
        self._waiting: dict[str, int] = {}
        self._buffer: Counter[str] = Counter()
        self._leaving: list[tuple[int, str, int, int, bool]] = []

    def _in(self, at: int) -> bool:
        return self.start < at and (self.end is None or at <= self.end)

    def advance(self, now: int) -> None:
        """Time goes on to `now`."""
        self.backlog.advance(now if self.end is None else min(now, self.end))
        while self._leaving and self._leaving[0][0] <= now:
            end, tenant, prompt, computed, on_target = heapq.heappop(self._leaving)
            if self._in(end):
                self.finished += 1
                self.finished_on_target += on_target
                self.finished_by[tenant] += 1
                self.input_finished += prompt
                self.input_computed += computed

    def close(self, end: int) -> None:
        """The observation ends."""
        if self.end is None:
            self.end = end
        self.advance(end)

    def waits(self, request_id: str, now: int) -> None:
        """A request begins to wait (again)."""
        self._waiting[request_id] = now

    def runs(self, request_id: str) -> None:
        """It waits no more."""
        self._waiting.pop(request_id, None)

    def preempted(self, mode: str, now: int) -> None:
        """A request gives way."""
        if self._in(now):
            self.preemptions[mode] += 1

    def token(self, trace: Trace, now: int) -> None:
        """An output token comes out."""
        if self._in(now):
            self.generated += 1
            self.generated_by[trace.submit["tenant"]] += 1
        if not trace.direct:
            self.backlog.change(now, 1)
            self._buffer[trace.id] += 1
            self.buffer_peak = max(self.buffer_peak, self._buffer[trace.id])

    def delivered(self, request_id: str, at: int, read: int) -> None:
        """A token was read at `read` and is with the client at `at`."""
        self.backlog.change(max(at, read), -1)
        if request_id in self._buffer:
            self._buffer[request_id] -= 1

    def ended(self, trace: Trace, end: int, now: int, on_target: bool) -> None:
        """A request leaves the system at `end`, which may lie ahead; what it had not handed over is lost."""
        self._buffer.pop(trace.id, None)
        lost = len(trace.tokens) - len(trace.delivered)
        if lost:
            self.backlog.change(now, -lost)
            self.lost += lost
        if trace.outcome is Outcome.FINISHED:
            prompt: int = trace.submit["prompt_tokens"]
            computed = 0 if trace.submit["prefilled"] else prompt - trace.cached
            heapq.heappush(self._leaving, (end, trace.submit["tenant"], prompt, computed, on_target))

    def round(self, event: Record, items: list[Item], running: set[str], recomputed: int) -> None:
        """A round has run: of its `items` those in `running` had not ended; `recomputed` positions were not new."""
        start: int = event["start"]
        now: int = (
            event["end"] if "end" in event else event["t"]
        )  # its signal may have come later than its end
        begun = max(start, self.start)
        spent = max(0, (now if self.end is None else min(now, self.end)) - begun)
        if spent:
            self.busy += spent
            self.seat_time += spent * len(items)
            self._share_out(items, spent)
            self.pages_peak = max(self.pages_peak, event["pages_in_use"])
            if self.pages is not None:
                self.pages.add(begun, begun + spent, event["pages_in_use"])
        if not self._in(now):
            return
        self.rounds += 1
        self.longest_round = max(self.longest_round, now - start)
        self.round_time += now - start
        for name, tenant, new_tokens in items:
            if name in running:
                self.executed += new_tokens
                self.executed_by[tenant] += new_tokens
        self.recomputed += recomputed
        age = max(0, now - next(iter(self._waiting.values()), now))
        self.age.add(now, age)
        if self.ages is not None and self.round_times is not None:
            self.ages.add(now, age)
            self.round_times.add(now, now - start)

    def _share_out(self, items: list[Item], spent: int) -> None:
        total = sum(new_tokens for _, _, new_tokens in items)
        for _, tenant, new_tokens in items:
            self._bills["positions"][tenant][total] += new_tokens * spent
            self._bills["seats"][tenant][len(items)] += spent

    def bill(self, rule: str) -> dict[str, Fraction]:
        """Seconds of the rounds by tenant, by `positions` or by `seats`; they sum to the busy time exactly (N16)."""
        return {
            tenant: sum((Fraction(n, d) for d, n in parts.items()), Fraction(0)) / NS_PER_SECOND
            for tenant, parts in self._bills[rule].items()
        }


class Age:
    """How long the oldest waiting request has waited, at the end of each round, and the least-squares slope of that.

    A queue whose age grows by a steady share of the time that passes is overloaded, not unlucky (Q31.13).
    """

    def __init__(self) -> None:
        self.samples = 0
        self.greatest = 0
        self._t = self._age = self._tt = self._ta = 0

    def add(self, now: int, age: int) -> None:
        """At `now` the oldest has waited `age` ns; 0 where nobody waits."""
        self.samples += 1
        self.greatest = max(self.greatest, age)
        self._t += now
        self._age += age
        self._tt += now * now
        self._ta += now * age

    @property
    def mean(self) -> Fraction | None:
        """Mean over the ends of rounds, in s."""
        return Fraction(self._age, self.samples * NS_PER_SECOND) if self.samples else None

    @property
    def slope(self) -> Fraction | None:
        """Seconds of age gained a second; None with fewer than two different times."""
        n = self.samples
        spread = n * self._tt - self._t * self._t
        return Fraction(n * self._ta - self._t * self._age, spread) if spread else None
