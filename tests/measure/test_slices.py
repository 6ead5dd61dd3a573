"""Slices and weights: C29."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.measure.fold import Measures
from labkit.measure.slices import DIMENSIONS, by_revision, length_class, pooled_itl, revision, slices
from tests.measure.lines import HEADER, admit, end, in_order, plan, submit, tokens


def fold_of(*requests):
    """Requests as (id, prompt, times, more)."""
    events = []
    for name, prompt, times, more in requests:
        events += [
            submit(name, 0, prompt=prompt, **more),
            *tokens(name, *times),
            end("finish", name, times[-1]),
        ]
    return Measures().feed_all([HEADER, *in_order(events)]).close()


def test_c29_the_mean_of_tpots_hides_a_stall_and_is_not_the_pooled_mean():
    """C29: a short answer at 100 ms a token and a long one of ninety 1 ms gaps with a stall of 910 ms among them.
    TPOT: 100 and 1000/91 ms, mean 55.5; pooled over 92 gaps: 1100/92 ms. The stall shows in neither, the longest
    gap shows it."""
    times = [100, *range(101, 146), *range(1055, 1100 + 1)]
    fold = fold_of(("short", 4, (100, 200), {}), ("long", 4, times, {}))
    gaps = len(times) - 1
    assert (times[-1] - times[0], gaps) == (1000, 91)
    tpot, itl = fold.sample("tpot"), fold.sample("itl")
    assert tpot.mean() == (Fraction(100) + Fraction(1000, 91)) / 2 / 1000
    assert itl.mean() == Fraction(1100, 92) / 1000 == pooled_itl(fold.requests)
    assert tpot.mean() > 4 * itl.mean()
    # pooled ITL is TPOT weighted by O − 1
    assert itl.mean() == (1 * Fraction(100) + 91 * Fraction(1000, 91)) / 92 / 1000
    assert itl.greatest().high == Fraction(910, 1000) > 9 * tpot.greatest().high
    assert itl.percentile(Fraction(9, 10)).high == Fraction(1, 1000)


def test_every_dimension_divides_the_accepted_requests():
    fold = fold_of(
        ("a", 3, (5, 7), {"tenant": "red"}), ("b", 4, (6, 9, 10, 11), {"tenant": "blue"}),
        ("c", 17, (8,), {"tenant": "red"}),
    )  # fmt: skip
    labels = {name: [(s.label, len(s.requests)) for s in slices(fold.requests, name)] for name in DIMENSIONS}
    assert labels == {
        "input": [("1–3", 1), ("4–15", 1), ("16–63", 1)],
        "output": [("1–3", 2), ("4–15", 1)],
        "hit": [("no hit", 3)],
        "tenant": [("red", 2), ("blue", 1)],
    }
    [red, blue] = slices(fold.requests, "tenant")
    assert red.ttft.mean() == Fraction(13, 2000) and blue.ttft.mean() == Fraction(6, 1000)
    assert red.tpot.size == 1 and red.itl_pooled == Fraction(2, 1000)
    assert blue.itl_pooled == Fraction(5, 3000)


def test_hits_stand_apart_and_rejected_requests_do_not_count():
    events = in_order(
        submit("hit", 0), plan(0, 0, ("hit", 1, 3, "prefill")), admit("hit", 0, context=3, cached=3),
        tokens("hit", 4), end("finish", "hit", 4),
        submit("miss", 0), tokens("miss", 9), end("finish", "miss", 9), submit("no", 1), end("reject", "no", 1),
    )  # fmt: skip
    found = slices(Measures().feed_all(events).close().requests, "hit")
    assert [(s.label, [t.id for t in s.requests]) for s in found] == [("hit", ["hit"]), ("no hit", ["miss"])]


@pytest.mark.parametrize(
    ("tokens", "label"), [(0, "0"), (1, "1–3"), (3, "1–3"), (4, "4–15"), (255, "64–255"), (256, "256–1023")]
)
def test_length_classes(tokens, label):
    assert length_class(tokens) == label


@given(st.integers(1, 10**9))
def test_a_length_lies_in_its_class(tokens):
    low, high = map(int, length_class(tokens).split("–"))
    assert low <= tokens <= high and high + 1 == 4 * low


def test_runs_of_one_revision_are_one_slice():
    """C29: revision is what the first line says of the executor and its model."""
    fold = fold_of(("a", 4, (5, 7), {}))
    torch = {
        "kind": "torch",
        "device": "cpu",
        "dtype": "float32",
        "model": {"name": "tiny", "revision": "r1"},
    }
    one = HEADER | {"executor": torch}
    two = HEADER | {"executor": torch | {"model": {"name": "tiny", "revision": "r2"}}}
    assert revision(HEADER) == "virtual" and revision(one) == "torch tiny r1 float32 cpu"
    parts = by_revision([(one, fold.requests), (two, fold.requests), (one, fold.requests)])
    assert [(s.label, len(s.requests)) for s in parts] == [(revision(one), 2), (revision(two), 1)]


def test_nothing_has_no_pooled_gap():
    assert pooled_itl([]) is None
    assert pooled_itl(fold_of(("a", 4, (5,), {})).requests) is None
