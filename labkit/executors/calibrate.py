"""Fit a cost model to a device: measure a designed set of rounds, solve for the coefficients, test on other rounds.

`LinearCost` has five coefficients (E31.4): `fixed`, `per_token`, `per_pair`, `per_context`, `per_seat`. What a round
costs depends on its shape and not on what the tokens say, so rounds of a chosen shape are run through the executor
itself, its host work included, and timed by the clock that a real run uses. A coefficient is a time and never below
0; squared *relative* errors are minimised, so that short rounds count as much as long ones. The error that is
reported is that on random mixes that the fit has not seen (C13, N08).
"""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from labkit.core.plan import Plan, PlanItem
from labkit.core.types import Job, Request
from labkit.executors.torch_model import TorchExecutor

COEFFICIENTS = ("fixed", "per_token", "per_pair", "per_context", "per_seat")
DIGITS = 6  # significant ones of a fitted coefficient: its error is in the second


class Step(NamedTuple):
    """`new_tokens` (q) after `context` (s) cached positions of one request; one new token is a decode."""

    new_tokens: int
    context: int


Round = tuple[Step, ...]


class Limits(NamedTuple):
    """The rounds that matter: at most `tokens` new positions (B) of `seats` requests (K), each `positions` at most."""

    tokens: int
    seats: int
    positions: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A round's shape and how long it took: the median in ns, and the least and most of its repeats."""

    round: Round
    ns: float
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients in ns, in the order of COEFFICIENTS, and the relative error of each round it has not seen."""

    coefficients: tuple[float, ...]
    errors: tuple[float, ...]

    def ns(self, steps: Round) -> float:
        """How long this round takes by the fit."""
        return float(np.dot(features(steps), self.coefficients))

    @property
    def median_error(self) -> float:
        """Median of |predicted − measured|/measured on the held-out rounds."""
        return statistics.median(self.errors)


def features(steps: Round) -> tuple[int, ...]:
    """What each coefficient multiplies: 1, Σq, Σ(qs + q(q+1)/2), Σs, number of requests (E31.4)."""
    pairs = sum(q * s + q * (q + 1) // 2 for q, s in steps)
    return 1, sum(q for q, _ in steps), pairs, sum(s for _, s in steps), len(steps)


# ------------------------------------------------------------------------------------------- which rounds


def _doubling(most: int) -> list[int]:
    """1, 2, 4, … and `most`."""
    return [*(2**power for power in range(most.bit_length()) if 2**power < most), most]


def designed(limits: Limits) -> list[Round]:
    """Chunk sizes × contexts, batches of decodes × contexts, and both together: each coefficient moves alone."""
    room = limits.positions
    chunk = min(limits.tokens, room)
    contexts = sorted({0, room // 4, room // 2, room})
    chunks = [(Step(q, min(s, room - q)),) for q in _doubling(chunk) for s in contexts]
    decodes = [
        tuple(Step(1, max(1, s - 1)) for _ in range(n))
        for n in _doubling(min(limits.seats, limits.tokens))
        for s in contexts[1:]
    ]
    mixed = [
        (*decode, *piece)
        for decode in decodes[len(contexts) - 1 :: 3]
        for piece in chunks[len(contexts) :: 5]
        if fits(limits, (*decode, *piece))
    ]
    return list(dict.fromkeys([*chunks, *decodes, *mixed]))


def mixes(limits: Limits, count: int, seed: int) -> list[Round]:
    """`count` random rounds: some decodes, some chunks, each with a context of its own."""
    rng = random.Random(f"mixes {seed}")
    found = []
    while len(found) < count:
        seats = rng.randint(1, limits.seats)
        pieces = rng.randint(0, min(3, seats))
        steps = [Step(1, rng.randrange(1, limits.positions)) for _ in range(seats - pieces)]
        for _ in range(pieces):
            q = rng.randint(2, max(2, min(limits.tokens, limits.positions)))
            steps.append(Step(q, rng.randint(0, max(0, limits.positions - q))))
        if fits(limits, tuple(steps)):
            found.append(tuple(steps))
    return found


def fits(limits: Limits, steps: Round) -> bool:
    """The round keeps to the limits (E31.5)."""
    return (
        0 < len(steps) <= limits.seats
        and sum(q for q, _ in steps) <= limits.tokens
        and all(q + s <= limits.positions for q, s in steps)
    )


# ------------------------------------------------------------------------------------------- how long they take


def measure(
    executor: TorchExecutor,
    rounds: Sequence[Round],
    repeats: int = 5,
    seed: int = 0,
    tick: Callable[[], object] = lambda: None,
) -> list[Sample]:
    """Time each round `repeats` times and take its median; all rounds in a new random order each time.

    So a slow minute of the machine falls on all shapes alike. `tick` is called after each timed round. All requests
    of a round lie in the same pages: what they compute means nothing, how long it takes does. Raises ValueError where
    the executor's cache is too small for one of them.
    """
    size = executor.cache.page_tokens
    longest = max(q + s for steps in rounds for q, s in steps)
    if longest > executor.cache.pages * size:
        raise ValueError(f"{executor.cache.pages} pages of {size} are too few for {longest} positions")
    rng = random.Random(f"order {seed}")
    taken: list[list[int]] = [[] for _ in rounds]
    for once in range(repeats + 1):
        for at in rng.sample(range(len(rounds)), len(rounds)):
            spent = _run(executor, rounds[at])
            if once:  # the first time of each shape makes what later times find ready
                taken[at].append(spent)
            tick()
    return [
        Sample(steps, statistics.median(times), min(times), max(times))
        for steps, times in zip(rounds, taken, strict=True)
    ]


def _run(executor: TorchExecutor, steps: Round) -> int:
    """One round of this shape through the executor, in ns."""
    size = executor.cache.page_tokens
    items = []
    for number, (q, s) in enumerate(steps):
        name = f"measured {number}"
        request = Request(name, number, 0, prompt_tokens=q + s, max_output_tokens=1)
        executor.submit(Job(request, oracle=1))
        executor.follow(
            {"event": "admit", "t": 0, "id": name, "epoch": 0, "context": s, "cached": 0, "shared": []}
        )
        pages = [[page, 0] for page in range(-(-(q + s) // size))]
        executor.follow({"event": "pages", "t": 0, "id": name, "epoch": 0, "pages": pages})
        items.append(PlanItem(name, 0, q, s, q > 1, True))
    executor.launch(Plan(now=0, version=0, items=tuple(items)))
    spent = executor.collect().seconds_ns
    for item in items:
        executor.forget(item.id)
    return spent


class Transfers(NamedTuple):
    """A swap transfer in ns: `fixed` + bytes/`bytes_per_ns`, out and in alike (C27)."""

    fixed: float
    bytes_per_ns: float


def measure_transfers(executor: TorchExecutor, repeats: int = 7) -> Transfers:
    """Time copies of 1, 2, 4, … pages to the host and back; a line through their medians.

    There and back are averaged: the cost model has one speed for both.
    """
    cache = executor.cache
    sizes = _doubling(cache.pages)
    times: dict[int, list[float]] = {count: [] for count in sizes}
    for _ in range(repeats):
        for count in sizes:
            times[count].append(out_and_in(executor, count) / 2)
    medians = np.array([statistics.median(times[count]) for count in sizes])
    weighed = np.array([[1.0, count * cache.page_bytes] for count in sizes]) / medians[:, None]
    fixed, per_byte = _least_squares(weighed, np.ones(len(sizes)))
    return Transfers(fixed, 1 / per_byte if per_byte else float("inf"))


def out_and_in(executor: TorchExecutor, count: int) -> int:
    """How long it takes to copy `count` pages to the host and back, in ns (C27)."""
    pages = list(range(count))
    started = _now(executor)
    executor.cache.copy_in(executor.cache.copy_out(pages), pages)
    return _now(executor) - started


def _now(executor: TorchExecutor) -> int:
    """The host's monotonic clock in ns, once the device has done what it was given."""
    if executor.device.type == "cuda":
        torch.cuda.synchronize(executor.device)
    return time.perf_counter_ns()


