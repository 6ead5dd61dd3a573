"""The samplers against exact laws: single figures within 5 standard errors, intervals by how often they cover.

Seeds are fixed. Five standard errors of a mean that is nearly normal are exceeded with probability 6e-7. Coverage of
n independent 95 % intervals is binomial: the bounds below are passed by right intervals but for 1e-4.
"""

import heapq
import math
import tracemalloc
from itertools import islice

import numpy as np
import pytest

from labkit.theory import queueing_laws as laws
from labkit.theory.quantiles import student_quantile
from labkit.theory.queueing import MM1, MMc, transient_waits
from labkit.theory.queueing_counts import Tally, estimate, of_tallies
from labkit.theory.queueing_general import GIM1, MD1, MG1
from labkit.theory.queueing_samples import fifo, growth, stationary, warmup

LAWS = [
    laws.exponential(0.01), laws.deterministic(0.01), laws.gamma(0.01, 0.25), laws.gamma(0.01, 4),
    laws.hyperexponential(0.01, 4), laws.lognormal(0.01, 2), laws.pareto(0.01, 5), laws.geometric(0.01, 0.001),
]  # fmt: skip


def near(sample, expected, errors=5):
    """Return whether a sample's mean lies within so many of its standard errors of `expected`."""
    return abs(sample.mean() - expected) <= errors * sample.std() / math.sqrt(sample.size) + 1e-15


def allowed(runs, confidence):
    """Return the least and greatest count of covering intervals; each is passed with probability below 5e-5."""
    yes, no = math.log(confidence), math.log1p(-confidence)
    ways = [math.lgamma(runs + 1) - math.lgamma(k + 1) - math.lgamma(runs - k + 1) for k in range(runs + 1)]
    chance = [math.exp(way + k * yes + (runs - k) * no) for k, way in enumerate(ways)]
    low = next(k for k in range(runs) if math.fsum(chance[: k + 1]) > 5e-5)
    high = next(k for k in range(runs, 0, -1) if math.fsum(chance[k:]) > 5e-5)
    return low, high


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.name}-{law.scv:.3g}")
def test_laws_are_what_they_say(law):
    """Mean, variance and transform of the draws; the residual's mean E[S^2]/(2 E[S])."""
    drawn, left = law.draw(laws.generator(1), (200_000,)), law.residual(laws.generator(2), (200_000,))
    assert near(drawn, law.mean)
    assert near((drawn - law.mean) ** 2, law.scv * law.mean**2)
    assert near(left, law.mean * (1 + law.scv) / 2)
    assert drawn.min() >= 0 and left.min() >= 0
    if law.transform:
        assert near(np.exp(-70 * drawn), law.transform(70))
    over, beyond = (left > 0.008).astype(float), np.maximum(drawn - 0.008, 0) / law.mean
    assert near(over - beyond, 0.0)  # the residual's density is Pr(S > x)/E[S]


def test_the_fast_exponential_draw():
    """Quantiles of 2^22 draws within 5 standard errors; pairs are uncorrelated; another bit generator is refused."""
    drawn = laws.standard_exponential(laws.generator(3), (1 << 22,))
    for p in (0.001, 0.1, 0.5, 0.99, 0.9999):
        assert near((drawn > -math.log1p(-p)).astype(float), 1 - p)
    assert near((drawn[::2] - 1) * (drawn[1::2] - 1), 0.0)  # two halves of one word
    assert drawn.max() < 22.9
    with pytest.raises(ValueError, match="MT19937"):
        laws.standard_exponential(np.random.Generator(np.random.MT19937(1)), (4,))


STARTS = [
    ("M/M/1", laws.exponential(1 / 80), laws.exponential(0.01), 1, MM1(80, 100).mean_wait),
    ("M/D/1", laws.exponential(1 / 80), laws.deterministic(0.01), 1, MD1(80, 100).mean_wait),
    (
        "M/G/1",
        laws.exponential(1 / 95),
        laws.lognormal(0.01, 2),
        1,
        MG1(95, laws.lognormal(0.01, 2)).mean_wait,
    ),
    ("GI/M/1", laws.gamma(1 / 80, 4), laws.exponential(0.01), 1, GIM1(laws.gamma(1 / 80, 4), 100).mean_wait),
    ("M/M/8", laws.exponential(1 / 95), laws.exponential(0.08), 8, MMc(95, 12.5, 8).mean_wait),
    ("M/M/2", laws.exponential(1 / 30), laws.exponential(0.02), 2, MMc(30, 50, 2).mean_wait),
]


