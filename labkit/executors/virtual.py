"""The virtual executor: a round costs what a cost model says, and every request ends at its true length.

The only place that knows true output lengths (law 4).
"""

from __future__ import annotations

from collections import deque

from labkit.core.plan import Plan
from labkit.core.types import Job, RoundCost
from labkit.executors.result import RoundResult


class VirtualExecutor:
    """Spends no time but the one that `cost` computes."""

    follow = None  # a cost model has no pages to keep

    def __init__(self, cost: RoundCost) -> None:
        self.cost = cost
        self._last: dict[str, int] = {}  # positions in the cache when its last token comes out
        self._running: deque[RoundResult] = deque()

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
        self._running.append(RoundResult(load.ns(), frozenset(last)))

    def collect(self) -> RoundResult:
        """The oldest launched round has ended."""
        return self._running.popleft()
