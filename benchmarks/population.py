"""The load of the scheduler's bench: a closed population that keeps all K seats busy, decoding most of the time.

The first K requests have their prompt in the cache, so that the first round is as full as the others. Whenever
one ends, the next takes its place at that instant. It never runs dry within a measurement, and a measurement ends
after a given number of sequence-slots: every way of running it does the same rounds.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from labkit.core.types import Budget, Job, Policy, Request, Setup
from labkit.executors.costs import LinearCost

SHORTEST, LONGEST = 64, 512  # of prompts and of outputs
FIXED_NS, TOKEN_NS, CONTEXT_NS = 1_000_000, 20_000, 10  # one round, one new position, one position read again


class Member(NamedTuple):
    """One request: P, O, and whether it starts with its prompt computed."""

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
        """The same limits for the scheduler."""
        budget = Budget(self.tokens, self.seats, self.pages, self.page_tokens)
        return Setup(budget, Policy(prefill_chunk=self.tokens, admission="grow"))

    def cost(self) -> LinearCost:
        """The same prices for the scheduler."""
        return LinearCost(
            fixed=Fraction(FIXED_NS), per_token=Fraction(TOKEN_NS), per_context=Fraction(CONTEXT_NS)
        )


def case(seats: int, slots: int, seed: int = 1) -> Case:
    """A population large enough for `slots` slots in `seats` seats."""
    draw = random.Random(seed)
    count = 2 * seats + slots // SHORTEST
    lengths = [(draw.randint(SHORTEST, LONGEST), draw.randint(SHORTEST, LONGEST)) for _ in range(count)]
    return Case(seats, slots, tuple(Member(f"r{at}", *pair, at < seats) for at, pair in enumerate(lengths)))


class Replacements:
    """The population as a source of jobs: one for each seat at 0, then one for each that ends."""

    def __init__(self, case: Case) -> None:
        self._members = case.members
        self._taken = 0
        self._due = [0] * case.seats  # arrivals that are known, the earliest last

    def peek(self) -> int | None:
        """Arrival of the next job that is known, in ns."""
        return self._due[-1] if self._due else None

    def take(self) -> Job:
        """The next job."""
        job = as_job(self._members[self._taken], self._taken, self._due.pop())
        self._taken += 1
        return job

    def notify_end(self, request_id: str, at_ns: int) -> None:
        """A seat is free: the next one comes at once."""
        self._due.insert(0, at_ns)


def as_job(member: Member, place: int, arrival_ns: int) -> Job:
    """A member as what the engine takes."""
    name, prompt, output, prefilled = member
    return Job(Request(name, place, arrival_ns, prompt, output, prefilled=prefilled), oracle=output)
