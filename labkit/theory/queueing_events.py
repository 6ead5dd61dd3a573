"""One server, event by event, in plain Python: orders of service, room and patience that no recursion covers.

A million customers take about two seconds; `queueing_samples` is a hundred times faster where it applies. Both
functions start empty: drop the first customers (`queueing_samples.warmup` says how many).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from labkit.theory.queueing_laws import Law

Order = Literal["fcfs", "lcfs", "priority"]


class Customer(NamedTuple):
    """Gap since the arrival before, service and patience in s, and class: 0 goes before 1 under `priority`."""

    gap: float
    service: float
    patience: float = math.inf
    rank: int = 0


class Fate(NamedTuple):
    """What became of a customer: `end` is served, lost (no room) or left (out of patience); sojourn in s."""

    rank: int
    end: Literal["served", "lost", "left"]
    sojourn: float


def customers(
    gap: Law,
    service: Law,
    rng: np.random.Generator,
    count: int,
    *,
    patience: Law | None = None,
    first_share: float = 0.0,
) -> Iterator[Customer]:
    """`count` customers with independent gaps, services and patience; `first_share` of them have class 0, others 1."""
    block = 4096
    for begin in range(0, count, block):
        shape = (min(block, count - begin),)
        endless = np.full(shape, math.inf)
        columns = (
            gap.draw(rng, shape),
            service.draw(rng, shape),
            endless if patience is None else patience.draw(rng, shape),
            rng.random(shape) >= first_share,
        )
        yield from map(Customer, *(column.tolist() for column in columns))


def line(arriving: Iterable[Customer], order: Order = "fcfs", room: int | None = None) -> Iterator[Fate]:
    """One server that finishes what it has begun, then takes the next by `order`; fates in the order in which
    they are decided.

    `room`: at most so many in the system, the served one included. It is not counted where customers have
    patience: ValueError if both are given.
    """
    sign = -1 if order == "lcfs" else 1
    queue: list[tuple[int, int, float, Customer]] = []  # rank, place, arrival
    free_at = now = 0.0

    def serve_until(time: float) -> Iterator[Fate]:
        nonlocal free_at
        while queue and free_at <= time:
            _, _, arrival, customer = heapq.heappop(queue)
            if free_at - arrival > customer.patience:
                yield Fate(customer.rank, "left", customer.patience)
            else:
                free_at += customer.service
                yield Fate(customer.rank, "served", free_at - arrival)

    for place, customer in enumerate(arriving):
        if room is not None and customer.patience != math.inf:
            raise ValueError("room: given together with patience, expected one of the two")
        now += customer.gap
        yield from serve_until(now)
        if free_at <= now:
            free_at = now + customer.service
            yield Fate(customer.rank, "served", customer.service)
        elif room is not None and len(queue) + 1 >= room:
            yield Fate(customer.rank, "lost", 0.0)
        else:
            rank = customer.rank if order == "priority" else 0
            heapq.heappush(queue, (rank, sign * place, now, customer))
    yield from serve_until(math.inf)


def sharing(arriving: Iterable[Customer]) -> Iterator[Fate]:
    """Processor sharing: all present are served at once, each at 1/n of the speed.

    In virtual time, which runs at 1/n, a customer that comes at v with service s ends at v + s, so the ends lie in
    a heap and nothing is updated between.
    """
    present: list[tuple[float, int, float, int]] = []  # virtual end, place, arrival, rank
    now = virtual = 0.0

    def run_until(time: float) -> Iterator[Fate]:
        nonlocal now, virtual
        while present and now + (present[0][0] - virtual) * len(present) <= time:
            end, _, arrival, rank = present[0]
            now += (end - virtual) * len(present)
            virtual = end
            heapq.heappop(present)
            yield Fate(rank, "served", now - arrival)
        if present:
            virtual += (time - now) / len(present)
        else:
            virtual = 0.0  # digits don't wear off
        now = time

    for place, customer in enumerate(arriving):
        yield from run_until(now + customer.gap)
        heapq.heappush(present, (virtual + customer.service, place, now, customer.rank))
    yield from run_until(math.inf)
