"""C30: the same stall under an open and a closed loop, and the ways to see it, against a recursion of 15 lines."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.studies import loops

MS = 10**6
P99 = Fraction(99, 100)


def served(arrivals: list[int], stall: tuple[int, int] = (45_000, 55_000)) -> list[int]:
    """Ends in ms of requests of 10 ms each, first come first served, no start in the stall."""
    free, ends = 0, []
    for at in arrivals:
        start = max(free, at)
        if stall[0] <= start < stall[1]:
            start = stall[1]
        free = start + 10
        ends.append(free)
    return ends


@pytest.fixture(scope="module")
def seen():
    return loops.omission()


def test_every_latency_of_the_open_loop_is_that_of_the_recursion(seen):
    meant = [50 * i for i in range(2000)]
    wanted = sorted(end - at for at, end in zip(meant, served(meant), strict=True))
    assert [ns // MS for ns in seen[0].sorted_ns] == wanted
    # From the intended times one connection tells the same: its answers come at the same times.
    assert seen[4].sorted_ns == seen[0].sorted_ns


def test_the_closed_loop_is_that_of_the_recursion(seen):
    at, wanted = 0, []
    while at < 99_990:
        start = 55_000 if 45_000 <= at < 55_000 else at
        wanted.append(start + 10 - at)
        at = start + 50
    assert [ns // MS for ns in seen[1].sorted_ns] == sorted(wanted)
    assert (len(wanted), seen[1].unseen) == (1800, 0)


def test_c30_p99_is_10_ms_or_9_2_s(seen):
    """250 wait: the one sent t s into the stall 10.01 − 0.8t s, down to those behind it; the 20th longest is p99."""
    opened, closed, filled, sent, meant = (one.quantile(P99) for one in seen)
    assert closed == sent == Fraction(1, 100)
    assert (
        opened == meant == Fraction(1001, 100) - Fraction(8, 10) * 20 * Fraction(1, 20) == Fraction(921, 100)
    )
    # 1,799 of 10 ms and 10.01, 9.96, … 0.06 s: 1,999; the ⌈0.99·1999⌉-th is the 20th from the top.
    assert filled == Fraction(1001, 100) - Fraction(19, 20) + Fraction(0)
    assert [one.quantile(Fraction(1)) for one in seen] == [Fraction(1001, 100)] * 5


def hdr(latencies: list[int], interval: int) -> list[int]:
    """recordValueWithExpectedInterval, as HdrHistogram states it."""
    out = []
    for value in latencies:
        out.append(value)
        if value > interval:
            missing = value - interval
            while missing >= interval:
                out.append(missing)
                missing -= interval
    return sorted(out)


@given(st.lists(st.integers(1, 2000), max_size=20), st.integers(1, 100))
def test_filling_up_is_what_hdrhistogram_does(latencies, interval):
    assert loops.filled_up(latencies, interval) == hdr(latencies, interval)


def test_a_closed_loop_cannot_overload(seen):
    """100 a second are served: an open loop at 150 leaves a queue that grows, 150 users never more than they are."""
    told = loops.overload((50, 150), seconds=4)
    (calm, rush), (few, many) = told["open"], told["closed"]
    assert calm.p99 == Fraction(1, 100)
    assert rush.finished_a_second == pytest.approx(100, rel=0.01)
    # In 4 s 600 come and 400 are served; a request at t s waits t/2: 396th of 400 done.
    assert float(rush.p99) == pytest.approx(1.33, abs=0.02)
    assert many.sent_a_second < 150
    assert few.p99 <= Fraction(50, 100)
    assert many.p99 <= Fraction(150, 100)  # all 150 in front of one
