"""The limit peer: the same rounds in one bare loop.

It has iteration-level scheduling, a token budget, chunked prompts, growing pages and a price for each round. It has
no plan that could be checked before it is carried out, no policy to choose, no journal, no invariants. What the
scheduler costs beyond this loop is what those cost.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from benchmarks.population import CONTEXT_NS, FIXED_NS, TOKEN_NS, Case, Member


@dataclass
class Count:
    """What a run did; equal for every way of running a case. `ends`: the instant at which each request ended."""

    rounds: int = 0
    slots: int = 0
    end_ns: int = 0
    ends: dict[str, int] = field(default_factory=dict)


class _Seat:
    """A request; `left` outputs are still to come."""

    __slots__ = ("computed", "id", "left", "prompt")

    def __init__(self, member: Member) -> None:
        self.id = member.id
        self.prompt = member.prompt
        self.computed = member.prompt if member.prefilled else 0
        self.left = member.output


def plain(case: Case) -> Count:
    """Run rounds until `case.slots` slots are done.

    Raises:
        RuntimeError: the pages do not suffice; this loop has no preemption.
    """
    page, seats = case.page_tokens, case.seats
    members = map(_Seat, case.members)
    decoding = [next(members) for _ in range(seats)]
    prompting: list[_Seat] = []
    waiting: deque[_Seat] = deque()
    free = case.pages - sum(-(-seat.computed // page) for seat in decoding)
    count = Count()
    rounds = slots = now = 0
    while slots < case.slots:
        read, over = 0, False
        for seat in decoding:
            context = seat.computed
            read += context
            if context % page == 0:  # its last page is full
                free -= 1
            seat.computed = context + 1
            seat.left -= 1
            if not seat.left:
                over = True
        busy = len(decoding)
        left = case.tokens - busy

        begun = len(prompting)
        while waiting and busy + begun < seats:
            prompting.append(waiting.popleft())
            begun += 1
        ready = []
        for seat in prompting:
            step = min(left, seat.prompt - seat.computed)
            if step == 0:
                break
            context = seat.computed
            read += context
            seat.computed = context + step
            free -= -(-seat.computed // page) - -(-context // page)
            left -= step
            busy += 1
            if seat.computed == seat.prompt:
                seat.left -= 1  # a prompt's last chunk yields the first token
                over = over or not seat.left
                ready.append(seat)
        if free < 0:
            raise RuntimeError("the plain loop has run out of pages")

        rounds += 1
        slots += busy
        now += FIXED_NS + TOKEN_NS * (case.tokens - left) + CONTEXT_NS * read
        if ready:
            decoding += ready
            del prompting[: len(ready)]
        if over:
            for seat in decoding:
                if not seat.left:
                    free += -(-seat.computed // page)
                    count.ends[seat.id] = now
                    waiting.append(next(members))
            decoding = [seat for seat in decoding if seat.left]
    count.rounds, count.slots, count.end_ns = rounds, slots, now
    return count
