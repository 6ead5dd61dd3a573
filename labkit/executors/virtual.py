"""The virtual executor: a round costs what a cost model says, and every request ends at its true length.

The only place that knows true output lengths (law 4), and the only one that can be told to fail: `Fault`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass

from labkit.core.plan import Plan
from labkit.core.types import Job, RoundCost
from labkit.executors.result import RoundResult


@dataclass(frozen=True, slots=True)
class Fault:
    """A signal that comes late, or never: that of round `round`, or of the `nth` swap-out of request `swap`.

    `late_ns` counts from the instant at which the signal is due: the end of the round, that carries the swap; None:
    it never comes. The device itself goes on with the next round meanwhile.
    """

    round: int | None = None
    swap: str | None = None
    nth: int = 1
    late_ns: int | None = None


class VirtualExecutor:
    """Spends no time but the one that `cost` computes."""

    follow = None  # a cost model has no pages to keep

    def __init__(self, cost: RoundCost, faults: Iterable[Fault] = ()) -> None:
        self.cost = cost
        self._last: dict[str, int] = {}  # positions in the cache when its last token comes out
        self._running: deque[RoundResult] = deque()
        self._late = {(fault.round, fault.swap, fault.nth): fault.late_ns for fault in faults}
        self._launched = 0
        self._swaps: Counter[str] = Counter()

    @property
    def about(self) -> dict[str, object]:
        """What the journal's first line says of the executor."""
        return {"kind": "virtual"}

    def submit(self, job: Job) -> None:
        """A request is on its way; its oracle is the number of tokens after which it ends."""
        request = job.request
        if not isinstance(job.oracle, int):
            raise TypeError(
                f"request {request.id!r}: the virtual executor needs its output length, got {job.oracle!r}"
            )
        self._last[request.id] = request.prompt_tokens + job.oracle - (0 if request.prefilled else 1)

    def forget(self, request_id: str) -> None:
        """The request has ended."""
        self._last.pop(request_id, None)

    def launch(self, plan: Plan) -> None:
        """A round begins as soon as those launched before it have ended."""
        load = self.cost.begin(plan.idle_seats)
        for nbytes in plan.transfers:
            load.add_transfer(nbytes)
        last = []
        for name, _, new_tokens, context, prefill, yields in plan.items:
            load.add(new_tokens, context, prefill)
            if yields and context + new_tokens >= self._last.get(name, 0):
                last.append(name)
        result = RoundResult(load.ns(), frozenset(last))
        self._running.append(self._fail(plan, result) if self._late else result)

    def _fail(self, plan: Plan, result: RoundResult) -> RoundResult:
        """The same with what its faults make late."""
        number, self._launched = self._launched, self._launched + 1
        late_swaps = {}
        for victim in plan.victims:
            if victim.mode == "swap":
                self._swaps[victim.id] += 1
                fault = (None, victim.id, self._swaps[victim.id])
                if fault in self._late:
                    late_swaps[victim.id] = self._late[fault]
        late_ns = self._late.get((number, None, 1), 0)
        return result._replace(late_ns=late_ns, late_swaps=late_swaps)

    def collect(self) -> RoundResult:
        """The oldest launched round has ended."""
        return self._running.popleft()
