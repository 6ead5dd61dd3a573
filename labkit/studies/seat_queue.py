"""C18: what M/M/1 says of a batching engine, beside what the engine does.

An offline run fills 32 seats with outputs of 32 tokens on average, 10 ms a round, and finds 100 requests a second. Put
into E31.13 as mu, this predicts a tail. The engine's own tail is another: a request needs its rounds, however empty the
seats beside it are, so the prediction errs most where the load is low. Two exact laws tell why: M/M/32 with 100/32
a second for each seat, and the same in rounds (`theory.queueing_rounds`), which is the engine's own law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.core.errors import InputError
from labkit.core.types import NS_PER_SECOND
from labkit.measure.result import ResultFold, Trace
from labkit.scenario.load import load
from labkit.scenario.run import stream
from labkit.theory.queueing import MM1, MMc
from labkit.theory.queueing_counts import Estimate, Tally, of_tallies
from labkit.theory.queueing_rounds import SeatRounds

RATES = (20.0, 40.0, 60.0, 80.0, 90.0, 95.0)
P99 = 0.99
BUFFER = 4096


@dataclass(frozen=True)
class Seats:
    """The engine of the study: seats, seconds of a round whatever its size, and outputs' mean in tokens."""

    seats: int = 32
    round_seconds: float = 0.01
    mean_tokens: float = 32.0

    @property
    def offline_rate(self) -> float:
        """Requests a second with every seat busy: what is taken for mu."""
        return self.seats / (self.mean_tokens * self.round_seconds)

    def scenario(self, arrival_rate: float, requests: int, seed: int) -> dict[str, Any]:
        """A scenario document: Poisson arrivals, prompts of one token, geometric outputs, FCFS, memory without end."""
        seconds = {str(size): self.round_seconds for size in range(1, self.seats + 1)}
        return {
            "schema": "labkit.scenario/1",
            "title": f"{self.seats} seats, {arrival_rate:g} requests a second",
            "budget": {"tokens": max(512, self.seats), "seats": self.seats, "kv_bytes": None},
            "cost": {"kind": "table", "seconds": seconds},
            "arrivals": {
                "process": "poisson",
                "rate": arrival_rate,
                "count": requests,
                "seed": seed,
                "prompt": {"kind": "fixed", "value": 1},
                "output": {"kind": "geometric", "mean": self.mean_tokens},
            },
        }

    def law(self, arrival_rate: float) -> SeatRounds:
        """The exact law of what the engine does."""
        return SeatRounds(arrival_rate, self.seats, self.round_seconds, self.mean_tokens)

    def warmup(self, arrival_rate: float) -> int:
        """Requests that a run from empty drops: four times those in which, in heavy traffic, an excess falls to 1/e,
        2 c/(1 - rho)^2 with c = 1 + (1 - p), and those of ten mean outputs.
        """
        noise = 2 - 1 / self.mean_tokens
        rho = arrival_rate / self.offline_rate
        outputs = 10 * arrival_rate * self.mean_tokens * self.round_seconds
        return math.ceil(4 * 2 * noise / (1 - rho) ** 2 + outputs)


@dataclass(frozen=True)
class Load:
    """Mean and p99 of the sojourn at one arrival rate, in s: M/M/1's prediction, M/M/32's, the exact law, and the
    engine's with 95 % intervals.
    """

    arrival_rate_per_s: float
    predicted_mean_s: float
    predicted_p99_s: float
    servers_mean_s: float
    servers_p99_s: float
    exact_mean_s: float
    exact_p99_s: float
    measured_mean_s: Estimate
    measured_p99_s: Estimate


def seat_queue(
    arrival_rates: Sequence[float] = RATES,
    *,
    engine: Seats | None = None,
    requests: int = 4_000,
    replications: int = 5,
    seed: int = 1,
    warmup: int | None = None,
) -> list[Load]:
    """Predicted and measured tails at each rate. Of every one of `replications` runs `requests` are counted, after
    `warmup` others (default: `Seats.warmup`); at the defaults half a minute. Near the offline rate the warm-up grows
    with 1/(1 - rho)^2. Without any, a short run there looks better than M/M/1 says: its queue is still filling.
    All rates use the same seeds (common random numbers): what chance does to one it does to its neighbours.

    Raises:
        InputError: a rate is not over 0 and below the offline rate, or a count is too small.
    """
    engine = engine or Seats()

    def runs(rate: float) -> list[Tally]:
        return measure(engine, rate, requests=requests, replications=replications, seed=seed, warmup=warmup)

    return [_load(engine, rate, runs(rate)) for rate in _checked(engine, arrival_rates)]


