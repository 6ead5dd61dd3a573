"""Percentiles and means where some times are only known to be at least so long (C31); by hand."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.measure.latency import Bounds, Sample
from labkit.measure.times import Seen

S = 10**9


def sample(measured, least=()):
    return Sample([*(Seen(t * S, True) for t in measured), *(Seen(t * S, False) for t in least)])


def test_nearest_rank_by_hand():
    """Of 1..10 s: p50 is the 5th, p90 the 9th, p91 the 10th, p1 the 1st: always one of the values."""
    ten = sample(range(1, 11))
    ranks = {
        Fraction(1, 2): 5,
        Fraction(9, 10): 9,
        Fraction(91, 100): 10,
        Fraction(1, 100): 1,
        Fraction(1): 10,
    }
    for share, value in ranks.items():
        assert ten.percentile(share) == Bounds(Fraction(value), Fraction(value))
        assert ten.percentile(share).exact


def test_a_censored_time_bounds_the_percentiles_above_it():
    """1, 2, 3 s measured and one seen for 2 s: its place is among or above them. p50 is 2 either way, p75 is 2 or 3
    (low), 3 at most (high); the greatest is at least 3 and has no upper bound."""
    four = sample([1, 2, 3], [2])
    assert four.percentile(Fraction(1, 2)) == (2, 2)
    assert four.percentile(Fraction(3, 4)) == (2, 3)
    assert not four.percentile(Fraction(3, 4)).exact
    assert four.percentile(Fraction(1)) == (3, None)
    assert (four.measured, four.censored, four.size) == (3, 1, 4)


def test_leaving_out_timeouts_would_make_p90_beautiful():
    """C31: nine answers of 1 s and two given up after 30 s: p90 of the survivors is 1 s; of all it is at least 30 s."""
    survivors, everyone = sample([1] * 9), sample([1] * 9, [30, 30])
    assert survivors.percentile(Fraction(9, 10)).high == 1
    assert everyone.percentile(Fraction(9, 10)) == (30, None)
    assert everyone.mean() == 1
    assert everyone.mean_at_least() == Fraction(69, 11)


def test_nothing_has_no_mean_and_no_percentile():
    assert sample([]).mean() is None and sample([]).percentile(Fraction(1, 2)) == (None, None)
    assert sample([], [4]).mean() is None
    assert sample([], [4]).percentile(Fraction(1, 2)) == (4, None)
    assert not sample([]).percentile(Fraction(1, 2)).exact


@pytest.mark.parametrize("share", [Fraction(0), Fraction(-1, 2), Fraction(101, 100)])
def test_shares_outside_are_refused(share):
    with pytest.raises(ValueError, match="share"):
        sample([1]).percentile(share)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.integers(0, 20)), min_size=1, max_size=12),
    st.fractions(Fraction(1, 100), 1),
)
def test_the_truth_lies_between_the_bounds(truths, share):
    """Whatever the hidden times were (here they are known), the percentile of all lies between the two bounds."""
    seen = [Seen(t * S, True) if whole else Seen(max(0, t - cut) * S, False) for t, whole, cut in truths]
    bounds = Sample(seen).percentile(share)
    ordered = sorted(t for t, _, _ in truths)
    truth = ordered[-(-share.numerator * len(ordered) // share.denominator) - 1]
    assert bounds.low <= truth
    assert bounds.high is None or truth <= bounds.high


@given(st.lists(st.fractions(0, 10, max_denominator=50), min_size=1, max_size=9))
def test_means_are_exact(values):
    assert Sample(Seen(v * S, True) for v in values).mean() == sum(values) / len(values)


def test_counting_many_at_once_is_counting_each():
    one, many = Sample(), Sample()
    for _ in range(3):
        one.add(Seen(5 * S, True))
    assert one.percentile(Fraction(1)).high == 5
    many.add(Seen(5 * S, True), 3)
    assert one.exact == many.exact
    many.add_all([7 * S])
    assert many.percentile(Fraction(1)).high == 7
