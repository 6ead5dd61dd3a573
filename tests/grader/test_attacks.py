"""Hostile submissions gain nothing, change nothing of others, and the grader lives through all of them.

One run a kind of box, with the honest among the hostile; `python -m tests.grader.attacks` prints the same as a table.
"""

import os

import pytest

from labkit.show.text import t
from tests.grader.attacks import ATTACKS, FILES, Outcome

BOXES = [
    pytest.param("bwrap", marks=pytest.mark.sandbox),
    pytest.param(
        "uid",
        marks=[
            pytest.mark.long,
            pytest.mark.skipif(
                getattr(os, "geteuid", lambda: 1)() != 0, reason="only root may take another user id"
            ),
        ],
    ),
]


@pytest.fixture(scope="module", params=BOXES)
def outcome(request, tmp_path_factory):
    return Outcome(request.param, tmp_path_factory.mktemp("attacks"))


def test_every_submission_has_a_row(outcome):
    assert len(outcome.names) == len(ATTACKS) + len(FILES) > 70
    assert set(outcome.names.values()) <= set(outcome.rows)


def test_no_attack_gains_a_mark(outcome):
    gained = {attack: outcome.rows[name].earned for attack, name in outcome.names.items()}
    assert {attack: earned for attack, earned in gained.items() if earned} == {}


def test_no_attack_is_blamed_on_the_grader(outcome):
    for attack, name in outcome.names.items():
        marks = outcome.rows[name].marks
        assert marks is not None
        assert marks.not_run != t("grade.file.own_fault"), attack
        assert all(mark.status != "fault" for mark in marks.marks), attack


def test_honest_students_keep_their_marks(outcome):
    earned = {name: outcome.rows[name].earned for name in ("<b>honest", "honest", "zz-honest", "half")}
    assert {name: earned[name] for name in ("<b>honest", "honest", "zz-honest")} == dict.fromkeys(
        ("<b>honest", "honest", "zz-honest"), 9
    )
    wrong = [mark for mark in outcome.rows["half"].marks.marks if mark.status != "right"]
    # TTFT that holds the wait twice, and what the student builds on it.
    assert [mark.answer for mark in wrong] == ["ttft", "stages"]
    assert wrong[0].misconception == "wait-twice"


def test_nothing_outside_was_changed(outcome):
    assert outcome.changed == set()
    assert outcome.canaries == []


def test_forged_replies_are_recognised(outcome):
    for attack in ("reply ahead", "channel flooded", "reply of a wild shape"):
        marks = outcome.rows[outcome.names[attack]].marks
        assert {mark.status for mark in marks.marks} == {"forged"}, attack


def test_what_attackers_wrote_is_escaped(outcome):
    for page in outcome.out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<script" not in text
        assert "<img" not in text
        assert "<b>" not in text
    assert any(
        "&lt;script&gt;" in p.read_text(encoding="utf-8") for p in (outcome.out / "students").iterdir()
    )


def test_feedback_tells_no_expected_value(outcome):
    """The attacker's own wrong number may stand in a page; the right ones of his numbers never do."""
    from labkit.grade import catalog
    from labkit.grade.exercise import literal
    from tests.grader.attacks import SECRET

    exercise = catalog.find("31.1")
    name = outcome.names["equal to everything"]
    given = exercise.numbers(SECRET, name)
    feedback = " ".join(mark.feedback for mark in outcome.rows[name].marks.marks)
    for expected in (
        given["first"] - given["arrival"],
        (given["last"] - given["first"]) / (given["count"] - 1),
    ):
        assert literal(expected) not in feedback
