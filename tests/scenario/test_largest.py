"""The largest value that meets a target: against looking at every value, and honest where the order is broken."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.errors import InputError
from labkit.scenario import largest
from labkit.scenario.largest import Found, Probe, Target, search, span, target


def looks(function, bound: float, half: float | None = None):
    """A probe of a plain function, and the values that it was asked for."""
    asked = []
    goal = Target("m", True, bound)

    def probe(value):
        asked.append(value)
        mean = function(value)
        return Probe(value, mean, half, *goal.verdict(mean, half))

    return probe, asked


@given(st.integers(2, 400), st.floats(-10, 410))
def test_of_an_increasing_figure_it_finds_what_looking_at_all_finds(count, bound):
    probe, asked = looks(float, bound)
    found = search(range(count), probe)
    met = [value for value in range(count) if value <= bound]
    assert (found.best.value if found.best else None) == (met[-1] if met else None)
    assert found.orderly
    assert len(asked) == len(set(asked)) <= largest.COARSE + 1 + count.bit_length()
    if met and met[-1] < count - 1:
        assert found.next.value == met[-1] + 1
        assert not found.next.met


def test_a_dip_is_found_by_the_coarse_look_and_told():
    """Met up to 20 and again from 70 to 80: the answer is the last one, and the order is called broken."""
    probe, _ = looks(lambda v: 0 if v <= 20 or 70 <= v <= 80 else 1, 0.5)
    found = search(range(101), probe)
    assert found.best.value == 80
    assert not found.orderly


def test_a_target_met_everywhere_or_nowhere():
    probe, _ = looks(float, 1000)
    found = search(range(11), probe)
    assert (found.best.value, found.next) == (10, None)
    probe, _ = looks(float, -1)
    found = search(range(11), probe)
    assert (found.best, found.next.value) == (None, 0)


def test_what_is_sure_is_apart_from_what_is_met():
    """± 3 around the value, bound 50: sure below 47, sure above 53."""
    probe, _ = looks(float, 50, half=3.0)
    found = search(range(101), probe)
    assert found.best.value == 50
    assert (found.best.sure, found.next.sure) == (False, False)
    assert found.surely_met.value < 47 <= 53 < found.surely_missed.value


def test_verdicts():
    most, least = Target("m", True, 1.0), Target("m", False, 1.0)
    assert most.verdict(1.0, None) == (True, True)
    assert most.verdict(1.1, 0.2) == (False, False)
    assert most.verdict(1.1, 0.05) == (False, True)
    assert least.verdict(1.1, 0.05) == (True, True)
    assert least.verdict(0.9, None) == (False, True)
    assert most.verdict(None, None) == (False, True)  # undefined is no good value


def test_orderly_is_about_all_values():
    one = [Probe(i, 0.0, None, met, True) for i, met in enumerate((True, False, True))]
    assert not Found(one[2], None, tuple(one)).orderly


@pytest.mark.parametrize(
    ("given_range", "step", "first", "second", "last"),
    [
        ("a=1:64", None, 1, 2, 64),
        ("a=10.0:60.0", None, 10, Decimal("10.1"), 60),
        ("a=0:10000", None, 0, 100, 10000),
        ("a=1:2", "0.3", 1, Decimal("1.3"), Decimal("1.9")),
    ],
)
def test_the_values_of_a_range(given_range, step, first, second, last):
    name, steps, values = span(given_range, step)
    assert (name, steps) == ("a", ("a",))
    assert (values[0], values[1], values[-1]) == (first, second, last)


@pytest.mark.parametrize(
    ("given_range", "step"),
    [
        ("a=1", None),
        ("a=2:1", None),
        ("a=1:1", None),
        ("a=x:y", None),
        ("a=1:2", "0"),
        ("a=0:1", "0.0000001"),
    ],
)
def test_what_is_no_range_is_one_line(given_range, step):
    with pytest.raises(InputError) as caught:
        span(given_range, step)
    assert len(caught.value.problems) == 1


def test_targets():
    assert target("ttft_p99<=0.5") == Target("ttft_p99", True, 0.5)
    assert target(" goodput >= 7 ") == Target("goodput", False, 7.0)
    for text in ("ttft_p99<0.5", "ttft_p99", "<=1", "a<=b", "a<=1e999"):
        with pytest.raises(InputError, match="expected METRIC<=NUMBER"):
            target(text)
