"""Each equation three times: derived, counted or sampled, measured; the three agree, and could have disagreed."""

from dataclasses import replace
from fractions import Fraction

import pytest

from labkit.studies.three_ways import claim, counted_rows, three_ways
from labkit.theory.queueing_counts import Estimate

BY_HAND = {  # the chapter's and the ledger's values
    ("E31.1-2", "last_token"): Fraction(9, 10),
    ("E31.3", "padded_linear"): Fraction(1, 2),
    ("E31.3", "padded_attention"): Fraction(3, 8),
    ("E31.4", "pairs"): 4096 * 4097 // 2,
    ("C11", "rereads"): 512 * (8 * 7 // 2),  # 8 chunks of 512: 0 + 512 + … + 3584
    ("E31.5", "pages"): 33,
    ("E31.6-8", "area"): 4,
}


def test_e31_1_to_e31_8_all_three_ways_give_the_chapters_value():
    rows = {(row.equation, row.quantity): row for row in counted_rows()}
    assert set(rows) == set(BY_HAND)
    for key, row in rows.items():
        assert row.derived == row.counted == row.measured == BY_HAND[key], key
        assert row.agree


def test_a_row_that_differs_does_not_agree():
    row = counted_rows()[0]
    assert not replace(row, measured=Fraction(8, 10)).agree
    assert not replace(row, counted=Fraction(8, 10)).agree
    near = Estimate(1.0, 0.05, 0.95, 8)
    random = replace(row, derived=0.96, counted=near, measured=near, shift=0.0)
    assert random.agree
    assert not replace(random, shift=0.1).agree  # 1.06 is outside of 1 ± 0.05
    assert not replace(random, derived=0.9).agree


def test_a_claim_takes_numbers_for_its_symbols():
    assert claim("mean_times", "sojourn", **{"\\lambda": 95, "\\mu": 100}) == Fraction(1, 5)
    with pytest.raises(KeyError):
        claim("no such", "step")


@pytest.mark.long
def test_e31_9_to_e31_13_the_three_ways_agree_at_x4():
    """13 rows; of the 6 random ones each of two intervals of 95 % may miss: two misses of 12 have probability 0.12."""
    rows = three_ways()
    random = [row for row in rows if isinstance(row.measured, Estimate)]
    truth = {
        "empty": 0.2,
        "number": 4.0,
        "sojourn": 0.05,
        "waiting": 0.04,
        "tail": 0.1353352832,
        "p99": 0.2302585093,
    }
    assert {row.quantity: pytest.approx(row.derived) for row in random} == truth
    hits = sum(row.counted.covers(row.derived) for row in random)
    hits += sum(row.measured.covers(row.derived + row.shift) for row in random)
    assert hits >= 9  # 12 intervals: three misses or fewer have probability 0.998 where all are right