# ------------------------------------------------------------------------------------------- the fit


def fit(samples: Iterable[Sample], held_out: Iterable[Sample]) -> Fit:
    """The coefficients, none below 0, that fit `samples` best by squared relative error; their error elsewhere."""
    seen = list(samples)
    times = np.array([sample.ns for sample in seen])
    rows = np.array([features(sample.round) for sample in seen], dtype=float) / times[:, None]
    found = Fit(tuple(_least_squares(rows, np.ones(len(seen)))), ())
    errors = tuple(abs(found.ns(sample.round) - sample.ns) / sample.ns for sample in held_out)
    return Fit(found.coefficients, errors)


def _least_squares(rows: np.ndarray, wanted: np.ndarray) -> list[float]:
    """Non-negative least squares, exactly: of all subsets of the columns (31 for five) the best that is allowed."""
    columns = rows.shape[1]
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1
    best, least = np.zeros(columns), float(wanted @ wanted)
    for size in range(1, columns + 1):
        for subset in itertools.combinations(range(columns), size):
            part, *_ = np.linalg.lstsq(rows[:, subset] / scale[list(subset)], wanted, rcond=None)
            left = rows[:, subset] @ (part / scale[list(subset)]) - wanted
            if (part >= 0).all() and float(left @ left) < least:
                best, least = np.zeros(columns), float(left @ left)
                best[list(subset)] = part / scale[list(subset)]
    return [float(value) for value in best]


def cost_file(found: Fit, transfers: Transfers, about: dict[str, Any]) -> dict[str, Any]:
    """A `labkit.cost/1` document: seconds, six digits; `fitted` says where they come from."""
    numbers = dict(zip(COEFFICIENTS, (_digits(ns / 1e9) for ns in found.coefficients), strict=True))
    speed = _digits(transfers.bytes_per_ns * 1e9) if np.isfinite(transfers.bytes_per_ns) else None
    return {
        "schema": "labkit.cost/1",
        "kind": "linear",
        **numbers,
        "swap_bytes_per_second": speed,
        "swap_fixed": _digits(transfers.fixed / 1e9),
        "fitted": about,
    }


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
