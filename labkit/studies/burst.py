"""A burst, a queue that is bounded or not, and capacity that comes late (C22, N06, section 31.5).

While λ_b arrive and μ_b < λ_b are done a second, the backlog grows by (λ_b − μ_b)τ in τ seconds: a fluid, which
knows nothing of chance. A queue can carry a burst over; what waits at its end is late all the same, unless the
queue was kept so short that whoever is let in is on time.

The server is one seat with geometric service, close to exponential: M/M/1 but for the burst. A request is one round
that computes its prompt, 10 µs a position, 1000 positions in the mean: μ = 100/s.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from labkit.core.types import NS_PER_SECOND
from labkit.measure.intervals import Interval, replications
from labkit.scenario.load import load
from labkit.scenario.repeats import seed_of
from labkit.scenario.run import Event, stream

Document = dict[str, Any]
Segment = tuple[int, int]  # (seconds, requests a second)
Path = list[tuple[Fraction, Fraction]]  # corners (seconds, requests), straight between
MU = 100
BURST: tuple[Segment, ...] = ((40, 95), (60, 120), (200, 95))


def document(segments: Sequence[Segment] = BURST, *, bound: int | None = None, seed: int = 22) -> Document:
    """The scenario: Poisson arrivals at these rates, and at most `bound` that wait (None: any number)."""
    return {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 1 << 24, "seats": 1},
        "policy": {"max_queue": bound},
        "cost": {"kind": "linear", "per_token": 0.00001},
        "arrivals": _arrivals(
            segments, seed, {"kind": "geometric", "mean": 1000}, {"kind": "fixed", "value": 1}
        ),
    }


def _arrivals(segments: Sequence[Segment], seed: int, prompt: Document, output: Document) -> Document:
    parts = [{"for_seconds": seconds, "rate": rate} for seconds, rate in segments]
    return {
        "process": "poisson",
        "segments": parts,
        "count": 10**7,
        "seed": seed,
        "prompt": prompt,
        "output": output,
    }


# ------------------------------------------------------------------------------------------------ queue bounds


@dataclass(frozen=True)
class Outcome:
    """What became of the requests of one run: sent = refused + on_time + late; `longest` waited at once."""

    sent: int
    refused: int
    on_time: int
    late: int
    longest: int

    def share(self, count: int) -> Fraction:
        """Of all that were sent: the refused stay in the denominator (X5)."""
        return Fraction(count, self.sent)


@dataclass(frozen=True)
class Bounded:
    """Runs under one queue bound: each share's mean and 95 % interval over runs (None: one run), and the runs."""

    bound: int | None
    on_time: Interval | None
    late: Interval | None
    refused: Interval | None
    runs: tuple[Outcome, ...]


def outcome(scenario: Document, patience_seconds: Fraction | int = 2) -> Outcome:
    """Run a scenario; on time is who has ended at most `patience_seconds` after it was sent (to the ns)."""
    patience_ns = round(patience_seconds * NS_PER_SECOND)
    sent: dict[str, int] = {}
    counts = {"refused": 0, "on_time": 0, "late": 0}
    total = waiting = longest = now = 0

    def feed(event: Event) -> None:
        nonlocal total, waiting, longest, now
        kind = event["event"]
        if event["t"] > now:
            now, longest = event["t"], max(longest, waiting)
        if kind == "submit":
            sent[event["id"]] = event["t"]
            total += 1
            waiting += 1
        elif kind == "admit":
            waiting -= 1
        elif kind == "reject":
            del sent[event["id"]]
            counts["refused"] += 1
            waiting -= 1
        elif kind == "finish":
            on_time = event["t"] - sent.pop(event["id"]) <= patience_ns
            counts["on_time" if on_time else "late"] += 1

    stream(load(scenario), feed)
    return Outcome(total, **counts, longest=longest)


def lindley(
    sent: Sequence[tuple[int, int]], bound: int | None, patience_seconds: Fraction | int = 2
) -> Outcome:
    """The same without the engine: (arrival, service) in ns through one first-come-first-served seat (Lindley 1952).

    start = max(arrival, end of the last one let in); refused is who comes while the seat is taken and `bound` wait.
    """
    patience_ns = round(patience_seconds * NS_PER_SECOND)
    starts: deque[int] = deque()  # of those who wait
    free = refused = on_time = longest = 0
    for arrival, service in sent:
        while starts and starts[0] <= arrival:
            starts.popleft()
        if free > arrival:
            if bound is not None and len(starts) >= bound:
                refused += 1
                continue
            starts.append(free)
            longest = max(longest, len(starts))
        free = max(free, arrival) + service
        on_time += free - arrival <= patience_ns
    return Outcome(len(sent), refused, on_time, len(sent) - refused - on_time, longest)


def requests(scenario: Document) -> list[tuple[int, int]]:
    """Arrival and service time, in ns, of each request of a `document`: 10 µs a position of its prompt."""
    source, sent = load(scenario).source(), []
    while source.peek() is not None:
        request = source.take().request
        sent.append((request.arrival_ns, request.prompt_tokens * 10_000))
    return sent


