"""N21, C19: quantiles of a sum against sums of quantiles, on laws made by hand and on a run."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.scenario import run
from labkit.studies.joint import joint, stages

NS = 10**9


def test_comonotone_stages_add_up():
    told = joint([(i * NS, 2 * i * NS) for i in range(1, 101)])
    assert (told.wait, told.service, told.total, told.added) == (99, 198, 297, 297)
    assert told.beyond == Fraction(1, 100)
    assert told.correlation == pytest.approx(1)


def test_stages_that_exclude_each_other_reach_the_union_bound():
    """1 % wait long, 1 % another 1 % are served long: 2 % are over the sum of the p99 just below them (footnote 2)."""
    pairs = [(100, 0)] + [(0, 100)] + [(0, 0)] * 98
    told = joint([(w * NS, s * NS) for w, s in pairs])
    assert (told.added, told.total) == (0, 100)
    assert told.beyond == Fraction(2, 100)
    assert told.bound == 200
    assert told.bound_beyond == 0


def test_independent_exponentials():
    """Means 100/log 100 and 200/log 100 ms: p99 100 and 200, of the sum 230.0 ms, over 300 with 0.001999 (C19)."""
    luck = random.Random(1)
    n = 50_000
    one, two = 0.1 / math.log(100), 0.2 / math.log(100)
    told = joint(
        [(round(luck.expovariate(1 / one) * NS), round(luck.expovariate(1 / two) * NS)) for _ in range(n)]
    )
    # A p-quantile of n has a standard error √(p(1 − p)/n)/f; here f(q)·mean ≈ 0.01 for each, 0.02 for the sum.
    assert float(told.wait) == pytest.approx(0.1, abs=4.5 * math.sqrt(0.99 / 0.01 / n) * one)
    assert float(told.service) == pytest.approx(0.2, abs=4.5 * math.sqrt(0.99 / 0.01 / n) * two)
    assert float(told.total) == pytest.approx(0.2300, abs=4.5 * math.sqrt(0.99 / 0.01 / n) * two)
    assert float(told.beyond) == pytest.approx(0.001999, abs=4.5 * math.sqrt(0.002 / n) + 0.0003)
    assert abs(told.correlation) < 4.5 / math.sqrt(n)


pairs = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60)


@given(pairs, st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)]))
def test_the_union_bound_always_holds(given_pairs, share):
    told = joint(given_pairs, share)
    assert told.bound_beyond <= 1 - share
    assert told.beyond <= 2 * (1 - share)


def test_the_stages_of_a_run_are_those_of_its_result():
    rows = run("small_trace").result["requests"]
    got = stages("small_trace")
    assert sorted(w / NS for w, _ in got) == pytest.approx(sorted(row["wait"] for row in rows))
    assert sorted((w + s) / NS for w, s in got) == pytest.approx(
        sorted(row["end"] - row["arrival"] for row in rows)
    )


def test_nothing_finished_is_no_latency():
    with pytest.raises(ValueError, match="expected at least one"):
        joint([])
