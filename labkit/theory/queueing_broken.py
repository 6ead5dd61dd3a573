"""N04: what M/M/1 assumes, each assumption broken once, and what changes.

Poisson arrivals, one server, independent exponential services, FCFS, endless room, nobody leaves, rho < 1. Every row
sets the mean and the p99 of T beside M/M/1's at the same rates: sampled with intervals, and exact where a law is
known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from labkit.theory import queueing as exact
from labkit.theory import queueing_events as events
from labkit.theory import queueing_general as general
from labkit.theory import queueing_laws as laws
from labkit.theory import queueing_orders as orders
from labkit.theory import queueing_samples as samples
from labkit.theory.queueing_counts import Estimate, Tally, of_tallies

P99 = 0.99
SERVERS, BURSTY, EXPONENT, PERSISTENCE, FIRST_SHARE, OVERLOAD = 8, 4.0, 2.5, 0.75, 0.5, 1.1


@dataclass(frozen=True)
class Broken:
    """One row. `key`: its name, for a page that says it in another language; `assumption`: the one that is broken;
    `instead`: by what; times in s.

    `mean` and `p99` of T: sampled, of those who are served; `exact_mean` and `exact_p99`: None where no law is
    known; `unserved` and `exact_unserved`: the share that is lost or leaves. `parts`: the same mean by class,
    where there are classes. `mm1_mean`, `mm1_p99`: what M/M/1 says at the same rates, None at rho >= 1,
    where it says nothing.
    """

    key: str
    assumption: str
    instead: str
    mean: Estimate
    p99: Estimate
    exact_mean: float | None
    exact_p99: float | None
    mm1_mean: float | None = None
    mm1_p99: float | None = None
    unserved: float = 0.0
    exact_unserved: float = 0.0
    parts: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class _Setting:
    arrival_rate: float
    service_rate: float
    customers: int
    replications: int
    seed: int

    @property
    def gap(self) -> laws.Law:
        return laws.exponential(1 / self.arrival_rate)

    @property
    def service(self) -> laws.Law:
        return laws.exponential(1 / self.service_rate)


def broken_assumptions(
    utilisation: float = 0.8,
    service_rate: float = 100.0,
    *,
    customers: int = 20_000,
    replications: int = 10,
    seed: int = 1,
) -> list[Broken]:
    """The table of N04 for lambda = rho mu. `customers` of each of `replications` independent runs are counted.

    The last row has rho = 1.1 whatever `utilisation` is: it has no stationary law, so it tells of the first
    `customers`/10 from empty. Intervals: 95 %.

    Raises:
        ValueError: `utilisation` is not between 0 and 1, a count is too small.
    """
    if not 0 < utilisation < 1:
        raise ValueError(f"utilisation: given {utilisation!r}, expected a number between 0 and 1")
    if customers < 1000 or replications < 2:
        raise ValueError(
            f"given {customers} customers and {replications} replications, expected at least 1000 and 2"
        )
    setting = _Setting(utilisation * service_rate, service_rate, customers, replications, seed)
    return list(_rows(setting))


def _rows(s: _Setting) -> Iterator[Broken]:
    lam, mu = s.arrival_rate, s.service_rate
    bursty, even = laws.gamma(1 / lam, BURSTY), laws.deterministic(1 / lam)
    for key, instead, gap in (("bursty", "gamma gaps, c^2 = 4", bursty), ("even", "fixed gaps", even)):
        known = general.GIM1(gap, mu)
        yield _fifo(
            s, key, "Poisson arrivals", instead, known.mean_sojourn, known.sojourn_quantile(P99), gap=gap
        )
    slow = laws.exponential(SERVERS / mu)
    several = exact.MMc(lam, mu / SERVERS, SERVERS)
    yield _fifo(
        s, "several", "one server", f"{SERVERS} of mu/{SERVERS}", several.mean_sojourn, several.sojourn_quantile(P99),
        service=slow, servers=SERVERS,
    )  # fmt: skip
    fixed = general.MD1(lam, mu)
    yield _fifo(
        s, "fixed", "exponential service", "fixed service", fixed.mean_sojourn, fixed.sojourn_quantile(P99),
        service=laws.deterministic(1 / mu),
    )  # fmt: skip
    heavy = laws.pareto(1 / mu, EXPONENT)
    yield _fifo(
        s, "heavy", "exponential service", f"Pareto service, exponent {EXPONENT}",
        general.MG1(lam, heavy).mean_sojourn, None, service=heavy,
    )  # fmt: skip
    yield _fifo(
        s,
        "correlated",
        "independent services",
        f"each repeats the last with {PERSISTENCE}",
        None,
        None,
        persistence=PERSISTENCE,
    )
    shared, last = orders.processor_sharing(lam, mu), orders.LastComeFirstServed(lam, mu).sojourn
    yield _served(
        s, "sharing", "FCFS", "processor sharing", events.sharing, shared.mean, shared.quantile(P99)
    )
    yield _served(
        s, "last_first", "FCFS", "last come, first served", _line("lcfs"), last.mean, last.quantile(P99)
    )
    yield _served(
        s, "priority", "FCFS", "two classes, half go first", _line("priority"), exact.MM1(lam, mu).mean_sojourn, None,
        first_share=FIRST_SHARE, parts=orders.TwoClasses(FIRST_SHARE * lam, (1 - FIRST_SHARE) * lam, mu).mean_waits,
    )  # fmt: skip
    room = orders.FiniteRoom(lam, mu, max(1, round(exact.MM1(lam, mu).mean_customers * 2)))
    yield _served(
        s, "room", "endless room", f"room for {room.room}", _line("fcfs", room.room),
        room.sojourn.mean, room.sojourn.quantile(P99), unserved=room.loss,
    )  # fmt: skip
    patience = orders.Patience(lam, mu, exact.MM1(lam, mu).mean_sojourn * 2)
    yield _served(
        s, "patience", "nobody leaves", "leaves after 2 E[T] on average", _line("fcfs"), patience.served.mean,
        patience.served.quantile(P99), unserved=patience.abandonment, patience=laws.exponential(patience.patience),
    )  # fmt: skip
    yield _overload(s)


def _row(
    s: _Setting,
    key: str,
    assumption: str,
    instead: str,
    tallies: list[Tally],
    mean: float | None,
    p99: float | None,
) -> Broken:
    sampled, levels, _ = of_tallies(tallies)
    model = exact.MM1(s.arrival_rate, s.service_rate)
    return Broken(
        key,
        assumption,
        instead,
        sampled,
        levels[P99],
        mean,
        p99,
        model.mean_sojourn,
        model.sojourn_quantile(P99),
    )


def _fifo(
    s: _Setting,
    key: str,
    assumption: str,
    instead: str,
    mean: float | None,
    p99: float | None,
    *,
    gap: laws.Law | None = None,
    service: laws.Law | None = None,
    servers: int = 1,
    persistence: float = 0.0,
) -> Broken:
    """A row from the lockstep sampler: each replication is a chunk of many short stationary paths."""
    steps = 20
    tallies = []
    for replication in range(s.replications):
        chunks = samples.fifo(
            gap or s.gap, service or s.service, laws.generator(s.seed, replication), servers=servers,
            persistence=persistence, paths=s.customers // steps, steps=steps,
        )  # fmt: skip
        _, sojourns = next(chunks)
        tallies.append(Tally().add(sojourns))
    return _row(s, key, assumption, instead, tallies, mean, p99)


Server = Callable[[Iterable[events.Customer]], Iterator[events.Fate]]


def _line(order: events.Order, room: int | None = None) -> Server:
    return lambda arriving: events.line(arriving, order, room)


def _served(
    s: _Setting,
    key: str,
    assumption: str,
    instead: str,
    server: Server,
    mean: float,
    p99: float | None,
    *,
    unserved: float = 0.0,
    patience: laws.Law | None = None,
    first_share: float = 0.0,
    parts: tuple[float, float] | None = None,
) -> Broken:
    """A row from the event loop; the first customers of each replication are dropped."""
    dropped = samples.warmup(s.gap, s.service)
    tallies, gone, by_class = [], 0, [Tally(), Tally()]
    for replication in range(s.replications):
        rng = laws.generator(s.seed, replication)
        arriving = events.customers(
            s.gap, s.service, rng, dropped + s.customers, patience=patience, first_share=first_share
        )
        fates = list(islice(server(arriving), dropped, None))
        served = [fate for fate in fates if fate.end == "served"]
        gone += len(fates) - len(served)
        tallies.append(Tally().add(np.array([fate.sojourn for fate in served])))
        for rank, tally in enumerate(by_class):
            tally.add(np.array([fate.sojourn for fate in served if fate.rank == rank]))
    row = _row(s, key, assumption, instead, tallies, mean, p99)
    told = () if parts is None else tuple(
        (name, tally.mean, wait + 1 / s.service_rate)
        for name, tally, wait in zip(("first", "second"), by_class, parts, strict=True)
    )  # fmt: skip
    share = gone / (s.replications * s.customers)
    return replace(row, unserved=share, exact_unserved=unserved, parts=told)


def _overload(s: _Setting) -> Broken:
    """rho = 1.1 from empty; the exact mean is that of the first `count`."""
    rho, count = OVERLOAD, s.customers // 10
    gap = laws.exponential(1 / (rho * s.service_rate))
    tallies = []
    for replication in range(s.replications):
        rng = laws.generator(s.seed, replication)
        _, sojourns = next(samples.growth(gap, s.service, rng, paths=10, steps=count))
        tallies.append(Tally().add(sojourns))
    sampled, levels, _ = of_tallies(tallies)
    waits = exact.transient_waits(rho * s.service_rate, s.service_rate, count)
    mean = math.fsum(waits) / count + 1 / s.service_rate
    return Broken(
        "overload",
        "rho < 1",
        f"rho = {rho}, the first {count:,} from empty",
        sampled,
        levels[P99],
        mean,
        None,
    )
