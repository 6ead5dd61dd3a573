"""Intervals: quantiles against closed forms, coverage against theory."""

import math
import random
from fractions import Fraction

import pytest

from labkit.measure.intervals import batch_means, proportion, replications
from labkit.theory.quantiles import student_quantile


@pytest.mark.parametrize("p", [0.6, 0.9, 0.975, 0.995])
def test_students_quantiles_where_they_have_a_closed_form(p):
    """One degree of freedom: tan(π(p − 1/2)). Two: (2p − 1)·√(2/(4p(1 − p)))."""
    assert student_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-12)
    assert student_quantile(p, 2) == pytest.approx((2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p))), rel=1e-12)


def test_students_quantiles_approach_the_normal_and_are_0_at_the_median():
    """Far out they are the normal's 1.959964; the series beyond 1,000 meets the integral at 1,000."""
    assert student_quantile(0.975, 10**9) == pytest.approx(1.959963984540054, rel=1e-8)
    assert student_quantile(0.5, 7) == 0
    left, right = student_quantile(0.975, 1000), student_quantile(0.975, 1001)
    slope = (1.959964**3 + 1.959964) / 4 * (1 / 1001 - 1 / 1000)
    assert right - left == pytest.approx(slope, rel=1e-2)


def test_an_interval_by_hand():
    """1, 2, 3: mean 2, s = 1, half width t(2; 0.975)/√3 with t = 0.95·√(2/(4·0.975·0.025))."""
    interval = replications([Fraction(1), Fraction(2), Fraction(3)])
    half = 0.95 * math.sqrt(2 / (4 * 0.975 * 0.025)) / math.sqrt(3)
    assert interval.mean == 2 and interval.n == 3 and interval.level == 0.95
    assert (interval.low, interval.high) == (pytest.approx(2 - half), pytest.approx(2 + half))


def test_undefined_with_fewer_than_two_or_an_undefined_run():
    assert replications([]) is None
    assert replications([Fraction(1)]) is None
    assert replications([Fraction(1), None, Fraction(2)]) is None
    assert batch_means([Fraction(1)] * 3, batches=4) is None
    assert batch_means([Fraction(1)] * 3, batches=1) is None
    assert batch_means([Fraction(1)] * 3, batches=0) is None
    assert proportion(0, 0) is None


def test_batch_means_are_means_of_the_last_whole_batches():
    """Seven values in three batches of two: the first is left out; means 5/2, 9/2, 13/2."""
    batches = batch_means([Fraction(k) for k in range(1, 8)], batches=3)
    runs = replications([Fraction(5, 2), Fraction(9, 2), Fraction(13, 2)])
    assert (batches.mean, batches.low, batches.high, batches.n) == (runs.mean, runs.low, runs.high, 3)
    assert (batches.method, runs.method) == ("batch means", "replications")


def test_proportions_where_they_have_a_closed_form():
    """Clopper–Pearson: none of n: [0, 1 − (α/2)^(1/n)]; all of n: its mirror image."""
    none, every = proportion(0, 20), proportion(20, 20)
    assert (none.low, none.high) == (0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert (every.low, every.high) == (pytest.approx(0.025 ** (1 / 20)), 1)
    with pytest.raises(ValueError, match="count"):
        proportion(3, 2)


def test_a_proportions_tails_are_the_binomials():
    """7 of 20: at the lower end 7 or more have probability 2.5 %, at the upper end 7 or fewer."""
    interval = proportion(7, 20)

    def binomial(k, p):
        return math.comb(20, k) * p**k * (1 - p) ** (20 - k)

    assert sum(binomial(k, interval.low) for k in range(7, 21)) == pytest.approx(0.025)
    assert sum(binomial(k, interval.high) for k in range(8)) == pytest.approx(0.025)


def binomial_bounds(n, p, tail=1e-6):
    """Counts that a Binomial(n, p) leaves on either side with probability below `tail`, from its exact law."""
    law = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    low, high, below, above = 0, n, law[0], law[n]
    while below < tail:
        low += 1
        below += law[low]
    while above < tail:
        high -= 1
        above += law[high]
    return low, high


@pytest.mark.parametrize("n", [2, 5, 12])
def test_replications_cover_as_often_as_they_say(n):
    """For normal values coverage is exactly 90 %: of 400 intervals the number that cover is Binomial(400, 0.9)."""
    draw = random.Random(31 + n)
    hits = 0
    for _ in range(400):
        interval = replications([Fraction(draw.gauss(3, 2)) for _ in range(n)], level=0.9)
        hits += interval.low <= 3 <= interval.high
    low, high = binomial_bounds(400, 0.9)
    assert low <= hits <= high


def test_proportions_cover_at_least_as_often_as_they_say():
    draw = random.Random(7)
    hits = 0
    for _ in range(300):
        interval = proportion(sum(draw.random() < 0.3 for _ in range(25)), 25, level=0.9)
        hits += interval.low <= 0.3 <= interval.high
    assert hits >= binomial_bounds(300, 0.9)[0]
