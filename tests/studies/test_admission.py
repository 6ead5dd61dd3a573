"""E31.14 and N01: the door's two errors on requests made by hand, the counterfactual checked the long way round."""

from __future__ import annotations

import copy

import pytest

from labkit.scenario import run
from labkit.studies import admission

TABLE = {"kind": "table", "seconds": {"1": 0.01}}


def requests(*rows: tuple[str, float, int, int, float]) -> list[dict]:
    """(id, arrival, output, declared bound, deadline); prompts of one token."""
    names = ("id", "arrival", "output_tokens", "max_output_tokens", "deadline")
    return [{**dict(zip(names, row, strict=True)), "prompt_tokens": 1} for row in rows]


def test_a_false_reject_by_hand():
    """A declares 100 tokens (1 s) and has 10; B, with 0.5 s, is turned away: Ŵ ≈ 1 s. Let in, it ends at 0.2 s."""
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 1, "seats": 1},
        "cost": TABLE,
        "requests": requests(("A", 0, 10, 100, 5), ("B", 0.001, 10, 10, 0.501)),
    }
    (told,) = admission.risk_test(document, [0])
    assert (told.submitted, told.admitted, told.met, told.refused) == (2, 1, 1, 1)
    assert (told.false_admits, told.false_rejects, told.twin_rejects) == (0, 1, 1)


def test_a_right_refusal_by_hand():
    """The same, but A really has 100 tokens: B would have begun after 1 s."""
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 1, "seats": 1},
        "cost": TABLE,
        "requests": requests(("A", 0, 100, 100, 5), ("B", 0.001, 10, 10, 0.501)),
    }
    (told,) = admission.risk_test(document, [0])
    assert (told.refused, told.false_rejects) == (1, 0)


def test_a_false_admit_by_hand_and_the_margin_that_cures_it():
    """Planning believes 10 ms a round, a round takes 20: A's 20 tokens take 0.4 s, not 0.2. Δ = 0.15 s refuses it."""
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 1, "seats": 1},
        "cost": {"kind": "table", "seconds": {"1": 0.02}},
        "estimate": TABLE,
        "requests": requests(("A", 0, 20, 20, 0.3)),
    }
    bare, wide = admission.risk_test(document, [0, 0.15])
    assert (bare.admitted, bare.false_admits, bare.refused) == (1, 1, 0)
    assert (wide.admitted, wide.false_admits, wide.refused, wide.false_rejects) == (0, 0, 1, 0)


def test_the_twin_where_all_are_let_in_answers_another_question():
    """A declares 1 s and takes 0.1 s; B and C, 0.3 s each with 0.45 s to spare, are both turned away.

    Let in alone either would end at 0.4 s: two false rejects. Let in together C ends at 0.7 s: the twin counts one.
    """
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 1, "seats": 1},
        "cost": TABLE,
        "requests": requests(("A", 0, 10, 100, 5), ("B", 0.001, 30, 30, 0.451), ("C", 0.002, 30, 30, 0.452)),
    }
    (told,) = admission.risk_test(document, [0])
    assert (told.admitted, told.refused, told.false_rejects, told.twin_rejects) == (1, 2, 2, 1)


@pytest.mark.parametrize("margin", [0, 0.5])
def test_each_counterfactual_is_a_whole_run_without_the_door(margin):
    """Without the short cuts of `risk_test`: no early end, nobody left out who came after the deadline."""
    document = admission.rush(count=60)
    judged = copy.deepcopy(document)
    judged["policy"] = {"margin_seconds": margin}
    rows = run(judged).result["requests"]
    refused = [row["id"] for row in rows if row["outcome"] == "rejected"]
    assert refused
    wrongly = 0
    for name in refused:
        opened = copy.deepcopy(document)
        opened["policy"] = {"backpressure": ["output", "active", "queue"]}
        opened["requests"] = [
            one for one in opened["requests"] if one["id"] == name or one["id"] not in refused
        ]
        (row,) = [row for row in run(opened, check=False).result["requests"] if row["id"] == name]
        wrongly += row["outcome"] == "finished"
    (told,) = admission.risk_test(document, [margin])
    assert (told.refused, told.false_rejects) == (len(refused), wrongly)
    late = [row["id"] for row in rows if row["outcome"] == "expired"]
    assert told.false_admits == len(late)


def test_a_larger_margin_trades_one_error_for_the_other():
    narrow, wide = admission.risk_test(admission.rush(count=100), [0, 2])
    assert narrow.false_admits > 0 == wide.false_admits
    assert narrow.false_rejects < wide.false_rejects
    for told in (narrow, wide):
        assert told.met + told.false_admits + told.refused == told.submitted == 100


def test_n01_each_check_alone_can_refuse_and_what_is_missing_is_said():
    checks = {check.item: check for check in admission.checklist()}
    assert [(item, check.reason) for item, check in checks.items() if check.reason] == [
        ("length", "capacity"),
        ("cache growth", "capacity"),
        ("queue room", "queue_full"),
        ("deadline", "deadline"),
    ]
    for check in checks.values():
        assert check.before == ()
        assert bool(check.refused) == bool(check.reason)
    # B's prompt of 400 is over 256 tokens a round; its 420 positions are 27 pages of 1 MiB, 20 are there.
    assert checks["length"].refused == checks["cache growth"].refused == ("B",)
    # A runs, B waits, C is one too many; C's Ŵ + Ŝ is about 0.6 s and 4.5 + 0.6 > 5.
    assert checks["queue room"].refused == checks["deadline"].refused == ("C",)
    assert [item for item, check in checks.items() if check.reason is None] == [
        "model",
        "tenant quota",
        "body",
    ]
