"""The load of the scheduler's bench: a closed population that keeps all K seats busy, decoding most of the time.

The first K requests have their prompt in the cache, so that the first round is as full as the others. Whenever
one ends, the next takes its place at that instant. A measurement ends after a given number of sequence-slots, and
there are requests enough: every way of running a case does the same rounds.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from labkit.core.types import Budget, Job, Policy, Request, Setup
from labkit.executors.costs import LinearCost

SHORTEST, LONGEST = 64, 512  # of prompts and of outputs
FIXED_NS, TOKEN_NS, CONTEXT_NS = (
    1_000_000,
    20_000,
    10,
)  # a round, a new position, a position that is read again


class Member(NamedTuple):
    """One request: P, O, and whether its prompt is computed when it comes."""

    id: str
    prompt: int
    output: int
    prefilled: bool


@dataclass(frozen=True)
class Case:
    """`members` for `seats` seats, run until `slots` sequence-slots are done. Pages never run out."""

    seats: int
    slots: int
    members: tuple[Member, ...]
    tokens: int = 2048
    page_tokens: int = 16

    @property
    def pages(self) -> int:
        """Enough for every seat to hold the longest request."""
        return self.seats * -(-2 * LONGEST // self.page_tokens)

    def setup(self) -> Setup:
        """The limits, for the scheduler."""
        budget = Budget(self.tokens, self.seats, self.pages, self.page_tokens)
        return Setup(budget, Policy(prefill_chunk=self.tokens, admission="grow"))

    def cost(self) -> LinearCost:
        """The prices, for the scheduler."""
        fixed, token, context = map(Fraction, (FIXED_NS, TOKEN_NS, CONTEXT_NS))
        return LinearCost(fixed=fixed, per_token=token, per_context=context)


def make_case(seats: int, slots: int, seed: int = 1) -> Case:
    """A population that is large enough for `slots` slots in `seats` seats."""
    draw = random.Random(seed)
    count = 2 * seats + slots // SHORTEST
    lengths = [(draw.randint(SHORTEST, LONGEST), draw.randint(SHORTEST, LONGEST)) for _ in range(count)]
    return Case(seats, slots, tuple(Member(f"r{at}", *pair, at < seats) for at, pair in enumerate(lengths)))


class Replacements:
    """The population as a source of jobs: one for each seat at 0, then one for each that has ended."""

    def __init__(self, case: Case) -> None:
        self._members = iter(enumerate(case.members))
        self._due = deque([0] * case.seats)

    def peek(self) -> int | None:
        """Arrival of the next job in ns, None until another ends."""
        return self._due[0] if self._due else None

    def take(self) -> Job:
        """The next job."""
        place, (name, prompt, output, prefilled) = next(self._members)
        return Job(
            Request(name, place, self._due.popleft(), prompt, output, prefilled=prefilled), oracle=output
        )

    def notify_end(self, request_id: str, at_ns: int) -> None:
        """A seat is free: the next request comes at once."""
        self._due.append(at_ns)
