"""The limit peer: the same rounds in one bare loop.

It has iteration-level scheduling, a token budget, chunked prompts, growing pages and a price for each round; it has
no plan that could be checked before it is carried out, no policy to choose, no journal, no invariants. What the
scheduler costs beyond this loop is what those cost.
"""

from __future__ import annotations

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
    """A running request."""

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
    members = iter(case.members)
    queue = [next(members) for _ in range(seats)]
    decoding: list[_Seat] = []
    prompting: list[_Seat] = []
    free = case.pages
    count = Count()
    now = 0
    while count.slots < case.slots:
        left, busy, read = case.tokens, 0, 0
        ended: list[_Seat] = []
        ready: list[_Seat] = []
        for seat in decoding:
            context = seat.computed
            read += context
            if context % page == 0:
                free -= 1
            seat.computed = context + 1
            seat.left -= 1
            if not seat.left:
                ended.append(seat)
        left -= len(decoding)
        busy += len(decoding)

        while queue and left > 0 and len(decoding) + len(prompting) < seats:
            seat = _Seat(queue.pop(0))
            if seat.computed:  # the prompt is there: its first round is a decode
                free -= -(-(seat.computed + 1) // page)
                read += seat.computed
                seat.computed += 1
                seat.left -= 1
                left -= 1
                busy += 1
                decoding.append(seat)
            else:
                prompting.append(seat)
                left = 0 if len(prompting) > 10**9 else left
        for seat in prompting:
            step = min(left, seat.prompt - seat.computed)
            if step <= 0:
                break
        now += FIXED_NS
