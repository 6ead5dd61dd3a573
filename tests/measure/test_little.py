"""Little's law by hand: Q31.6, C16, C17, N05, N06, X3. Random runs and windows: test_fold.py."""

from fractions import Fraction

import pytest

import labkit
from labkit.measure.fold import Measures
from labkit.measure.little import Residence, mismatch
from labkit.measure.metrics import measure

S = 10**9


def residence(visits, start=0, end=None, until=None):
    """Requests that are in the system from one time to another, in s; None: never leaves."""
    people = Residence(start * S, None if end is None else end * S)
    changes = [(a, 1, f"r{i}") for i, (a, _) in enumerate(visits)]
    changes += [(c, 0, f"r{i}") for i, (_, c) in enumerate(visits) if c is not None]
    for at, enters, name in sorted(changes):
        people.advance(at * S)
        people.enter(name, at * S) if enters else people.leave(name, at * S, rejected=False)
    people.close((until or max(at for at, _, _ in changes)) * S)
    return people


def test_q31_6_step_function_and_area():
    """Q31.6: [0,2), [1,3) on [0,3]: area 4, mean number 4/3, rate 2/3 (the departure at 3 counts), mean time 2."""
    little = residence([(0, 2), (1, 3)]).little("system")
    assert little.area == little.residence == 4 * S
    assert little.mean_number == Fraction(4, 3)
    assert little.rate == Fraction(2, 3)
    assert little.mean_time == 2
    assert little.boundary == 0
    assert little.mean_number == little.rate * little.mean_time
    assert little.peak == 2


def test_a_window_clips_and_its_ends_are_in_the_boundary_term():
    """[0,2), [1,3) seen on [1, 2]: area 2. One departs, after 2 s of which 1 before; one is still there for 1 s."""
    little = residence([(0, 2), (1, 3)], start=1, end=2).little("system")
    assert (little.area, little.residence) == (2 * S, 2 * S)
    assert (little.departures, little.departed_time, little.before, little.present) == (1, 2 * S, S, S)
    assert little.mean_number == 2 == little.rate * little.mean_time + little.boundary
    assert little.exact
    # who uses the whole residence with the clipped area gets another number
    assert little.area != little.departed_time + little.present


def test_the_boundary_vanishes_as_the_window_grows():
    """E31.8, N05: one in every second, each stays 3 s: deterministic, and N̄ → λT = 3 with a boundary like 1/H."""
    boundaries = []
    for horizon in (10, 100, 1000):
        people = residence([(a, a + 3) for a in range(horizon)], start=0, end=horizon)
        little = people.little("system")
        assert little.exact
        assert little.mean_number == little.rate * little.mean_time + little.boundary
        boundaries.append(abs(little.boundary))
        assert little.boundary * horizon == 3  # 1 + 2 s of the two that are still there, whatever H
    assert boundaries == sorted(boundaries, reverse=True)
    assert boundaries[-1] == Fraction(3, 1000)


def test_x3_mean_number_is_rate_times_time():
    """X3: 20 completions a second, 0.4 s each: 8 in the system, in the steady part of the run."""
    people = Residence(1 * S, 6 * S)
    events = sorted(
        [(k * S // 20, 1, k) for k in range(200)] + [(k * S // 20 + 4 * S // 10, 0, k) for k in range(200)]
    )
    for at, enters, k in events:
        people.advance(at)
        people.enter(str(k), at) if enters else people.leave(str(k), at, rejected=False)
    people.close(10 * S)
    little = people.little("system")
    assert little.rate == 20 and little.mean_time == Fraction(2, 5)
    assert little.mean_number == 8
    assert little.boundary == 0


def test_n06_same_mean_other_limit():
    """N06: eight at all times, or twenty-four for a third of it: the mean is 8, the greatest 8 or 24."""
    steady = residence([(0, 30)] * 8).little("system")
    bursty = residence([(10, 20)] * 24, until=30).little("system")
    assert steady.mean_number == bursty.mean_number == 8
    assert (steady.peak, bursty.peak) == (8, 24)
    # a queue limit of 10 turns nobody away in the first and more than half of the second
    assert steady.peak <= 10 < bursty.peak


def test_c16_all_waits_are_more_than_the_first():
    """C16: with preemption N̄q = λ·E[Wq] holds for all waits; the first waits alone fall short."""
    run = labkit.run("case05_swap_full")
    fold = Measures().feed_all(run.journal).close()
    queue = fold.residence.little("queue")
    waits = [Fraction(str(r["waits_total"])) for r in run.result["requests"]]
    first = [Fraction(str(r["wait"])) for r in run.result["requests"]]
    assert queue.mean_time == sum(waits) / len(waits)
    assert queue.mean_number == queue.rate * queue.mean_time
    assert sum(first) < sum(waits)
    assert queue.mean_number != queue.rate * sum(first) / len(first)
    metrics = measure(run.journal)
    assert metrics["waits_total_mean"] - metrics["wait_mean"] == (sum(waits) - sum(first)) / len(waits)


def test_c17_rejected_arrivals_in_the_rate_and_not_in_the_time():
    """C17: ten arrive a second for 10 s, half are turned away, the others stay 1 s. λ·T is 5 with the population kept
    the same on both sides (10 · 1/2 or 5 · 1), and 10 with the rejected in λ alone: 5 too many."""
    people = Residence(0, None)
    changes = []
    for k in range(100):
        at = k * S // 10
        changes.append((at, 1, k))
        changes.append((at + (S if k % 2 else 0), 0, k))
    for at, enters, k in sorted(changes, key=lambda c: (c[0], c[2], -c[1])):
        people.advance(at)
        people.enter(str(k), at) if enters else people.leave(str(k), at, rejected=k % 2 == 0)
    people.close(max(at for at, _, _ in changes))
    everyone, accepted = people.little("system"), people.little("system", accepted_only=True)
    assert everyone.exact and accepted.exact
    assert (everyone.departures, accepted.departures) == (100, 50)
    assert (everyone.mean_time, accepted.mean_time) == (Fraction(1, 2), 1)
    assert everyone.mean_number == everyone.rate * everyone.mean_time
    assert accepted.mean_number == accepted.rate * accepted.mean_time == everyone.mean_number
    assert mismatch(everyone, accepted) == everyone.rate / 2 == everyone.mean_number


def test_c17_nothing_rejected_no_mismatch():
    people = residence([(0, 2), (1, 3)])
    assert mismatch(people.little("system"), people.little("system", accepted_only=True)) == 0
    empty = Residence(0, None)
    empty.close(0)
    assert empty.little("system").mean_number is None
    assert mismatch(empty.little("system"), empty.little("system")) is None


@pytest.mark.parametrize("accepted_only", [False, True])
def test_who_is_still_there_counts_with_the_time_until_the_end(accepted_only):
    little = residence([(0, None), (2, 4)], until=10).little("system", accepted_only)
    assert (little.area, little.departures, little.present) == (12 * S, 1, 10 * S)
    assert little.exact
