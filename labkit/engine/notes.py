"""Who waits and why, told when it changes (law 11): the plan knows it for everyone, the journal needs the news only."""

from __future__ import annotations

from labkit.core.plan import Plan, Reason
from labkit.core.scheduler import State


class NoteBook:
    """Remembers what was last said of each waiting request. Cost: who is new or named by the plan, not the queue."""

    def __init__(self) -> None:
        self._said: dict[str, Reason] = {}
        self._rest: Reason | None = None
        self._odd: dict[
            str, None
        ] = {}  # waiting requests of whom something other than `_rest` was said last, or nothing

    def arrives(self, request_id: str) -> None:
        """A request begins to wait (again)."""
        self._said.pop(request_id, None)
        self._odd[request_id] = None

    def leaves(self, request_id: str) -> None:
        """A request waits no more."""
        self._said.pop(request_id, None)
        self._odd.pop(request_id, None)

    def news(self, plan: Plan, state: State) -> list[list[str]]:
        """[id, reason] for each waiting request whose reason is not the one last said, in the order of planning."""
        named = list(plan.notes)
        if plan.rest is self._rest:
            others = list(self._odd)
        else:
            others = [seq.id for queue in (state.swapped, state.waiting) for seq in queue]
            self._rest = plan.rest
        entered = {entry.id for entry in plan.entries}
        news = []
        for name in named + [name for name in others if name not in plan.notes and name not in entered]:
            reason = plan.why(name)
            if self._said.get(name) is not reason:
                self._said[name] = reason
                news.append([name, reason.value])
            if reason is plan.rest:
                self._odd.pop(name, None)
            else:
                self._odd[name] = None
        return news
