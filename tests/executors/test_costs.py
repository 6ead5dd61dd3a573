"""Cost models against plain sums over their items, in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.executors.costs import LinearCost, PaddedCost, TableCost

MS = Fraction(1_000_000)
exact = st.fractions(min_value=0, max_value=10**6, max_denominator=1000)
NAMES = "fixed per_token per_pair per_context per_seat swap_fixed swap_per_byte"
coefficients = st.fixed_dictionaries(dict.fromkeys(NAMES.split(), exact)).filter(
    lambda c: c["fixed"] + c["per_token"] + c["per_pair"] + c["per_seat"] > 0
)
items = st.lists(st.tuples(st.integers(1, 600), st.integers(0, 5000), st.booleans()), max_size=12)
transfers = st.lists(st.integers(0, 10**7), max_size=3)
buckets = st.lists(st.integers(1, 500), max_size=4, unique=True).map(sorted)


def nearest(value: Fraction) -> int:
    """Half-even, at least 1 ns."""
    return max(1, round(value))


def plain_sum(c: dict[str, Fraction], parts: list[tuple[int, int]], idle: int) -> Fraction:
    """The formula of E31.4 and the contract, item by item: each pair counted, r = 1..q."""
    total = c["fixed"] + idle * c["per_seat"]
    for q, s in parts:
        pairs = q * s + sum(range(1, q + 1))
        total += c["per_seat"] + c["per_token"] * q + c["per_pair"] * pairs + c["per_context"] * s
    return total


def padded_parts(parts, edges) -> list[tuple[int, int]]:
    """Each prompt chunk made as long as the longest in its bucket (E31.3)."""

    def bucket(q: int) -> int:
        return next((i for i, edge in enumerate(edges) if q <= edge), len(edges))

    longest: dict[int, int] = {}
    for q, _, prefill in parts:
        if prefill:
            longest[bucket(q)] = max(longest.get(bucket(q), 0), q)
    return [(longest[bucket(q)] if prefill else q, s) for q, s, prefill in parts]


def price(c, nbytes) -> Fraction:
    return c["swap_fixed"] + c["swap_per_byte"] * nbytes


@given(coefficients, items, transfers, st.integers(0, 4))
def test_linear_is_the_plain_sum(c, parts, moved, idle):
    cost = LinearCost(**c)
    load = cost.begin(idle)
    done: list[tuple[int, int]] = []
    wanted = Fraction(0)
    for q, s, prefill in parts:
        done.append((q, s))
        wanted = plain_sum(c, done, idle)
        assert load.ns_with(q, s, prefill) == nearest(wanted)
        load.add(q, s, prefill)
        assert load.ns() == nearest(wanted)
    wanted = plain_sum(c, done, idle)
    for nbytes in moved:
        load.add_transfer(nbytes)
        wanted += price(c, nbytes)
        assert cost.transfer(nbytes) == price(c, nbytes)
    assert load.ns() == nearest(wanted)  # rounded once, computing and transfers together


@given(coefficients, items, transfers, st.integers(0, 4), buckets)
def test_padded_is_the_plain_sum_after_padding(c, parts, moved, idle, edges):
    cost = PaddedCost(LinearCost(**c), edges)
    load = cost.begin(idle)
    for nbytes in moved:
        load.add_transfer(nbytes)
    extra = sum((price(c, nbytes) for nbytes in moved), Fraction(0))
    for at, (q, s, prefill) in enumerate(parts):
        wanted = nearest(plain_sum(c, padded_parts(parts[: at + 1], edges), idle) + extra)
        assert load.ns_with(q, s, prefill) == wanted
        load.add(q, s, prefill)
        assert load.ns() == wanted


@given(coefficients, st.integers(0, 300), st.integers(0, 300), st.integers(0, 40), st.integers(1, 100))
def test_alone_is_the_sum_of_its_rounds(c, computed, more, decodes, chunk):
    """Closed form against walking: chunks from `computed` to `total`, then decodes; unrounded."""
    total = computed + more
    rounds = []
    at = computed
    while at < total:
        rounds.append((min(chunk, total - at), at))
        at += rounds[-1][0]
    rounds += [(1, total + i) for i in range(decodes)]
    wanted = sum((plain_sum(c, [part], 0) for part in rounds), Fraction(0))
    linear = LinearCost(**c)
    assert linear.alone(computed, total, decodes, chunk) == wanted
    assert PaddedCost(linear, [16]).alone(computed, total, decodes, chunk) == wanted
    table = TableCost({1: Fraction(7, 3), 2: Fraction(9)})
    assert table.alone(computed, total, decodes, chunk) == len(rounds) * Fraction(7, 3)


def test_chunks_conserve_pairs_and_re_read_history():
    """Q31.4: k chunks of q after s re-read k·s + q·k(k−1)/2 positions and launch k − 1 times more; pairs are equal."""
    k, q, s = 5, 64, 100
    pairs = LinearCost(per_pair=Fraction(1))
    assert pairs.alone(s, s + k * q, 0, q) == pairs.alone(s, s + k * q, 0, k * q)
    reads = LinearCost(fixed=Fraction(1), per_context=Fraction(10**9))
    assert reads.alone(s, s + k * q, 0, q) == k + 10**9 * (k * s + q * k * (k - 1) // 2)


def test_padding_shows_e31_3():
    """64, 64 and 256 in one bucket cost 3·256 tokens: utilisation 384/768 = 1/2; two buckets leave none idle."""
    linear = LinearCost(per_token=Fraction(1))
    for edges, wanted in (([], 768), ([64], 384), ([100, 300], 384), ([300], 768)):
        load = PaddedCost(linear, edges).begin()
        for q in (64, 64, 256):
            load.add(q, 0, True)
        assert load.ns() == wanted


def test_table_counts_seats_and_idle_ones():
    table = TableCost({1: 6 * MS, 2: 10 * MS}, swap_fixed=Fraction(1, 2), swap_per_byte=Fraction(1, 4))
    load = table.begin(1)
    assert load.ns() == 6_000_000
    assert load.ns_with(50, 1000, True) == 10_000_000
    load.add(1, 7, False)
    load.add_transfer(3)
    assert load.ns() == 10_000_001  # 10 ms and 1.25 ns
    assert table.begin().ns() == 1  # nothing takes no time, but no round is instant


@pytest.mark.parametrize(
    ("ns", "wanted"), [("1/2", 1), ("3/2", 2), ("5/2", 2), ("7/2", 4), ("12501/5000", 3)]
)
def test_rounding_is_half_even_once(ns, wanted):
    load = TableCost({1: Fraction(ns)}).begin()
    load.add(1, 0, False)
    assert load.ns() == wanted


def test_what_is_no_cost_is_refused():
    with pytest.raises(ValueError, match="more than 0"):
        LinearCost(per_context=Fraction(1))
    with pytest.raises(ValueError, match="0 or more"):
        LinearCost(fixed=Fraction(-1))
    with pytest.raises(ValueError, match="every size"):
        TableCost({1: MS, 3: MS})
    with pytest.raises(ValueError, match="ascending"):
        PaddedCost(LinearCost(fixed=MS), [8, 8])
