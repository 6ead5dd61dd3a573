"""E31.13 three times: the formula, a sampler, and the engine with one seat, for one plot of section 31.4.

The engine's lengths are whole tokens, so an exponential service becomes a geometric number of short rounds. What that
changes is known exactly (`theory.queueing_rounds` with one seat): with 1/mu made of m rounds, the mean sojourn is
shorter by rho/(1 - rho)/(2 m mu), and each point's own shift is in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from labkit.core.errors import InputError
from labkit.studies.seat_queue import Seats, measure
from labkit.theory.queueing import MM1
from labkit.theory.queueing_counts import Estimate, Tally, of_tallies
from labkit.theory.queueing_laws import exponential, generator
from labkit.theory.queueing_samples import PATHS, STEPS, fifo


@dataclass(frozen=True)
class TailPoint:
    """Pr(T > time_s): by E31.13, sampled, by the engine, and what the engine's whole rounds make of the formula."""

    time_s: float
    exact: float
    sampled: Estimate
    engine: Estimate
    engine_exact: float


def three_tails(
    arrival_rate: float,
    service_rate: float,
    times_s: Sequence[float],
    *,
    rounds: int = 20,
    customers: int = 2_000_000,
    requests: int = 2_000,
    replications: int = 8,
    seed: int = 1,
) -> list[TailPoint]:
    """Three tails of M/M/1 at the same times. Intervals: 95 %, from `replications` independent runs of each.

    `rounds`: m, how many of the engine's rounds a mean service takes; `customers` in all are sampled, and `requests`
    of each run of the engine are counted.

    Raises:
        InputError: lambda >= mu, a rate is not over 0, or a count is too small.
    """
    if not (service_rate > 0 and rounds >= 2):
        raise InputError(
            f"three_tails: given service_rate {service_rate} and rounds {rounds}, expected > 0 and >= 2"
        )
    engine = Seats(1, 1 / (service_rate * rounds), float(rounds))
    measured = measure(engine, arrival_rate, requests=requests, replications=replications, seed=seed)
    chunks = max(1, round(customers / (replications * PATHS * STEPS)))
    sampled = []
    for replication in range(replications):
        tally = Tally()
        source = fifo(
            exponential(1 / arrival_rate), exponential(1 / service_rate), generator(seed, replication)
        )
        for _, sojourns in islice(source, chunks):
            tally.add(sojourns)
        sampled.append(tally)
    _, _, by_engine = of_tallies(measured, quantiles=(), tails=times_s)
    _, _, by_sampler = of_tallies(sampled, quantiles=(), tails=times_s)
    model, law = MM1(arrival_rate, service_rate), engine.law(arrival_rate)
    return [
        TailPoint(t, model.sojourn_tail(t), by_sampler[t], by_engine[t], law.sojourn_tail(t)) for t in times_s
    ]
