"""Open and closed loops: exact where they are exact, means within stated bounds where they are random."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from statistics import fmean, stdev

import pytest

from labkit.core.types import Job
from labkit.workload import Source
from labkit.workload.arrivals import Arrivals, bound_of
from labkit.workload.closed_loop import ClosedLoop
from labkit.workload.listed import Listed
from labkit.workload.random_laws import Fixed, Geometric, Lognormal, Uniform, gamma, stream, unit

N = 20_000
SIGMAS = 4.5  # the chance that a right law misses a bound of so many standard errors is under 1 in 100,000


def drain(source: Source) -> list[Job]:
    """All jobs; `peek` tells each arrival."""
    jobs = []
    while (at := source.peek()) is not None:
        jobs.append(source.take())
        assert jobs[-1].request.arrival_ns == at
    with pytest.raises(LookupError):
        source.take()
    return jobs


def arrivals(**changes) -> list[Job]:
    options = {"process": "poisson", "rate": Fraction(5), "count": 50, "seed": 1}
    return drain(Arrivals(**{**options, "prompt": Uniform(10, 20), "output": Geometric(8.0), **changes}))


def assert_mean(values: list[float], mean: float) -> None:
    """The sample mean is within SIGMAS standard errors of the law's."""
    error = stdev(values) / math.sqrt(len(values))
    assert abs(fmean(values) - mean) < SIGMAS * error


def test_fixed_arrivals_do_not_drift():
    times = [job.request.arrival_ns for job in arrivals(process="fixed", rate=Fraction(3), count=7)]
    assert times == [0, 333333333, 666666667, 1000000000, 1333333333, 1666666667, 2000000000]


def test_ids_places_and_bounds():
    jobs = arrivals(count=30, bound=Fraction(3, 2))
    assert [job.request.id for job in jobs] == [f"r{i}" for i in range(30)]
    assert [job.request.place for job in jobs] == list(range(30))
    for job in jobs:
        assert job.request.max_output_tokens == math.ceil(1.5 * job.oracle)
    jobs = arrivals(count=30, bound=Fraction(1, 2))
    assert all(job.oracle == job.request.max_output_tokens for job in jobs)
    assert (bound_of(1, Fraction(1, 100)), bound_of(3, Fraction(1, 3)), bound_of(4, Fraction(1, 3))) == (
        1,
        1,
        2,
    )


@pytest.mark.parametrize(("process", "shape"), [("poisson", 1), ("gamma", 0.25), ("gamma", 4)])
def test_gaps_have_the_rate_and_the_burstiness(process, shape):
    jobs = arrivals(process=process, rate=Fraction(4), count=N, burstiness=float(shape))
    times = [0, *(job.request.arrival_ns for job in jobs)]
    gaps = [(late - early) / 1e9 for early, late in itertools.pairwise(times)]
    assert_mean(gaps, 0.25)
    # Var of a gamma law with mean m and shape k is m²/k.
    assert_mean([(gap - 0.25) ** 2 for gap in gaps], 0.25**2 / shape)


def test_gamma_of_shape_1_is_poisson_number_for_number():
    assert arrivals(process="gamma", burstiness=1.0) == arrivals()


def test_streams_are_apart():
    """Changing one law leaves the others' numbers alone."""
    base, other = arrivals(), arrivals(prompt=Lognormal(100.0, 1.0))
    assert [j.request.arrival_ns for j in base] == [j.request.arrival_ns for j in other]
    assert [j.oracle for j in base] == [j.oracle for j in other]
    assert [j.request.prompt_tokens for j in base] != [j.request.prompt_tokens for j in other]
    faster = arrivals(process="gamma", burstiness=0.5)
    assert [j.request.prompt_tokens for j in base] == [j.request.prompt_tokens for j in faster]
    assert arrivals(seed=2) != base
    assert arrivals(count=20) == base[:20]


@pytest.mark.parametrize(
    ("law", "mean"),
    [
        (Uniform(3, 9), 6),
        (Geometric(7.5), 7.5),
        (Geometric(1.0), 1),
        (Lognormal(200.0, 0.5), 200 * math.exp(0.125)),
        (Fixed(4), 4),
    ],
)
def test_means_of_lengths(law, mean):
    rng = stream(11, "lengths")
    values = [law.draw(rng) for _ in range(N)]
    assert min(values) >= 1
    if len(set(values)) == 1:
        assert values[0] == mean
    else:
        assert_mean([float(value) for value in values], mean)


