"""Preemption for real: what recompute and swap take on this machine, where they cross, and what thrashing costs.

C27 sets C_r, computing L lost positions again, against 2m/b + C_s, moving their m bytes out and back over a link of b
bytes a second. On a machine both are measured here, round for round through the executor, and set beside what a
fitted cost model says. C28 is a run: too many seats on too few pages.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from labkit.core.types import NS_PER_SECOND, RoundCost
from labkit.scenario.real import torch_executor
from labkit.scenario.run import Run, run

if TYPE_CHECKING:
    from labkit.executors.torch_model import TorchExecutor


@dataclass(frozen=True)
class Price:
    """Getting `positions` back into the cache, in seconds: by computing them again, by a swap out and in."""

    positions: int
    recompute: float
    swap: float


def by_formula(
    cost: RoundCost, positions: Iterable[int], page_tokens: int, bytes_per_token: int, chunk: int
) -> list[Price]:
    """C27 by a cost model: `positions` alone in chunks of `chunk` against whole pages moved twice."""
    prices = []
    for count in positions:
        nbytes = -(-count // page_tokens) * page_tokens * bytes_per_token
        again, moved = cost.alone(0, count, 0, chunk), 2 * cost.transfer(nbytes)
        prices.append(Price(count, float(again / NS_PER_SECOND), float(moved / NS_PER_SECOND)))
    return prices


def measured(executor: TorchExecutor, positions: Iterable[int], chunk: int, repeats: int = 5) -> list[Price]:
    """The same on the executor's device: medians of `repeats`, all lengths in turn each time.

    Raises:
        ValueError: the executor's cache is too small for the longest.
    """
    from labkit.executors import calibrate

    lengths = list(positions)
    chunks = {length: _steps(length, chunk) for length in lengths}
    shapes = sorted({step for parts in chunks.values() for step in parts})
    samples = calibrate.measure(executor, [(step,) for step in shapes], repeats)
    each = {sample.round[0]: sample.ns for sample in samples}
    size = executor.cache.page_tokens
    moves: dict[int, list[int]] = {length: [] for length in lengths}
    for _ in range(repeats):
        for length in lengths:
            moves[length].append(calibrate.out_and_in(executor, -(-length // size)))
    return [
        Price(
            length,
            sum(each[step] for step in chunks[length]) / NS_PER_SECOND,
            statistics.median(moves[length]) / NS_PER_SECOND,
        )
        for length in lengths
    ]


def _steps(length: int, chunk: int) -> list[Any]:
    from labkit.executors.calibrate import Step

    return [Step(min(chunk, length - start), start) for start in range(0, length, chunk)]


def crossover(prices: Sequence[Price]) -> int | None:
    """The fewest of the given positions from which on swapping is cheaper for all; None: for none is it."""
    found = None
    for price in sorted(prices, key=lambda price: price.positions, reverse=True):
        if price.swap >= price.recompute:
            break
        found = price.positions
    return found


def link_at_par(price: Price, nbytes: int, swap_fixed: float = 0.0) -> float | None:
    """b in bytes a second at which moving `nbytes` out and back takes as long as the recompute: 2m/(C_r − C_s) (C27).

    On a slower link recompute is cheaper, on a faster one swap. `swap_fixed`: C_s, seconds of both transfers that no
    link shortens; None where they alone take longer than the recompute. A copy inside one machine's memory is seldom
    slow enough to lose; the link between a device and its host, shared with others, may be.
    """
    left = price.recompute - swap_fixed
    return 2 * nbytes / left if left > 0 else None


# ------------------------------------------------------------------------------------------- thrashing (C28)


@dataclass(frozen=True)
class Crowd:
    """What came of a policy: busy share of the makespan, output tokens a second of it, both ratios of C28, the run."""

    name: str
    seats: int
    busy_share: Fraction
    tokens_per_second: Fraction
    recompute_ratio: float
    new_over_executed: Fraction
    preemptions: int
    run: Run


def crowd(
    seats: int,
    policy: Mapping[str, Any],
    *,
    pages: int = 70,
    requests: int = 48,
    prompt: int = 256,
    output: int = 64,
) -> dict[str, Any]:
    """A scenario: `requests` at once, and pages of 16 for hardly four of them; 2 ms + 0.3 ms a token, B 4096."""
    return {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 4096, "seats": seats, "kv_bytes": pages * 16 * 65536},
        "policy": dict(policy),
        "cost": {"kind": "linear", "fixed": 0.002, "per_token": 0.0003},
        "requests": [
            {"id": f"r{n:02}", "arrival": 0.0, "prompt_tokens": prompt, "output_tokens": output}
            for n in range(requests)
        ],
    }


THRASHES = {"admission": "grow", "preemption": "recompute"}
POLICIES: dict[str, tuple[int, dict[str, Any]]] = {
    "grow, 4 seats": (4, THRASHES),
    "grow, 3 seats": (3, THRASHES),
    "reserve": (4, {"admission": "reserve"}),
    "swap": (4, {"admission": "grow", "preemption": "swap", "host_bytes": 1 << 30}),
}


def thrashing(
    *, model: str | None = None, device: str = "auto", dtype: str = "float32", **shape: int
) -> list[Crowd]:
    """The disease and its cures on the same crowd: on the virtual clock, or by the real `model` (C28).

    The fourth seat under grow and recompute loses to the other three, again and again, what it has computed; one seat
    fewer, or a promise at the door, and nothing is lost. `shape`: `pages`, `requests`, `prompt`, `output` of `crowd`.
    Raises InputError as a run does.
    """
    found = []
    for name, (seats, policy) in POLICIES.items():
        document = crowd(seats, policy, **shape)
        if model is None:
            done = run(document)
        else:
            document["budget"] = _in_model(document["budget"], model, device, dtype)
            scenario, executor = torch_executor(document, model=model, device=device, dtype=dtype)
            done = run(scenario, executor=executor)
        found.append(_crowd(name, seats, done))
    return found


def minimum_runs(least: Iterable[int] = (1, 16, 64, 128)) -> list[Crowd]:
    """Ranks that change while requests run: six seats by credit, a tenant a request; each `min_run_tokens` in turn.

    Whoever has run becomes poorer and is the next victim. A minimum run makes that rarer, it does not end it: there
    are still more seats than pages (C28).
    """
    found = []
    for tokens in least:
        document = crowd(
            6,
            {**THRASHES, "order": "credit", "min_run_tokens": tokens},
            pages=40,
            requests=12,
            prompt=64,
            output=200,
        )
        for request in document["requests"]:
            request["tenant"] = request["id"]
        document["tenants"] = {request["id"]: {"max_carry": 100_000} for request in document["requests"]}
        found.append(_crowd(f"minimum run {tokens}", 6, run(document)))
    return found


def _in_model(budget: dict[str, Any], model: str, device: str, dtype: str) -> dict[str, Any]:
    """As many pages in the model's own bytes (N09)."""
    from labkit.scenario.real import open_model

    loaded = open_model(model, device, dtype)
    own = loaded.config.bytes_per_token(next(loaded.model.parameters()).dtype)
    return {**budget, "kv_bytes": budget["kv_bytes"] // 65536 * own, "bytes_per_token": own}


def _crowd(name: str, seats: int, done: Run) -> Crowd:
    events = done.journal[1:]
    rounds = [event for event in events if event["event"] == "round"]
    busy = sum(event["t"] - event["start"] for event in rounds)
    tokens = sum(event["event"] == "token" for event in events)
    end = max(event["t"] for event in rounds)
    executed = sum(item[1] for event in events if event["event"] == "plan" for item in event["items"])
    return Crowd(
        name=name,
        seats=seats,
        busy_share=Fraction(busy, end),
        tokens_per_second=Fraction(tokens * NS_PER_SECOND, end),
        recompute_ratio=done.result["summary"]["recompute_ratio"],
        new_over_executed=Fraction(tokens, executed),
        preemptions=sum(event["event"] == "preempt" for event in events),
        run=done,
    )
