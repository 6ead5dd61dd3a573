"""Samplers of FCFS queues in numpy: many independent paths in lockstep, started from the stationary law.

A path follows Lindley's recursion (1952) with one server and that of Kiefer and Wolfowitz (1955) with several.
One step moves all paths by one customer, so numpy's loops run over paths. A path that starts empty would be
biased; here the first customer of each finds the queue as a customer in the long run does:

* M/G/1: a geometric number of residual services (Pollaczek-Khinchine as a compound sum), exact;
* GI/M/1: an atom 1 - sigma, else exponential, exact;
* M/M/c: Erlang's law of the customers present; memoryless residuals, exact;
* anything else: customers are dropped first, see `warmup`.

Memory is constant: chunks are handed out and used again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labkit.theory.queueing import MMc, load
from labkit.theory.queueing_general import GIM1
from labkit.theory.queueing_laws import Floats, Law

PATHS, STEPS = 8192, 16  # a chunk stays in the cache; shorter rows would pay numpy's overhead
MOST_WARMUP = 1_000_000


def fifo(
    gap: Law,
    service: Law,
    rng: np.random.Generator,
    *,
    servers: int = 1,
    persistence: float = 0.0,
    paths: int = PATHS,
    steps: int = STEPS,
) -> Iterator[tuple[Floats, Floats]]:
    """Waits and sojourns in s of the next `steps` customers of each path, shape (steps, paths), without end.

    The arrays are used again: copy what you keep. `persistence`: each service repeats the one before with this
    probability, which keeps its law and makes it correlated (lag-k correlation persistence^k).

    Raises:
        ValueError: rho >= 1 (see `growth`), `persistence` outside [0, 1), or an exact start does not exist and
            the warm-up would be longer than a million customers a path.
    """
    load(1 / gap.mean, 1 / service.mean, servers)
    if not 0 <= persistence < 1:
        raise ValueError(f"persistence: given {persistence!r}, expected a number from 0 to below 1")
    free = stationary(gap, service, servers, rng, paths) if not persistence else None
    dropped = 0
    if free is None:
        dropped = -(-warmup(gap, service, servers, persistence) // steps)
        free = np.zeros((servers, paths))
    chunks = _chunks(gap, service, rng, free, persistence, steps)
    for _ in range(dropped):
        next(chunks)
    yield from chunks


def growth(
    gap: Law, service: Law, rng: np.random.Generator, *, paths: int, steps: int
) -> Iterator[tuple[Floats, Floats]]:
    """The same with one server from empty and without warm-up, for any rho: how the queue fills where rho >= 1."""
    return _chunks(gap, service, rng, np.zeros((1, paths)), 0.0, steps)


def warmup(gap: Law, service: Law, servers: int = 1, persistence: float = 0.0) -> int:
    """Customers that a path drops where no exact start is known: ten relaxation times of heavy traffic.

    In diffusion an excess dies out with rate (1 - rho)^2/(2 c) a customer, c = c_a^2 + c_s^2 (1 + p)/(1 - p) and
    p the persistence; ten times leave e^-10 = 0.005 % of it. Services without a third moment forget more slowly
    than any such time: for M/G/1, where the start is exact, nothing is dropped.

    Raises:
        ValueError: it would be over a million.
    """
    rho = load(1 / gap.mean, 1 / service.mean, servers)
    noise = gap.scv + service.scv * (1 + persistence) / (1 - persistence)
    needed = math.ceil(10 * max(2 * noise, 1.0) / (1 - rho) ** 2) + 10 * servers
    if needed > MOST_WARMUP:
        raise ValueError(f"rho: given {rho:g}, which needs a warm-up of {needed:,} customers; expected less")
    return needed


def stationary(gap: Law, service: Law, servers: int, rng: np.random.Generator, paths: int) -> Floats | None:
    """When each server is free for a customer that arrives now, shape (servers, paths), ascending; s from now.

    None where the exact law is not known.
    """
    if servers > 1:
        return (
            _stationary_mmc(gap, service, servers, rng, paths)
            if gap.memoryless and service.memoryless
            else None
        )
    if gap.memoryless:
        rho = service.mean / gap.mean
        terms = rng.geometric(1 - rho, paths) - 1
        parts = service.residual(rng, (int(terms.sum()),))
        ends = np.cumsum(terms)
        sums = np.concatenate([[0.0], np.cumsum(parts)])
        compound: Floats = (sums[ends] - sums[ends - terms])[None, :]
        return compound
    if service.memoryless and gap.transform is not None:
        queue = GIM1(gap, 1 / service.mean)
        busy = rng.random((1, paths)) < queue.sigma
        wait: Floats = np.where(busy, rng.exponential(queue.mean_sojourn, (1, paths)), 0.0)
        return wait
    return None


def _stationary_mmc(gap: Law, service: Law, servers: int, rng: np.random.Generator, paths: int) -> Floats:
    """With a wait w > 0 one server is free in w and the others, memoryless, an exponential time later each.

    Without a wait n < c are busy, with Poisson weights a^n/n! (PASTA).
    """
    queue = MMc(1 / gap.mean, 1 / service.mean, servers)
    offered = service.mean / gap.mean
    weights = np.array([offered**n / math.factorial(n) for n in range(servers)])
    busy = rng.choice(servers, size=paths, p=weights / weights.sum())
    waits = rng.random(paths) < queue.wait_probability
    wait = np.where(waits, rng.exponential(1 / queue.drain, paths), 0.0)
    busy = np.where(waits, servers - 1, busy)
    left = rng.exponential(service.mean, (servers, paths))
    free: Floats = wait + np.where(np.arange(servers)[:, None] < busy, left, 0.0)
    free.sort(axis=0)
    return free


def _chunks(
    gap: Law, service: Law, rng: np.random.Generator, free: Floats, persistence: float, steps: int
) -> Iterator[tuple[Floats, Floats]]:
    servers, paths = free.shape
    waits, sojourns = np.empty((2, steps, paths))
    nothing, spare, clock = np.zeros(paths), np.empty(paths), np.empty(paths)
    before: Floats | None = None
    while True:
        gaps, services = gap.draw(rng, (steps, paths)), service.draw(rng, (steps, paths))
        if persistence:
            before = _repeat(services, before, rng.random((steps, paths)) < persistence)
        if servers == 1:
            waits[0] = free[0]
            for i in range(steps):
                following = waits[i + 1] if i + 1 < steps else free[0]
                np.add(waits[i], services[i], out=sojourns[i])
                np.subtract(sojourns[i], gaps[i], out=following)
                np.maximum(following, nothing, out=following)
        else:
            clock[:] = 0.0  # times count from the chunk's first arrival, so that digits don't wear off
            for i in range(steps):
                wait, sojourn = waits[i], sojourns[i]
                np.subtract(free[0], clock, out=wait)
                np.maximum(wait, nothing, out=wait)
                np.add(wait, services[i], out=sojourn)
                np.add(clock, sojourn, out=spare)  # when this customer's server is free again, put in order
                for k in range(1, servers):
                    np.minimum(spare, free[k], out=free[k - 1])
                    np.maximum(spare, free[k], out=spare)
                free[-1] = spare
                clock += gaps[i]
            free -= clock
        yield waits, sojourns


def _repeat(services: Floats, before: Floats | None, again: NDArray[np.bool_]) -> Floats:
    """Let each service where `again` is true be the one before it on its path; the last row, for the next chunk."""
    if before is not None:
        np.copyto(services[0], before, where=again[0])
    for i in range(1, len(services)):
        np.copyto(services[i], services[i - 1], where=again[i])
    last: Floats = services[-1].copy()
    return last
