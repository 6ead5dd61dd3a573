"""The virtual executor: a round costs what a cost model says, and every request ends at its true length.

The only place that knows true output lengths (law 4).
"""

from __future__ import annotations

from typing import NamedTuple

from labkit.core.plan import Plan
from labkit.core.types import Job, RoundCost


class RoundResult(NamedTuple):
    """What an executor reports: how long the round took, and whose token of it is the last."""

    seconds_ns: int
    last: frozenset[str]


class VirtualExecutor:
    """Spends no time but the one that `cost` computes."""

    def __init__(self, cost: RoundCost) -> None:
        self.cost = cost
        self._left: dict[str, int] = {}

    @property
    def about(self) -> dict[str, object]:
        """What the journal's first line says of the executor."""
        return {"kind": "virtual"}

    def submit(self, job: Job) -> None:
        """A request is on its way; its oracle is the number of tokens after which it ends."""
        if not isinstance(job.oracle, int):
            raise TypeError(
                f"request {job.request.id!r}: the virtual executor needs its output length, got {job.oracle!r}"
            )
        self._left[job.request.id] = job.oracle

    def forget(self, request_id: str) -> None:
        """The request has ended."""
        self._left.pop(request_id, None)

    def run(self, plan: Plan) -> RoundResult:
        """One round."""
        load = self.cost.begin(plan.idle_seats)
        for nbytes in plan.transfers:
            load.add_transfer(nbytes)
        last = []
        left = self._left
        for item in plan.items:
            load.add(item.new_tokens, item.context, item.prefill)
            if item.yields:
                remaining = left[item.id] - 1
                left[item.id] = remaining
                if remaining <= 0:
                    last.append(item.id)
        return RoundResult(load.ns(), frozenset(last))