def measure(
    engine: Seats,
    arrival_rate: float,
    *,
    requests: int,
    replications: int,
    seed: int,
    warmup: int | None = None,
) -> list[Tally]:
    """The engine's sojourns in s, a tally for each independent run; memory is flat.

    Raises:
        InputError: a rate or a count is out of range.
    """
    _checked(engine, [arrival_rate])
    if requests < 100 or replications < 2:
        raise InputError(
            f"seat_queue: given {requests} requests and {replications} replications, expected at least 100 and 2"
        )
    dropped = engine.warmup(arrival_rate) if warmup is None else warmup
    documents = (
        engine.scenario(arrival_rate, dropped + requests, seed + replication)
        for replication in range(replications)
    )
    return [engine_sojourns(document, dropped) for document in documents]


def engine_sojourns(document: dict[str, Any], dropped: int = 0) -> Tally:
    """Run a scenario with `arrivals` on the virtual clock; count sojourns in s but for the first `dropped` requests.

    Raises:
        InputError: the scenario is wrong.
    """
    tally, waiting = Tally(), list[int]()

    def over(trace: Trace) -> None:
        if int(trace.id[1:]) >= dropped:  # `arrivals` names them r0, r1, ...
            assert trace.end is not None
            waiting.append(trace.end - trace.arrival)
            if len(waiting) == BUFFER:
                flush()

    def flush() -> None:
        tally.add(np.array(waiting, dtype=float) / NS_PER_SECOND)
        waiting.clear()

    stream(load(document), ResultFold(full=False, on_end=over).feed)
    flush()
    return tally


def tails(
    arrival_rate: float,
    times_s: Sequence[float],
    *,
    engine: Seats | None = None,
    requests: int = 10_000,
    replications: int = 5,
    seed: int = 1,
) -> dict[str, list[tuple[float, float] | tuple[float, Estimate]]]:
    """Pr(T > t) at each t: `predicted` by M/M/1, `exact` for rounds and seats, and `measured` (with intervals).

    Raises:
        InputError: a rate or a count is out of range.
    """
    engine = engine or Seats()
    tallies = measure(engine, arrival_rate, requests=requests, replications=replications, seed=seed)
    _, _, measured = of_tallies(tallies, quantiles=(), tails=times_s)
    law, predicted = engine.law(arrival_rate), MM1(arrival_rate, engine.offline_rate)
    return {
        "predicted": [(t, predicted.sojourn_tail(t)) for t in times_s],
        "exact": [(t, law.sojourn_tail(t)) for t in times_s],
        "measured": [(t, measured[t]) for t in times_s],
    }


def crossing(p: float = P99, *, engine: Seats | None = None, highest: float = 0.998) -> float | None:
    """The arrival rate at which M/M/1's p-quantile meets the exact law's: too small below it, too large above.

    At the defaults 99.7/s, and above it M/M/1 is too large by no more than 2 %: ends of rounds vary a little less than
    exponential services. Half a minute: near saturation the law has ten thousand states.

    None where they don't meet up to `highest` of the offline rate. Found by bisection to 1e-4 of the offline rate.
    """
    engine = engine or Seats()

    def short(share: float) -> bool:
        rate = share * engine.offline_rate
        predicted = MM1(rate, engine.offline_rate).sojourn_quantile(p)
        return predicted < engine.law(rate).sojourn_quantile(p)

    low, high = 0.5, highest
    if short(high):
        return None
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return (low + high) / 2 * engine.offline_rate


def _checked(engine: Seats, rates: Sequence[float]) -> Sequence[float]:
    for rate in rates:
        if not 0 < rate < engine.offline_rate:
            raise InputError(
                f"arrival_rate: given {rate:g}/s, expected more than 0 and less than the {engine.offline_rate:g}/s "
                "that the seats can serve: beyond it the queue grows without end"
            )
    return rates


def _load(engine: Seats, rate: float, tallies: list[Tally]) -> Load:
    mean, levels, _ = of_tallies(tallies)
    one = MM1(rate, engine.offline_rate)
    several = MMc(rate, engine.offline_rate / engine.seats, engine.seats)
    law = engine.law(rate)
    return Load(
        rate,
        one.mean_sojourn,
        one.sojourn_quantile(P99),
        several.mean_sojourn,
        several.sojourn_quantile(P99),
        law.mean_sojourn,
        law.sojourn_quantile(P99),
        mean,
        levels[P99],
    )
