"""The law of seats and rounds (C18) against queues it contains and against rounds played one by one."""

import math
import random

import numpy as np
import pytest

from labkit.theory.queueing import MMc
from labkit.theory.queueing_counts import estimate
from labkit.theory.queueing_general import MG1
from labkit.theory.queueing_laws import geometric
from labkit.theory.queueing_rounds import SeatRounds


def test_one_seat_is_mg1():
    """With one seat nobody notices the rounds: Pollaczek-Khinchine with geometric services."""
    law = SeatRounds(80, 1, 0.0005, 20)
    assert law.capacity == pytest.approx(100)
    assert law.mean_sojourn == pytest.approx(MG1(80, geometric(0.01, 0.0005)).mean_sojourn, rel=1e-8)


def test_short_rounds_are_mmc():
    """As rounds get short, geometric services become exponential: M/M/4, to the order of a round."""
    rounds, servers = SeatRounds(80, 4, 0.00002, 2000), MMc(80, 25, 4)
    assert rounds.mean_sojourn == pytest.approx(servers.mean_sojourn, rel=1e-3)
    for t in (0.01, 0.1, 0.3):
        assert rounds.sojourn_tail(t) == pytest.approx(servers.sojourn_tail(t), rel=2e-3)


def test_the_states_are_stationary():
    """One step of the chain, written out here, leaves them as they are."""
    law = SeatRounds(95, 8, 0.01, 8)
    before, after = law.states, np.zeros(law.states.size)
    p, rate = 1 / 8, 0.95
    poisson = [math.exp(-rate) * rate**k / math.factorial(k) for k in range(25)]
    for n, share in enumerate(before):
        active = min(max(n, 1), 8)
        for ended in range(active + 1):
            chance = share * math.comb(active, ended) * p**ended * (1 - p) ** (active - ended)
            for come, likely in enumerate(poisson):
                to = max(n, 1) - ended + come
                if to < after.size:
                    after[to] += chance * likely
    assert after == pytest.approx(before, abs=1e-10)
    # as many end in a round as come: those of an idle start and those during it
    busy = float(before @ np.minimum(np.maximum(np.arange(before.size), 1), 8))
    assert busy * p == pytest.approx(rate + before[0], rel=1e-8)


@pytest.mark.parametrize(("rate", "seats"), [(40, 3), (85, 3), (20, 32)])
def test_mean_is_the_tail_s_integral(rate, seats):
    law = SeatRounds(rate, seats, 0.01, float(seats))
    upto, pieces = (12.0, 2400) if seats == 32 else (4.0, 800)
    t = (np.arange(pieces) + 0.5) * upto / pieces
    assert sum(law.sojourn_tail(x) for x in t) * upto / pieces == pytest.approx(law.mean_sojourn, rel=1e-4)
    assert law.sojourn_tail(0.0) == pytest.approx(1)
    assert law.sojourn_tail(law.sojourn_quantile(0.99)) == pytest.approx(0.01, abs=1e-9)


def played(rate, seats, mean, count, seed):
    """Return sojourns in rounds of `count` requests, played round by round (times in rounds)."""
    luck = random.Random(seed)
    arrivals, now = [], 0.0
    for _ in range(count):
        now += luck.expovariate(rate)
        arrivals.append(now)
    start, active, ended, at = 0.0, [], [], 0
    while len(ended) < count:
        while at < count and arrivals[at] <= start and len(active) < seats:
            active.append(arrivals[at])
            at += 1
        if not active:
            start = arrivals[at]
            continue
        start += 1
        over = [luck.random() < 1 / mean for _ in active]
        ended += [start - came for came, last in zip(active, over, strict=True) if last]
        active = [came for came, last in zip(active, over, strict=True) if not last]
    return np.array(ended)


@pytest.mark.parametrize("rate", [0.15, 0.85])
def test_the_law_is_what_rounds_do(rate):
    """Four seats, outputs of 4: mean and tails of played rounds cover the law's at 99.99 %."""
    law = SeatRounds(rate, 4, 1.0, 4.0)
    runs = [played(rate, 4, 4, 6000, seed)[500:] for seed in range(10)]
    assert estimate([float(run.mean()) for run in runs], 0.9999).covers(law.mean_sojourn)
    for t in (1.0, 1.3, 2.5, 9.3, 17.0):
        assert estimate([float((run > t).mean()) for run in runs], 0.9999).covers(law.sojourn_tail(t))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((100.0,), "given 100/s where 100/s can be served"),
        ((20.0, 0), "seats: given 0"),
        ((20.0, 32, 0.01, 1.0), "mean_rounds: given 1.0"),
        ((20.0, 32, -1.0), "round_seconds: given -1"),
    ],
)
def test_wrong_input_is_told(arguments, said):
    with pytest.raises(ValueError, match=said):
        SeatRounds(*arguments)
