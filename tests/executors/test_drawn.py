"""Drawn prompts: equal names are equal tokens, and nothing else is."""

from __future__ import annotations

from collections import Counter

from labkit.executors.drawn import drawn_ids, drawn_prompt, drawn_seed


def test_a_shorter_draw_begins_a_longer_one():
    assert drawn_ids(3, "x", 100, 997)[:40] == drawn_ids(3, "x", 40, 997)
    assert drawn_ids(3, "x", 40, 997) != drawn_ids(4, "x", 40, 997)
    assert drawn_ids(3, "x", 40, 997) != drawn_ids(3, "y", 40, 997)


def test_prefix_runs_are_equal_position_by_position():
    """`["s", 48]` and `["s", 64]` share 48 (scenario.md); the next run begins anew, the rest is the request's own."""
    one = drawn_prompt(0, "A", [("s", 48), ("t", 8)], 70, 50257)
    two = drawn_prompt(0, "B", [("s", 64)], 70, 50257)
    three = drawn_prompt(0, "C", [("t", 8)], 9, 50257)
    assert len(one) == len(two) == 70
    assert one[:48] == two[:48]
    assert one[48:56] == three[:8]
    assert one[48:64] != two[48:64] and one[56:] != two[64:]
    assert drawn_prompt(0, "A", [], 70, 50257) != one


def test_ids_are_uniform():
    """χ² of 20,000 draws over 10 ids: 9 degrees of freedom, mean 9, deviation √18; five deviations are 30.2."""
    counts = Counter(drawn_ids(1, "uniform", 20_000, 10))
    assert set(counts) == set(range(10))
    assert sum((counts[i] - 2000) ** 2 / 2000 for i in range(10)) < 9 + 5 * 18**0.5


def test_seeds_differ_and_are_small_enough_for_json():
    seeds = {drawn_seed(seed, name) for seed in range(30) for name in "abc"}
    assert len(seeds) == 90
    assert max(seeds) < 2**53
