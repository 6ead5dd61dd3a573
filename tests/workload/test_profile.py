"""Bursts and ramps: Λ⁻¹ of a unit-rate process, against Λ computed another way, and against Poisson's own laws."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from statistics import fmean, variance

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.workload.arrivals import Arrivals
from labkit.workload.profile import Segment, times
from labkit.workload.random_laws import Fixed

SECOND = 10**9
SIGMAS = 4.5  # the chance that a right law misses a bound of so many standard errors is under 1 in 100,000


def segments(*parts: tuple[float | str, ...]) -> list[Segment]:
    """(seconds, rate) or (seconds, rate, rate at the end)."""
    return [Segment(Fraction(p[0]), Fraction(p[1]), Fraction(p[-1])) for p in parts]


def arrivals(profile, process="poisson", count=100_000, seed=1, repeat=False, rate=None) -> list[int]:
    source = Arrivals(
        process=process, rate=rate, segments=profile, repeat=repeat, count=count, seed=seed,
        prompt=Fixed(1), output=Fixed(1),
    )  # fmt: skip
    out = []
    while source.peek() is not None:
        out.append(source.take().request.arrival_ns)
    return out


def expected(profile, seconds: float) -> float:
    """Λ(t) by a sum of thin trapezia: the other way round than `Segment.reached`."""
    total, start = 0.0, 0.0
    for part in profile:
        length = min(max(0.0, seconds - start), float(part.seconds))
        slope = float(part.rate_to - part.rate) / float(part.seconds)
        total += length * (float(part.rate) + slope * length / 2)
        start += float(part.seconds)
    return total


def test_even_arrivals_under_a_constant_rate_lie_at_i_over_rate():
    assert arrivals(segments((3, 7)), "fixed") == [round(Fraction(i * SECOND, 7)) for i in range(21)]


def test_a_burst_by_hand():
    """100 a second, then 200, then none for a second, then 50."""
    got = arrivals(segments(("1/10", 100), ("1/20", 200), (1, 0), ("1/25", 50)), "fixed")
    wanted = [10 * i for i in range(10)] + [100 + 5 * i for i in range(10)] + [1150, 1170]
    assert got == [ms * 10**6 for ms in wanted]


def test_a_ramp_by_hand():
    """From 0 to 8 a second in 4 s: Λ(t) = t², so that the i-th of the 16 comes at √i."""
    got = arrivals(segments((4, 0, 8)), "fixed")
    assert got == [round(math.sqrt(i) * SECOND) for i in range(16)]
    down = arrivals(segments((4, 8, 0)), "fixed")
    assert down == [pytest.approx((4 - math.sqrt(16 - i)) * SECOND, abs=2) for i in range(16)]


def test_a_profile_that_repeats_does_so_and_one_that_does_not_ends():
    profile = segments((1, 4), (1, 2, 0))  # five a period
    once = arrivals(profile, "fixed")
    assert len(once) == 5
    assert arrivals(profile, "fixed", count=15, repeat=True) == [
        at + period * 2 * SECOND for period in range(3) for at in once
    ]
    assert arrivals(profile, "fixed", count=3) == once[:3]


def test_whole_periods_are_skipped_at_once():
    begun = time.perf_counter()
    got = arrivals(segments(("1/1000", "1/1000"), ("1/1000", 0)), "fixed", count=3, repeat=True)
    assert time.perf_counter() - begun < 1
    # A millionth of a request every 2 ms: the next one after a million periods.
    assert got == [0, 2000 * SECOND, 4000 * SECOND]


def test_no_arrivals_at_all_are_refused():
    with pytest.raises(ValueError, match="expected a rate over 0"):
        next(times(segments((1, 0)), itertools.repeat(1)))


def test_one_endless_segment_is_the_constant_rate():
    """The same numbers; a constant rate rounds each gap, so that n gaps differ by at most n ns."""
    bent = arrivals(segments((1000, 5)), count=500)
    plain = arrivals((), count=500, rate=Fraction(5))
    assert all(abs(a - b) <= i + 1 for i, (a, b) in enumerate(zip(bent, plain, strict=True)))


def test_the_same_seed_bends_the_same_points():
    """Twice the rate in half the time: each arrival at half its time (common random numbers)."""
    slow = arrivals(segments((10, 3), (10, 1, 9)), seed=4)
    fast = arrivals(segments((5, 6), (5, 2, 18)), seed=4)
    assert len(slow) == len(fast) > 40
    assert all(abs(a - 2 * b) <= 2 for a, b in zip(slow, fast, strict=True))


@pytest.mark.parametrize("process", ["poisson", "gamma"])
def test_gaps_in_expected_arrivals_have_the_law_of_the_process(process):
    """Λ(T_i) − Λ(T_(i−1)) are the unit gaps: mean 1; their variance is 1 for Poisson (shape 1 here for both)."""
    profile = segments((100, 20), (50, 20, 100), (50, 0), (100, 5))
    marks = [0.0, *(expected(profile, at / SECOND) for at in arrivals(profile, process))]
    gaps = [b - a for a, b in itertools.pairwise(marks)]
    n = len(gaps)
    assert abs(fmean(gaps) - 1) < SIGMAS / math.sqrt(n)
    # Var of the sample variance of an exponential: (μ₄ − σ⁴)/n = (9 − 1)/n.
    assert abs(variance(gaps) - 1) < SIGMAS * math.sqrt(8 / n)
    # Kolmogorov–Smirnov against 1 − exp(−x): sup|F_n − F| < 2.4/√n but for 1 in 50,000.
    worst = max(abs((i + 1) / n - (1 - math.exp(-gap))) + 1 / n for i, gap in enumerate(sorted(gaps)))
    assert worst < 2.4 / math.sqrt(n)


def test_counts_in_disjoint_stretches_are_poisson_and_uncorrelated():
    """N of a ramp has mean = variance = Λ, and what one stretch got says nothing of the next (C22)."""
    profile = segments((1, 10, 30), (1, 8))
    pairs = []
    for seed in range(400):
        got = arrivals(profile, seed=seed)
        first = sum(at < SECOND for at in got)
        pairs.append((first, len(got) - first))
    n = len(pairs)
    for counts, mean in (([a for a, _ in pairs], 20), ([b for _, b in pairs], 8)):
        assert abs(fmean(counts) - mean) < SIGMAS * math.sqrt(mean / n)
        # Var of the sample variance of Poisson: (μ₄ − σ⁴)/n with μ₄ = λ + 3λ².
        assert abs(variance(counts) - mean) < SIGMAS * math.sqrt((mean + 2 * mean**2) / n)
    covariance = fmean((a - 20) * (b - 8) for a, b in pairs)
    assert abs(covariance) < SIGMAS * math.sqrt(20 * 8 / n)


parts = st.tuples(
    st.fractions("1/100", 20, max_denominator=100), st.fractions(0, 50, max_denominator=50),
    st.fractions(0, 50, max_denominator=50),
)  # fmt: skip


@given(st.lists(parts, min_size=1, max_size=5), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_arrivals_are_in_order_inside_the_profile_and_where_they_are_expected(given_parts, seed):
    profile = segments(*given_parts)
    if not any(part.arrivals for part in profile):
        return
    end = sum(part.seconds for part in profile)
    got = arrivals(profile, count=200, seed=seed)
    assert got == sorted(got)
    assert all(0 <= at <= end * SECOND + 1 for at in got)
    fixed = arrivals(profile, "fixed", count=200)
    for i, at in enumerate(fixed):
        assert abs(expected(profile, at / SECOND) - i) < 1e-5
    assert len(fixed) == min(200, math.ceil(sum(part.arrivals for part in profile)))
