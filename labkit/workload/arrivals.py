"""Open-loop arrivals: requests come when they come, whatever the server does (C30)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Literal

from labkit.core.types import NS_PER_SECOND, Job, Request
from labkit.workload.listed import Streamed
from labkit.workload.random_laws import LengthLaw, exponential, gamma, stream

Process = Literal["poisson", "fixed", "gamma"]


def make_job(name: str, place: int, arrival_ns: int, prompt: int, output: int, bound: Fraction) -> Job:
    """A job of the default tenant whose declared bound is max(1, ⌈bound·output⌉)."""
    limit = bound_of(output, bound)
    return Job(Request(name, place, arrival_ns, prompt, limit), oracle=min(output, limit))


def bound_of(output: int, bound: Fraction) -> int:
    """The declared bound of an output of `output` tokens: max(1, ⌈bound·output⌉), at most 2⁵³ − 1."""
    return min(max(1, -(-output * bound.numerator // bound.denominator)), 2**53 - 1)


class Arrivals(Streamed):
    """`count` requests `r0`, `r1`, … at `rate` a second: poisson, fixed (i/rate from 0 on) or gamma gaps.

    `burstiness` is the shape of the gamma law: 1 is Poisson, smaller is burstier (coefficient of variation
    1/√shape), larger more even. The first request of a random process comes after one gap. Each gap is
    rounded to ns; fixed arrivals are each rounded from i/rate, so that they do not drift. Gaps, prompts and
    outputs have a stream each: changing the law of one leaves the others.
    """

    def __init__(
        self,
        *,
        process: Process,
        rate: Fraction,
        count: int,
        seed: int,
        prompt: LengthLaw,
        output: LengthLaw,
        bound: Fraction = Fraction(1),
        burstiness: float = 1.0,
    ) -> None:
        super().__init__(_jobs(_times(process, rate, count, seed, burstiness), seed, prompt, output, bound))


def _times(process: Process, rate: Fraction, count: int, seed: int, burstiness: float) -> Iterator[int]:
    if process == "fixed":
        for i in range(count):
            yield round(i * NS_PER_SECOND / rate)
        return
    rng = stream(seed, "gaps")
    mean_ns = float(NS_PER_SECOND / rate)
    gap: Callable[[], float] = (
        (lambda: gamma(rng, burstiness)) if process == "gamma" else (lambda: exponential(rng))
    )
    now = 0
    for _ in range(count):
        now += round(mean_ns * gap())
        yield now


def _jobs(
    times: Iterator[int], seed: int, prompt: LengthLaw, output: LengthLaw, bound: Fraction
) -> Iterator[Job]:
    prompts, outputs = stream(seed, "prompts"), stream(seed, "outputs")
    for place, arrival_ns in enumerate(times):
        yield make_job(f"r{place}", place, arrival_ns, prompt.draw(prompts), output.draw(outputs), bound)
