"""Shares and bills of tenants: C24, C25's shares, N16, N17, Q31.9."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import labkit
from labkit.measure.fairness import UNITS, jain, services
from labkit.measure.fold import Measures
from tests.measure.lines import HEADER, admit, end, in_order, plan, ran, submit, tokens


def of(*events, header=HEADER):
    fold = Measures().feed_all([header, *in_order(*events)]).close()
    return fold, {service.unit: service for service in services(fold)}


def test_jain_by_hand():
    """(Σx)²/(n·Σx²): equal shares 1; one takes all of n: 1/n; 1 and 3: 16/20."""
    assert jain([5, 5, 5]) == 1
    assert jain([7, 0, 0, 0]) == Fraction(1, 4)
    assert jain([1, 3]) == Fraction(4, 5)
    assert jain([0, 0]) is None and jain([]) is None


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8))
def test_jain_lies_between_one_nth_and_one(shares):
    index = jain(shares)
    assert index is None or Fraction(1, len(shares)) <= index <= 1


def test_q31_9_fair_by_request_or_by_token():
    """Q31.9, C24: answers of 10 and 1000 tokens. One request each: 1 to 100 in tokens. Equal tokens: 100 to 1 in
    requests. Which of the two is fair depends on the unit alone."""

    def load(a_requests, b_requests):
        events, t = [], 0
        for tenant, count, length in (("A", a_requests, 10), ("B", b_requests, 1000)):
            for k in range(count):
                name = f"{tenant}{k}"
                events += [
                    submit(name, t, tenant=tenant, bound=1000),
                    *tokens(name, *range(t + 1, t + 1 + length)),
                ]
                t += length
                events.append(end("finish", name, t))
        return events

    _, by = of(load(1, 1))
    assert by["requests"].jain == 1
    assert by["output"].amounts == {"A": 10, "B": 1000}
    assert by["output"].jain == Fraction(1010**2, 2 * (10**2 + 1000**2)) < Fraction(52, 100)
    _, by = of(load(100, 1))
    assert by["output"].jain == 1
    assert by["requests"].amounts == {"A": 100, "B": 1}
    assert by["requests"].share("A") == Fraction(100, 101)


def test_n16_two_rules_two_bills_one_sum():
    """N16: a round of 12 ms with a prompt of 9 positions (red) and three decodes (blue): by positions red pays 9 ms of
    it, by seats 3 ms. Both bills sum to the 12 ms; neither is the true one."""
    names = ["p", "d1", "d2", "d3"]
    tenants = {"p": "red"}
    events = [submit(n, 0, tenant=tenants.get(n, "blue"), prefilled=n != "p") for n in names]
    events.append(plan(0, 0, ("p", 9, 0, "prefill"), *((n, 1, 4, "decode") for n in names[1:])))
    events += [admit(n, 0) for n in names]
    events += [e for n in names for e in tokens(n, 12)] + [ran(0, 0, 12)]
    events += [end("finish", n, 12) for n in names]
    fold, by = of(events)
    assert fold.work.bill("positions") == {"red": Fraction(9, 1000), "blue": Fraction(3, 1000)}
    assert fold.work.bill("seats") == {"red": Fraction(3, 1000), "blue": Fraction(9, 1000)}
    assert by["cost_positions"].total == by["cost_seats"].total == Fraction(12, 1000)
    assert by["tokens"].amounts == {"red": 9, "blue": 3}


def test_weights_divide_and_silent_tenants_count():
    """C25: 2 and 1 served at weights 2 and 1 are just; a tenant that asked and got nothing pulls every index down."""
    header = HEADER | {"scenario": {"tenants": {"red": {"weight": 2}, "blue": {"weight": 1}}}}
    events = [
        e
        for n, tenant in (("a", "red"), ("b", "red"), ("c", "blue"))
        for e in (submit(n, 0, tenant=tenant), *tokens(n, 5), end("finish", n, 5))
    ]
    _, by = of(events, header=header)
    assert by["requests"].jain == Fraction(9, 10)
    assert by["requests"].jain_weighted == 1
    _, by = of([*events, submit("x", 1, tenant="green"), end("reject", "x", 1)], header=header)
    assert by["requests"].amounts == {"red": 2, "blue": 1, "green": 0}
    assert by["requests"].jain == Fraction(9, 15)


def test_n17_every_unit_says_what_it_counts():
    _, by = of(submit("a", 0), tokens("a", 5), end("finish", "a", 5))
    assert by.keys() == UNITS.keys()
    assert all(service.meaning == UNITS[unit] and len(service.meaning) > 20 for unit, service in by.items())


@pytest.mark.parametrize("name", ["case09_two_tenants", "case05_swap_full"])
def test_bills_of_a_run_sum_to_its_busy_time(name):
    run = labkit.run(name)
    fold = Measures().feed_all(run.journal).close()
    for rule in ("positions", "seats"):
        assert float(sum(fold.work.bill(rule).values())) == run.result["summary"]["busy_seconds"]
