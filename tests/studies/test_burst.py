"""C22: the fluid line by hand, the bounded queue against a simulation of its own, late capacity against the fluid."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from statistics import fmean, stdev

import pytest

from labkit.studies import burst

SMALL = ((2, 80), (3, 130), (4, 80))


def test_the_fluid_line_of_the_burst():
    """(120 − 100)·60 = 1200 at 100 s; then 5/s are won back: 200 are left after 200 s (C22)."""
    assert burst.fluid(burst.BURST, [(0, 100)]) == [(0, 0), (40, 0), (100, 1200), (300, 200)]


def test_a_fluid_that_runs_empty_stays_empty():
    path = burst.fluid(((1, 10), (2, 40), (7, 10)), [(0, 20)])
    assert path == [(0, 0), (1, 0), (3, 40), (7, 0), (10, 0)]


def test_times_need_not_be_whole():
    """10 ms of capacity missing: (100 − 80)/100 = 0.2 are won back in 10 ms."""
    path = burst.fluid(((1, 100),), [(0, 80), (Fraction(1, 100), 120)])
    assert path == [(0, 0), (Fraction(1, 100), Fraction(1, 5)), (Fraction(2, 100), 0), (1, 0)]


def test_capacity_counts_from_when_it_serves():
    """150 against 100 for 10 s: 500; then 150 against 200: empty 10 s later."""
    ready = burst.fluid(burst.SURGE, [(0, 100), (20, 200)])
    assert ready == [(0, 0), (10, 0), (20, 500), (30, 0), (50, 0), (70, 0)]
    assert burst.fluid(burst.SURGE, [(0, 100), (10, 200)])[2:] == [(50, 0), (70, 0)]


@pytest.mark.parametrize("bound", [None, 3, 30])
def test_the_engine_gives_what_a_list_of_ends_gives(bound):
    """To the request: who waits is who started after this one came; so refused, on time and late are counted twice."""
    document = burst.document(SMALL, bound=bound, seed=7)
    sent = burst.requests(document)
    starts: list[int] = []
    ends: list[int] = []
    refused = 0
    for arrival, service in sent:
        if bound is not None and sum(start > arrival for start in starts[-bound - 1 :]) >= bound:
            refused += 1
            continue
        starts.append(max(arrival, ends[-1] if ends else 0))
        ends.append(starts[-1] + service)
    patience = Fraction(1, 10)
    engine = burst.outcome(document, patience)
    assert (engine.sent, engine.refused) == (len(sent), refused)
    assert engine.on_time + engine.late == len(ends)
    assert burst.lindley(sent, bound, patience) == engine
    if bound is not None:
        assert engine.longest == bound


def plain(seed: int, bound: int | None) -> tuple[float, float, float]:
    """The burst with exponential times of Python's own generator: shares on time (2 s), late, refused."""
    luck, now, free = random.Random(seed), 0.0, 0.0
    waiting: list[float] = []  # starts of those who wait
    sent = on_time = late = 0
    while True:
        rate = 120 if 40 <= now < 100 else 95
        now += luck.expovariate(rate)  # memoryless: wrong only in the one gap that holds a change
        if now >= 300:
            return on_time / sent, late / sent, (sent - on_time - late) / sent
        sent += 1
        while waiting and waiting[0] <= now:
            waiting.pop(0)
        if bound is not None and len(waiting) >= bound:
            continue
        if free > now:
            waiting.append(free)
        free = max(free, now) + luck.expovariate(100)
        if free - now <= 2:
            on_time += 1
        else:
            late += 1


@pytest.mark.long
def test_c22_a_queue_of_any_length_is_late_and_an_exact_bound_too():
    """μ = 100/s, 95/s with 60 s of 120/s, 2 s to answer. Means of 20 runs against 20 runs of another simulation.

    Both are random: each mean within 4 standard errors of the difference. The words of the claim: without a bound
    few are on time (16 % is an ordinary run, the mean 20 %), 150 refuses 3.7 % and gets 96 %, 200 leaves 7 % late.
    """
    free, short, exact = burst.queue_bounds(runs=20)
    for told, bound in ((free, None), (short, 150), (exact, 200)):
        other = [plain(seed, bound) for seed in range(20)]
        for place, name in enumerate(("on_time", "late", "refused")):
            mine = [float(one.share(getattr(one, name))) for one in told.runs]
            theirs = [run[place] for run in other]
            error = math.sqrt((stdev(mine) ** 2 + stdev(theirs) ** 2) / 20)
            assert abs(fmean(mine) - fmean(theirs)) <= 4 * error
            assert float(getattr(told, name).mean) == pytest.approx(fmean(mine))
    assert float(free.on_time.mean) < 0.35
    assert max(one.late for one in short.runs) / 30_000 < 0.01
    assert 0.95 < float(short.on_time.mean) < 0.975
    assert 0.03 < float(short.refused.mean) < 0.045
    assert 0.05 < float(exact.late.mean) < 0.09


def test_shares_keep_the_refused_in_the_denominator():
    one = burst.Outcome(sent=200, refused=50, on_time=100, late=50, longest=9)
    assert one.share(one.on_time) == Fraction(1, 2)


def test_what_piles_up_while_a_device_loads():
    """(150 − 100)·4 = 200 when it is live; random around it: Poisson in, geometric service out (CV² = 3/4).

    The standard deviation of what came less what was served in 4 s is √(150·4 + 100·4·3/4) = 30.
    """
    surge = ((1, 80), (6, 150), (2, 80))
    late, at_once = burst.scale_out((4, 0), segments=surge)
    assert max(level for _, level in late.fluid) == 200
    assert max(level for _, level in late.believed) == 0
    assert abs(dict(late.path)[5] - 200) < 4.5 * 30
    assert at_once.peak < 50 < late.peak
