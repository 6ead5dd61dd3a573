"""Open-loop arrivals: requests come when they come, whatever the server does (C30)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Literal

from labkit.core.types import NS_PER_SECOND, Job, Request
from labkit.workload import profile
from labkit.workload.listed import Streamed
from labkit.workload.random_laws import LengthLaw, exponential, gamma, stream

Process = Literal["poisson", "fixed", "gamma"]


def make_job(
    name: str,
    place: int,
    arrival_ns: int,
    prompt: int,
    output: int,
    bound: Fraction,
    patience_ns: int | None = None,
) -> Job:
    """A job of the default tenant whose declared bound is max(1, ⌈bound·output⌉); d − a = `patience_ns`."""
    limit = bound_of(output, bound)
    deadline_ns = None if patience_ns is None else arrival_ns + patience_ns
    request = Request(name, place, arrival_ns, prompt, limit, deadline_ns=deadline_ns)
    return Job(request, oracle=min(output, limit))


def bound_of(output: int, bound: Fraction) -> int:
    """The declared bound of an output of `output` tokens: max(1, ⌈bound·output⌉), at most 2⁵³ − 1."""
    return min(max(1, -(-output * bound.numerator // bound.denominator)), 2**53 - 1)


class Arrivals(Streamed):
    """At most `count` requests `r0`, `r1`, …: poisson, fixed or gamma gaps at `rate` a second, or under `segments`.

    `burstiness` is the shape of the gamma law: 1 is Poisson, smaller is burstier (coefficient of variation
    1/√shape), larger more even. The first request of a random process comes after one gap, of a fixed one at 0.
    Each gap at a constant rate is rounded to ns; fixed arrivals are each rounded from i/rate, so that they do not
    drift. `segments` in place of `rate` bends the same gaps (see `profile`): the load ends with the last segment,
    or starts again where it is to `repeat`. Gaps, prompts and outputs have a stream each: changing the law of one
    leaves the others. `patience_ns`: each deadline less its arrival, d − a (E31.14).
    """

    def __init__(
        self,
        *,
        process: Process,
        rate: Fraction | None = None,
        segments: Sequence[profile.Segment] = (),
        repeat: bool = False,
        count: int,
        seed: int,
        prompt: LengthLaw,
        output: LengthLaw,
        bound: Fraction = Fraction(1),
        burstiness: float = 1.0,
        patience_ns: int | None = None,
    ) -> None:
        if rate is not None:
            times = _times(process, rate, count, seed, burstiness)
        else:
            even: Iterator[float] = itertools.chain((0,), itertools.repeat(1))
            gaps = even if process == "fixed" else iter(_gaps(process, seed, burstiness), None)
            times = itertools.islice(profile.times(segments, gaps, repeat=repeat), count)
        super().__init__(_jobs(times, seed, prompt, output, bound, patience_ns))


def _gaps(process: Process, seed: int, burstiness: float) -> Callable[[], float]:
    """Random gaps of mean 1."""
    rng = stream(seed, "gaps")
    return (lambda: gamma(rng, burstiness)) if process == "gamma" else (lambda: exponential(rng))


def _times(process: Process, rate: Fraction, count: int, seed: int, burstiness: float) -> Iterator[int]:
    if process == "fixed":
        for i in range(count):
            yield round(i * NS_PER_SECOND / rate)
        return
    mean_ns = float(NS_PER_SECOND / rate)
    gap = _gaps(process, seed, burstiness)
    now = 0
    for _ in range(count):
        now += round(mean_ns * gap())
        yield now


def _jobs(
    times: Iterator[int],
    seed: int,
    prompt: LengthLaw,
    output: LengthLaw,
    bound: Fraction,
    patience_ns: int | None,
) -> Iterator[Job]:
    prompts, outputs = stream(seed, "prompts"), stream(seed, "outputs")
    for place, at_ns in enumerate(times):
        lengths = prompt.draw(prompts), output.draw(outputs)
        yield make_job(f"r{place}", place, at_ns, *lengths, bound, patience_ns)
