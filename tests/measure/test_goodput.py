"""X5's denominators, and what counts as on target."""

from fractions import Fraction

import pytest

from labkit.core.types import Outcome
from labkit.measure.fold import Measures
from labkit.measure.goodput import Targets, denominators, in_ns
from labkit.measure.metrics import measure
from tests.measure.lines import MS, deliver, end, in_order, submit, token, tokens

X5 = {"submitted": 1000, "rejected": 100, "failed": 50, "finished": 850}


def test_x5_every_denominator():
    """X5: 10, 8.5 and 7 requests/s; 700/850, 700/900 and 70 %, each with its parts and population by name."""
    shares = {share.name: share for share in denominators(X5, 700, Fraction(100))}
    assert {name: share.value for name, share in shares.items()} == {
        "submit_rate": 10,
        "throughput": Fraction(17, 2),
        "goodput": 7,
        "on_target_of_finished": Fraction(700, 850),
        "on_target_of_accepted": Fraction(700, 900),
        "on_target_of_submitted": Fraction(7, 10),
    }
    assert [(s.numerator, s.of, s.denominator, s.per) for s in shares.values()] == [
        (1000, "submitted", 100, "seconds"),
        (850, "finished", 100, "seconds"),
        (700, "on_target", 100, "seconds"),
        (700, "on_target", 850, "finished"),
        (700, "on_target", 900, "accepted"),
        (700, "on_target", 1000, "submitted"),
    ]
    assert {s.population for s in shares.values()} == {"submitted", "finished", "accepted"}


@pytest.mark.parametrize(("counts", "on_target"), [(X5 | {"failed": 51}, 700), (X5, 851), (X5, -1)])
def test_parts_have_to_add_up(counts, on_target):
    with pytest.raises(ValueError, match="add up"):
        denominators(counts, on_target, Fraction(100))


def test_nothing_over_nothing_is_undefined():
    counts = {"submitted": 0, "finished": 0}
    assert {share.value for share in denominators(counts, 0, Fraction(0))} == {None}


def events():
    """A: 1 token at 10 ms. B: at 20, 30, 60 ms, deadline 50 ms. C: expires without one. D: rejected. E: in chunks."""
    return in_order(
        submit("A", 0), tokens("A", 10), end("finish", "A", 10),
        submit("B", 0, deadline=50), tokens("B", 20, 30, 60), end("finish", "B", 60),
        submit("C", 0), end("expire", "C", 40), submit("D", 5), end("reject", "D", 5),
        submit("E", 0, direct=False), [token("E", 10, 1), token("E", 20, 2)],
        [deliver("E", 20, 1), deliver("E", 20, 2), token("E", 90, 3)],
        [end("finish", "E", 90), deliver("E", 90, 3, at=95)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("targets", "met"),
    [
        (Targets(), "ABE"),
        (Targets(ttft=10 * MS), "AE"),
        (Targets(ttft=10 * MS, point="client"), "A"),
        (Targets(ttft=9 * MS), ""),
        (Targets(tpot=20 * MS), "AB"),
        (Targets(tpot=20 * MS - 1), "A"),
        (Targets(itl_max=30 * MS), "AB"),
        (Targets(itl_max=70 * MS), "ABE"),
        (Targets(itl_max=74 * MS, point="client"), "AB"),
        (Targets(itl_max=75 * MS, point="client"), "ABE"),
        (Targets(sojourn=90 * MS), "ABE"),
        (Targets(sojourn=90 * MS, point="client"), "AB"),
        (Targets(deadline=True), "AE"),
        (Targets(quality=lambda name: name != "B"), "AE"),
        (Targets(ttft=10 * MS, quality={"E"}.__contains__), "E"),
    ],
)
def test_targets(targets, met):
    """Bounds are inclusive; one token cannot miss a TPOT; who did not finish is never on target; quality counts."""
    fold = Measures(targets).feed_all(events()).close()
    assert "".join(sorted(t.id for t in fold.requests if t.on_target)) == met
    metrics = measure(events(), targets)
    assert metrics["goodput"] == Fraction(len(met) * 1000, 95)
    assert metrics["on_target_of_submitted"] == Fraction(len(met), 5)
    assert metrics["on_target_of_accepted"] == Fraction(len(met), 4)
    assert metrics["on_target_of_finished"] == Fraction(len(met), 3)
    assert metrics["throughput_on_target"] == Fraction(len(met) * 1000, 95)


def test_what_was_never_wholly_delivered_is_on_target_at_the_worker_alone():
    """A journal that breaks off before the last delivery: at the client nobody knows that it came in time."""
    lines = in_order(
        submit("A", 0, direct=False), [token("A", 10, 1), end("finish", "A", 10)], submit("B", 12)
    )
    for point, met in (("worker", 1), ("client", 0)):
        fold = Measures(Targets(sojourn=50 * MS, point=point)).feed_all(lines).close()
        assert (fold.counts["finished"], fold.on_target) == (1, met)


def test_the_fold_gives_the_counts_of_the_table():
    fold = Measures().feed_all(events()).close()
    shares = denominators(fold.counts, fold.on_target, fold.seconds)
    assert [share.numerator for share in shares] == [5, 3, 3, 3, 3, 3]
    assert set(fold.counts) == {"submitted", *(outcome.value for outcome in Outcome)}


def test_a_bound_in_seconds_is_whole_nanoseconds():
    assert in_ns(Fraction(1, 2)) == 500_000_000
    assert in_ns(Fraction(15, 10**10)) == 1