def queue_bounds(
    bounds: Iterable[int | None] = (None, 150, 200),
    *,
    runs: int = 20,
    seed: int = 22,
    segments: Sequence[Segment] = BURST,
    patience_seconds: Fraction | int = 2,
) -> list[Bounded]:
    """The burst under each bound, `runs` times with the same seeds: who is on time, who is late, who is refused.

    By `lindley`, which gives what the engine gives (`outcome`) to the request, and a hundred times as fast. A bound
    of patience·μ = 200 looks exact: who finds 199 before it waits 2 s in the *mean*, and so about every second time
    longer. The bound has to leave room for the spread of n services, √n/μ.
    """
    told = []
    seeds = [seed_of(load(document(segments, seed=seed)), run) for run in range(runs)]
    loads = [requests(document(segments, seed=one)) for one in seeds]
    for bound in bounds:
        found = [lindley(sent, bound, patience_seconds) for sent in loads]
        shares = {
            name: replications([one.share(getattr(one, name)) for one in found])
            for name in ("on_time", "late", "refused")
        }
        told.append(Bounded(bound, **shares, runs=tuple(found)))
    return told


# ------------------------------------------------------------------------------------------------ fluid and paths


def fluid(segments: Sequence[Segment], capacity: Sequence[tuple[Fraction | int, Fraction | int]]) -> Path:
    """The fluid backlog: λ(t) − μ(t) a second, never below 0; corners, exact (C22).

    `capacity`: (from when in s, requests a second), the first from 0. What counts is when capacity serves, not when
    it was ordered: a device that is still loading serves nothing.
    """
    starts: list[tuple[Fraction, Fraction]] = []
    at = Fraction(0)
    for seconds, rate in segments:
        starts.append((at, Fraction(rate)))
        at += seconds
    end = at
    cuts = sorted(
        {when for when, _ in starts} | {Fraction(when) for when, _ in capacity if when < end} | {end}
    )
    path: Path = [(Fraction(0), Fraction(0))]
    for begin, stop in pairwise(cuts):
        arriving = [rate for when, rate in starts if when <= begin][-1]
        served = Fraction([mu for when, mu in capacity if when <= begin][-1])
        backlog = path[-1][1]
        slope = arriving - served
        if backlog + slope * (stop - begin) < 0:
            if backlog:
                path.append((begin - backlog / slope, Fraction(0)))
            path.append((stop, Fraction(0)))
        else:
            path.append((stop, backlog + slope * (stop - begin)))
    return path


def in_system(scenario: Document, step_seconds: Fraction | int = 1) -> Path:
    """The number in the system of one run, looked at every `step_seconds` until all have ended."""
    path: Path = []
    level, step_ns = 0, round(step_seconds * NS_PER_SECOND)

    def feed(event: Event) -> None:
        nonlocal level
        while len(path) * step_ns < event["t"]:
            path.append((Fraction(len(path) * step_ns, NS_PER_SECOND), Fraction(level)))
        if event["event"] == "submit":
            level += 1
        elif event["event"] in ("finish", "reject", "expire", "cancel", "fail"):
            level -= 1

    stream(load(scenario), feed)
    return path


def paths(
    segments: Sequence[Segment] = BURST, *, runs: int = 5, seed: int = 22, step_seconds: int = 2
) -> list[Path]:
    """The number in the system of `runs` runs without a bound, to lay under the fluid line."""
    seeds = [seed_of(load(document(segments, seed=seed)), run) for run in range(runs)]
    return [in_system(document(segments, seed=one), step_seconds) for one in seeds]


# ------------------------------------------------------------------------------------------------ late capacity


@dataclass(frozen=True)
class ScaleOut:
    """A second device ordered at the burst's start and serving `delay` s later.

    `believed` is the fluid backlog for one who counts the device from its order, `fluid` from when it serves, `path`
    the number in the system of the engine's run.
    """

    delay: int
    believed: Path
    fluid: Path
    path: Path

    @property
    def peak(self) -> Fraction:
        """The most that were in the system when looked at."""
        return max(level for _, level in self.path)


SURGE: tuple[Segment, ...] = ((10, 80), (40, 150), (20, 80))


def scale_out(
    delays: Iterable[int] = (0, 10, 20),
    *,
    segments: Sequence[Segment] = SURGE,
    seed: int = 22,
    step_seconds: int = 1,
) -> list[ScaleOut]:
    """One seat of μ = 100/s, 80/s with a surge to 150/s, and a second seat ordered as the surge begins.

    Here a request is a few decode rounds of 2.5 ms (geometric, 4 in the mean), whatever the number of busy seats, so
    that two seats do twice as much: what arrives while the second loads, (150 − 100)·delay, has to be made up later.
    """
    ordered = segments[0][0]
    told = []
    for delay in delays:
        scenario = {
            "schema": "labkit.scenario/1",
            "budget": {"tokens": 2, "seats": 1},
            "cost": {"kind": "table", "seconds": {"1": 0.0025, "2": 0.0025}},
            "capacity_changes": [{"at": ordered, "live_at": ordered + delay, "seats": 2}],
            "arrivals": _arrivals(
                segments, seed, {"kind": "fixed", "value": 1}, {"kind": "geometric", "mean": 4}
            ),
        }
        ready = [(0, MU), (ordered + delay, 2 * MU)]
        believed = fluid(segments, [(0, MU), (ordered, 2 * MU)])
        told.append(ScaleOut(delay, believed, fluid(segments, ready), in_system(scenario, step_seconds)))
    return told
