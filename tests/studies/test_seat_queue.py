"""C18: M/M/1 beside the engine. Seeds are fixed; intervals at 99.9 % of five runs hold the exact law.

Each of the intervals below misses with probability 0.1 %.
"""

import heapq
import math

import numpy as np
import pytest

from labkit.core.errors import InputError
from labkit.scenario.load import load
from labkit.studies.one_server import three_tails
from labkit.studies.seat_queue import Seats, crossing, engine_sojourns, measure, seat_queue, tails
from labkit.theory.queueing import MM1
from labkit.theory.queueing_counts import Tally, of_tallies
from labkit.theory.queueing_general import MG1
from labkit.theory.queueing_laws import geometric


def test_c18_at_low_load_m_m_1_is_most_wrong():
    """C18: lambda = 20, p99 58 ms predicted, 1.45 s measured: 32 rounds of 10 ms are what a request needs."""
    (row,) = seat_queue([20], requests=2_500, replications=4)
    assert row.predicted_p99_s == pytest.approx(math.log(100) / 80)
    assert row.exact_mean_s == pytest.approx(0.005 + 0.32, rel=1e-3)  # half a round, 32 rounds, hardly a wait
    assert row.measured_p99_s.low > 1.3
    assert row.measured_p99_s.value == pytest.approx(1.45, rel=0.05)
    assert row.measured_p99_s.value / row.predicted_p99_s > 22
    assert row.servers_p99_s == pytest.approx(row.exact_p99_s, rel=0.01)  # M/M/32 tells it


@pytest.mark.parametrize("rate", [60.0, 90.0])
def test_c18_the_engine_keeps_to_the_exact_law(rate):
    """The engine and the law of seats and rounds were made apart and agree: mean, p99 and tails."""
    engine = Seats()
    law = engine.law(rate)
    mean, levels, over = of_tallies(
        measure(engine, rate, requests=2_000, replications=5, seed=7), tails=(0.2, 0.8, 1.5), confidence=0.999
    )
    assert mean.covers(law.mean_sojourn)
    assert levels[0.99].covers(law.sojourn_quantile(0.99))
    for t, found in over.items():
        assert found.covers(law.sojourn_tail(t))


def replayed(document, seats=32, round_ns=10_000_000):
    """Return sojourns in s of the scenario's requests by a recursion: the first free seat, at a round's start."""
    source, free, begun, last, found = load(document).source(), [0] * seats, 0, 0, []
    while source.peek() is not None:
        job = source.take()
        now = job.request.arrival_ns
        if last <= now:  # nobody is there: a round begins at once
            start = begun = now
        else:
            start = max(begun - (begun - now) // round_ns * round_ns, free[0])
        heapq.heapreplace(free, start + job.oracle * round_ns)
        last = max(last, start + job.oracle * round_ns)
        found.append((start + job.oracle * round_ns - now) / 1e9)
    return np.array(found)


@pytest.mark.parametrize("rate", [20.0, 97.0])
def test_c18_the_engine_is_a_queue_of_rounds(rate):
    """Request by request: seats that are free at round starts, FCFS; that is all there is to it."""
    document = Seats().scenario(rate, 2_500, seed=11)
    expected, found = Tally().add(replayed(document)), engine_sojourns(document)
    assert found.mean == pytest.approx(expected.mean, rel=1e-12)
    assert np.array_equal(found.bins, expected.bins)


def test_c18_the_error_falls_with_load_and_hardly_turns():
    """C18 corrected: at 98 and 99 M/M/1 is still too small (2.30 for 2.70 s, 4.61 for 4.86 s); from short runs out of
    an empty system it looks too large.
    """
    ratios = []
    for rate in (20, 60, 80, 95, 98, 99):
        exact = Seats().law(rate).sojourn_quantile(0.99)
        ratios.append(exact / MM1(rate, 100).sojourn_quantile(0.99))
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] > 25 and ratios[-1] > 1.04
    (short,) = seat_queue([99], requests=4_000, replications=4, warmup=0)
    assert short.measured_p99_s.high < short.predicted_p99_s < short.exact_p99_s


@pytest.mark.long
def test_c18_the_meeting():
    """M/M/1's p99 meets the exact one beyond 99.7/s only; above it is too large, by less than 2 %."""
    met = crossing()
    assert 99.7 < met < 99.8
    later = Seats().law(99.85).sojourn_quantile(0.99) / MM1(99.85, 100).sojourn_quantile(0.99)
    assert 0.98 < later < 1


def test_a_meeting_of_a_small_engine():
    """Two seats: no meeting where the search ends below it."""
    small = Seats(2, 0.01, 2.0)
    met = crossing(engine=small)
    law, model = small.law(met), MM1(met, small.offline_rate)
    assert model.sojourn_quantile(0.99) == pytest.approx(law.sojourn_quantile(0.99), rel=0.02)
    assert crossing(engine=small, highest=met / small.offline_rate - 0.05) is None


def test_tails_at_one_load():
    found = tails(80, (0.0, 0.3, 1.0), requests=1_000, replications=3)
    assert list(found) == ["predicted", "exact", "measured"]
    assert found["predicted"][1] == (0.3, pytest.approx(math.exp(-6)))
    assert found["exact"][0] == (0.0, pytest.approx(1.0))
    t, measured = found["measured"][1]
    assert t == 0.3 and measured.value == pytest.approx(found["exact"][1][1], rel=0.15)


def test_the_first_arrivals_are_dropped_and_all_others_counted():
    document = Seats().scenario(50, 300, seed=2)
    assert engine_sojourns(document).count == 300
    assert engine_sojourns(document, dropped=120).count == 180


def test_the_warm_up_grows_as_heavy_traffic_says():
    low, high = Seats().warmup(80), Seats().warmup(98)
    assert low < 1_000
    assert high == pytest.approx(8 * (2 - 1 / 32) / 0.02**2, rel=0.01)


def test_three_tails_of_one_server():
    """E31.13 as a formula, a sampler and the engine; whole rounds shift the formula by less than a round's share."""
    points = three_tails(80, 100, (0.01, 0.05, 0.15), requests=1_500, replications=5, customers=1_000_000)
    for point in points:
        assert point.exact == pytest.approx(math.exp(-20 * point.time_s))
        assert abs(point.sampled.value - point.exact) < 3 * point.sampled.half_width
        assert abs(point.engine.value - point.engine_exact) < 3 * point.engine.half_width
        assert point.engine_exact == pytest.approx(point.exact, rel=0.1)
    law = Seats(1, 0.0005, 20.0).law(80)
    assert law.mean_sojourn == pytest.approx(0.05 - 0.8 / 0.2 / (2 * 20 * 100))
    assert law.mean_sojourn == pytest.approx(MG1(80, geometric(0.01, 0.0005)).mean_sojourn)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: seat_queue([100.0]), "given 100/s, expected more than 0 and less than the 100/s"),
        (lambda: seat_queue([-1.0]), "given -1/s"),
        (lambda: seat_queue([20.0], requests=5), "given 5 requests"),
        (lambda: tails(20.0, [1.0], replications=1), "1 replications"),
        (lambda: three_tails(120, 100, [0.1]), "less than the 100/s"),
        (lambda: three_tails(80, 100, [0.1], rounds=1), "rounds 1"),
    ],
)
def test_wrong_input_is_told(call, said):
    with pytest.raises(InputError, match=said):
        call()
