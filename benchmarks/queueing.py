"""Customers a second of M/M/1 and M/M/8 beside simpy and ciw, in turns.

Each gives the same: the mean and the p99 of the sojourns of its customers, first come, first served, at rho = 0.8.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from benchmarks import timing
from labkit.theory.queueing import MMc
from labkit.theory.queueing_counts import Tally
from labkit.theory.queueing_laws import exponential, generator
from labkit.theory.queueing_samples import PATHS, STEPS, fifo

RHO = 0.8
AIMS = {1: (400, 1_000), 8: (100, 400)}  # servers: times simpy, due and wanted
CHUNKS, SIMPY, CIW = 150, 30_000, 10_000  # chunks and customers a turn: a quarter of a second or so each
Figures = tuple[int, float, float]  # customers, mean, p99


def ours(servers: int, chunks: int, seed: int) -> Figures:
    """The lockstep sampler, stationary from the first customer."""
    sampler = fifo(exponential(1 / (RHO * servers)), exponential(1.0), generator(seed), servers=servers)
    tally = Tally()
    for _, sojourns in islice(sampler, chunks):
        tally.add(sojourns)
    return tally.count, tally.mean, tally.quantile(0.99)


def with_simpy(servers: int, customers: int, seed: int) -> Figures:
    """simpy as its tutorial has it: a process for each customer, one resource."""
    import simpy

    rng = random.Random(seed)
    env = simpy.Environment()
    desk = simpy.Resource(env, servers)
    sojourns: list[float] = []

    def customer() -> Any:
        came = env.now
        with desk.request() as turn:
            yield turn
            yield env.timeout(rng.expovariate(1.0))
        sojourns.append(env.now - came)

    def door() -> Any:
        for _ in range(customers):
            yield env.timeout(rng.expovariate(RHO * servers))
            env.process(customer())

    env.process(door())
    env.run()
    return _figures(sojourns)


def with_ciw(servers: int, customers: int, seed: int) -> Figures:
    """ciw: a network of one node, until so many customers have left."""
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RHO * servers)],
        service_distributions=[ciw.dists.Exponential(rate=1.0)],
        number_of_servers=[servers],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(customers)
    return _figures([record.exit_date - record.arrival_date for record in simulation.get_all_records()])


def _figures(sojourns: list[float]) -> Figures:
    times = np.array(sojourns)
    return times.size, float(times.mean()), float(np.quantile(times, 0.99))


def _timed(run: Callable[[], Figures]) -> tuple[float, Figures]:
    started = time.perf_counter()
    figures = run()
    return time.perf_counter() - started, figures


def measure(repeats: int, chunks: int = CHUNKS, simpy: int = SIMPY, ciw: int = CIW) -> dict[str, Any]:
    """All three at one and at eight servers; without simpy or ciw only why it is left out."""
    try:
        import ciw as _ciw  # noqa: F401
        import simpy as _simpy  # noqa: F401
    except ModuleNotFoundError as missing:
        return {"left_out": f"it needs {missing.name}: pip install simpy ciw"}
    rows = []
    for servers in AIMS:
        runs = {
            "labkit": partial(ours, servers, chunks, 1),
            "simpy": partial(with_simpy, servers, simpy, 1),
            "ciw": partial(with_ciw, servers, ciw, 1),
        }
        ours(servers, 2, 0)  # what numpy loads at first use
        found = timing.interleaved({name: partial(_timed, run) for name, run in runs.items()}, repeats)
        speeds = {name: [figures[0] / took for took, figures in turns] for name, turns in found.items()}
        rows.append(_row(servers, found, speeds))
    return {"rho": RHO, "paths": PATHS, "steps": STEPS, "rows": rows}


def _row(servers: int, found: dict[str, Any], speeds: dict[str, list[float]]) -> dict[str, Any]:
    law = MMc(RHO * servers, 1.0, servers)
    peers = {
        name: {
            "customers": turns[0][1][0],
            "mean": turns[0][1][1],
            "p99": turns[0][1][2],
            "customers_per_second": timing.spread(speeds[name]),
            "of_simpy": timing.ratios(speeds[name], speeds["simpy"]),
        }
        for name, turns in found.items()
    }
    return {
        "servers": servers,
        "aims_of_simpy": AIMS[servers],
        "exact_mean": law.mean_sojourn,
        "exact_p99": law.sojourn_quantile(0.99),
        "peers": peers,
    }


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    if "left_out" in result:
        return [f"left out: {result['left_out']}"]
    table = [["queue, sampler", "customers/s (least to greatest)", "times simpy", "mean", "p99", "customers"]]
    for row in result["rows"]:
        queue = f"M/M/{row['servers']}"
        for name, peer in row["peers"].items():
            table.append([
                f"{queue} {name}",
                timing.between(peer["customers_per_second"], ",.0f"),
                timing.between(peer["of_simpy"], ",.1f"),
                f"{peer['mean']:.3f}", f"{peer['p99']:.2f}", f"{peer['customers']:,}",
            ])  # fmt: skip
        due, wanted = row["aims_of_simpy"]
        aims = f"due {due:,}, wanted {wanted:,}"
        table.append([f"{queue} exact", "", aims, f"{row['exact_mean']:.3f}", f"{row['exact_p99']:.2f}", ""])
    return timing.columns(table)