@pytest.mark.parametrize(("name", "gap", "service", "servers", "wait"), STARTS, ids=[s[0] for s in STARTS])
def test_the_first_customer_is_in_the_long_run(name, gap, service, servers, wait):
    """No path starts empty: the first customer's and the 40th's mean wait are the exact one."""
    del name
    chunks = fifo(gap, service, laws.generator(5), servers=servers, paths=200_000, steps=10)
    waits, sojourns = next(chunks)
    assert near(waits[0], wait)
    assert near(sojourns[0], wait + service.mean)
    for _ in range(3):
        waits, _ = next(chunks)
    assert near(waits[-1], wait)


def test_the_start_of_mmc_is_the_law_of_all_servers():
    """Not the first free server alone: the busy ones an arrival finds have the mean of Erlang's states."""
    rate, servers = 6.4, 8
    free = stationary(laws.exponential(1 / rate), laws.exponential(1), servers, laws.generator(6), 200_000)
    assert np.all(np.diff(free, axis=0) >= 0)
    busy = (free > 0).sum(axis=0)
    assert near(busy.astype(float), rate)  # PASTA: the mean number of busy servers is a
    assert near((free[0] > 0).astype(float), MMc(rate, 1, servers).wait_probability)


def test_an_md1_tail():
    """The tail of 6 million waits at three times, by replications."""
    tallies = []
    for seed in range(20):
        source = fifo(
            laws.exponential(1 / 80), laws.deterministic(0.01), laws.generator(7, seed), paths=20_000
        )
        waits, _ = next(source)
        tallies.append(Tally().add(waits))
    _, _, tails = of_tallies(tallies, quantiles=(), tails=(0.005, 0.025, 0.1), confidence=0.9999)
    for t, found in tails.items():
        assert found.covers(MD1(80, 100).wait_tail(t))


def by_heap(gap, service, servers, rng, count):
    """Return sojourns of G/G/c by a heap of the times at which servers are free: another derivation."""
    free, now, found = [0.0] * servers, 0.0, []
    for a, s in zip(gap.draw(rng, (count,)).tolist(), service.draw(rng, (count,)).tolist(), strict=True):
        begin = max(now, free[0])
        heapq.heapreplace(free, begin + s)
        found.append(begin + s - now)
        now += a
    return found


@pytest.mark.parametrize("servers", [1, 3])
def test_lockstep_does_what_a_heap_does(servers):
    """The same gaps and services from empty, one path: the same sojourns to rounding."""
    gap, service = laws.gamma(1 / servers, 2), laws.lognormal(0.8, 1.5)
    expected = by_heap(gap, service, servers, laws.generator(8), 300)
    from labkit.theory.queueing_samples import _chunks

    _, sojourns = next(_chunks(gap, service, laws.generator(8), np.zeros((servers, 1)), 0.0, 300))
    assert sojourns[:, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("servers", [1, 3])
def test_general_queues_after_their_warm_up(servers):
    """GI/G/c has no exact law: the mean and tail of lockstep and heap agree within 99.99 % intervals."""
    gap, service = laws.gamma(1 / servers, 0.5), laws.gamma(0.75, 2)
    fast, slow = [], []
    for seed in range(8):
        _, sojourns = next(fifo(gap, service, laws.generator(9, seed), servers=servers, paths=1000, steps=20))
        fast.append(Tally().add(sojourns))
        slow.append(
            Tally().add(np.array(by_heap(gap, service, servers, laws.generator(10, seed), 20_000)[1000:]))
        )
    one, other = (of_tallies(t, quantiles=(0.9,), tails=(3.0,), confidence=0.9999) for t in (fast, slow))
    for a, b in ((one[0], other[0]), (one[1][0.9], other[1][0.9]), (one[2][3.0], other[2][3.0])):
        assert abs(a.value - b.value) < math.hypot(a.half_width, b.half_width)


def test_correlated_services_keep_their_law():
    """Persistence 0.6: neighbours share their service with probability 0.6, also across chunks."""
    source = fifo(
        laws.exponential(10), laws.exponential(1), laws.generator(11), persistence=0.6, paths=20_000, steps=8
    )
    services = np.concatenate([sojourns - waits for waits, sojourns in islice(source, 2)])
    assert near(services[7], 1.0)
    for at in (3, 7):  # 7 and 8 lie in two chunks
        assert near((np.abs(services[at] - services[at + 1]) < 1e-9).astype(float), 0.6)


def test_from_empty_as_spitzer_says():
    """N04, rho = 1.1: the k-th customer's mean wait."""
    waits, _ = next(
        growth(laws.exponential(1 / 110), laws.exponential(0.01), laws.generator(12), paths=40_000, steps=60)
    )
    exact = transient_waits(110, 100, 60)
    for k in (1, 10, 59):
        assert near(waits[k], exact[k])


def test_equal_seeds_equal_samples_and_constant_memory():
    def peak(chunks):
        tracemalloc.start()
        tally = Tally()
        for _, sojourns in islice(
            fifo(laws.exponential(1.25), laws.exponential(1), laws.generator(1, 2)), chunks
        ):
            tally.add(sojourns)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most, tally

    short, tally = peak(5)
    long, _ = peak(60)
    assert long < 1.05 * short
    assert np.array_equal(peak(5)[1].bins, tally.bins)


@pytest.mark.parametrize("servers", [1, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("rho", [0.8, 0.95])
def test_intervals_cover_at_high_load(rho, servers):
    """E31.10, E31.13 and Erlang: of 120 repeated runs, so many 95 % intervals hold the truth as binomially due."""
    runs, replications = 120, 10
    law = MMc(rho * 100, 100 / servers, servers)
    mean, p99 = law.mean_sojourn, law.sojourn_quantile(0.99)
    gap, service = laws.exponential(1 / (rho * 100)), laws.exponential(servers / 100)
    covered = np.zeros(3, int)
    for run in range(runs):
        tallies = []
        for replication in range(replications):
            rng = laws.generator(13, run, replication)
            _, sojourns = next(fifo(gap, service, rng, servers=servers, paths=2000, steps=8))
            tallies.append(Tally().add(sojourns))
        found, levels, tails = of_tallies(tallies, tails=(p99,))
        covered += [found.covers(mean), levels[0.99].covers(p99), tails[p99].covers(0.01)]
    low, high = allowed(runs, 0.95)
    assert all(low <= count <= high for count in covered), covered


def test_a_biased_start_is_seen():
    """The coverage test can fail: paths that start empty miss the mean nearly always."""
    gap, service, covered = laws.exponential(1 / 95), laws.exponential(0.01), 0
    for run in range(20):
        means = []
        for replication in range(10):
            _, sojourns = next(
                growth(gap, service, laws.generator(14, run, replication), paths=500, steps=200)
            )
            means.append(float(sojourns.mean()))
        covered += estimate(means).covers(MM1(95, 100).mean_sojourn)
    assert covered < allowed(20, 0.95)[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"servers": 0}, "servers: given 0"),
        ({"persistence": 1.0}, "persistence: given 1.0"),
    ],
)
def test_wrong_input_is_told(arguments, said):
    with pytest.raises(ValueError, match=said):
        next(fifo(laws.exponential(2), laws.exponential(1), laws.generator(1), **arguments))