def test_uniform_takes_every_value_equally():
    rng = stream(5)
    counts = [0] * 4
    for _ in range(N):
        counts[Uniform(1, 4).draw(rng) - 1] += 1
    chi_squared = sum((count - N / 4) ** 2 / (N / 4) for count in counts)
    assert chi_squared < 27.9  # 3 degrees of freedom, 1 in 250,000
    assert {Uniform(2**24 - 1, 2**24).draw(rng) for _ in range(200)} == {2**24 - 1, 2**24}


def test_geometric_is_memoryless():
    rng = stream(6)
    values = [Geometric(4.0).draw(rng) for _ in range(N)]
    assert_mean([float(value > 1) for value in values], 0.75)
    assert_mean([float(value > 3) for value in values if value > 2], 0.75)


class Bits(random.Random):
    """A generator that gives the extreme of its range."""

    def __init__(self, ones: bool) -> None:
        super().__init__(0)
        self.ones = ones

    def getrandbits(self, k: int) -> int:
        return (1 << k) - 1 if self.ones else 0


@pytest.mark.parametrize("ones", [False, True])
def test_extreme_numbers_give_finite_lengths(ones):
    rng = Bits(ones)
    assert 0 < unit(rng) < 1
    for law in (Uniform(1, 3), Geometric(1e9), Lognormal(1e9, 20.0), Lognormal(1e-9, 20.0)):
        assert 1 <= law.draw(rng) <= 2**24


def test_gamma_stays_finite_for_odd_shapes():
    rng = stream(3)
    for shape in (1e-6, 0.01, 100.0, 1e9):
        assert all(0 <= gamma(rng, shape) < math.inf for _ in range(100))


def loop(**changes) -> ClosedLoop:
    options = {"users": 2, "think_ns": 5, "count": 5, "seed": 1}
    return ClosedLoop(**{**options, "prompt": Uniform(1, 1000), "output": Uniform(1, 1000), **changes})


def test_a_user_sends_after_thinking():
    source = loop()
    assert [source.take().request.id, source.take().request.id] == ["u0-0", "u1-0"]
    assert source.peek() is None
    source.notify_end("u1-0", 100)
    source.notify_end("u0-0", 40)
    assert source.peek() == 45
    jobs = [source.take(), source.take()]
    assert [(j.request.id, j.request.arrival_ns, j.request.place) for j in jobs] == [
        ("u0-1", 45, 2),
        ("u1-1", 105, 3),
    ]
    source.notify_end("u1-1", 200)
    source.notify_end("u0-1", 199)
    assert source.take().request.id == "u0-2"
    assert source.peek() is None  # five are sent: u1 has to stop
    with pytest.raises(LookupError):
        source.take()


def test_ties_go_by_user_and_count_may_be_less_than_users():
    source = loop(users=3, count=4, think_ns=0)
    for _ in range(3):
        source.take()
    source.notify_end("u2-0", 7)
    source.notify_end("u1-0", 7)
    assert source.take().request.id == "u1-1"
    assert source.peek() is None
    few = loop(users=10**15, count=2)
    assert [few.take().request.id, few.take().request.id] == ["u0-0", "u1-0"]
    assert few.peek() is None


def test_lengths_of_a_closed_loop_do_not_depend_on_the_schedule():
    def lengths(ends: list[tuple[str, int]]) -> dict[str, tuple[int, object]]:
        source, found = loop(count=4), {}
        for name, at in [("", 0), ("", 0), *ends]:
            if name:
                source.notify_end(name, at)
            job = source.take()
            found[job.request.id] = (job.request.prompt_tokens, job.oracle)
        return found

    assert lengths([("u0-0", 5), ("u1-0", 9)]) == lengths([("u1-0", 5), ("u0-0", 9)])


def test_listed_goes_by_arrival_then_place():
    jobs = arrivals(count=6, process="fixed", rate=Fraction(10))
    shuffled = [jobs[4], jobs[1], jobs[0], jobs[5], jobs[3], jobs[2]]
    assert drain(Listed(shuffled)) == jobs
    assert drain(Listed([])) == []