def test_a_load_without_a_stationary_law_is_told():
    with pytest.raises(ValueError, match="no stationary law"):
        next(fifo(laws.exponential(1), laws.exponential(1), laws.generator(1)))
    with pytest.raises(ValueError, match="warm-up"):
        warmup(laws.gamma(1, 2), laws.gamma(0.9999, 2))


def test_student_t_by_its_tables():
    """Three digits of any printed table, and the normal law's 1.96 far out."""
    table = {
        (0.975, 1): 12.706,
        (0.975, 9): 2.262,
        (0.95, 4): 2.132,
        (0.995, 30): 2.750,
        (0.975, 1_000_000): 1.960,
    }
    for (p, freedom), value in table.items():
        assert student_quantile(p, freedom) == pytest.approx(value, abs=6e-4)


def test_a_tally_bounds_its_error():
    """Quantiles and tails of a sample whose every place is known, parts merged: within a bin, 0.2 %."""
    times = np.geomspace(1e-6, 300.0, 200_001)
    tally = Tally().add(times[::2]).merge(Tally().add(times[1::2]))
    assert tally.count == times.size
    assert tally.mean == pytest.approx(times.mean(), rel=1e-12)
    for p in (0.001, 0.3, 0.5, 0.99, 0.9999):
        assert tally.quantile(p) == pytest.approx(times[round(p * 200_000)], rel=2**-9)
        assert tally.tail(times[round(p * 200_000)]) == pytest.approx(1 - p, abs=1e-4)
    atom = Tally().add(np.array([0.0] * 60 + [1.0] * 40))
    assert atom.quantile(0.5) < 1e-9
    assert atom.tail(0.5) == 0.4
    for wrong in (-1.0, 2e6, math.nan, math.inf):
        with pytest.raises(ValueError, match="expected 0 to"):
            Tally().add(np.array([1.0, wrong]))


def test_an_interval_by_hand_and_its_coverage():
    """Of 1, 2, 3: 2 +- 4.303/sqrt(3); of 3,000 samples of four normal numbers 95 % intervals hold the mean as due."""
    by_hand = estimate([1.0, 2.0, 3.0])
    assert (by_hand.value, by_hand.replications) == (2.0, 3)
    assert by_hand.half_width == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)
    assert (by_hand.low, by_hand.high) == (2 - by_hand.half_width, 2 + by_hand.half_width)
    samples = laws.generator(15).standard_normal((3000, 4))
    low, high = allowed(3000, 0.95)
    assert low <= sum(estimate(list(sample)).covers(0.0) for sample in samples) <= high
    with pytest.raises(ValueError, match="at least 2"):
        estimate([1.0])
