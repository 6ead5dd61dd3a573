"""From a student's process to marks: every answer of an exercise is asked for, checked outside, and put into words."""

from __future__ import annotations

import random
import secrets
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from labkit.grade.catalog import hidden_checks
from labkit.grade.checks import Trial, Verdict
from labkit.grade.exercise import NOT_THERE, Exercise, Given
from labkit.grade.forms import FormError
from labkit.grade.session import NoAnswerError, Session
from labkit.show.text import t


@dataclass(frozen=True)
class Mark:
    """What one answer earned. `status`: right, wrong, form, or the reason why no answer came."""

    answer: str
    points: int
    earned: float
    status: str
    misconception: str = ""
    feedback: str = ""


@dataclass(frozen=True)
class Marks:
    """What one submission earned: a mark an answer, remarks on cells that did not run, or why nothing could be run."""

    exercise: str
    marks: tuple[Mark, ...] = ()
    cells: tuple[dict[str, Any], ...] = ()
    not_run: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def earned(self) -> float:
        """All points earned by answers that are graded by machine."""
        return sum(mark.earned for mark in self.marks)


def judge(exercise: Exercise, given: Given, session: Session) -> Marks:
    """Ask and check every answer of an exercise. Never raises for anything that a student did."""
    marks = [
        judge_answer(exercise, answer.name, given, session)
        for part in exercise.parts
        for answer in part.answers
    ]
    return Marks(
        exercise.id, tuple(marks), tuple(asdict(error) for _, error in sorted(session.errors.items()))
    )


def not_run(exercise: Exercise, reason: str) -> Marks:
    """No marks for any answer, with the reason why the submission could not be run."""
    said = t("grade.verdict.not_run", reason=reason)
    marks = [Mark(a.name, a.points, 0, "not_run", "", said) for part in exercise.parts for a in part.answers]
    return Marks(exercise.id, tuple(marks), not_run=reason)


def judge_answer(exercise: Exercise, name: str, given: Given, session: Session) -> Mark:
    """Ask for one answer, check it with fresh randomness, and put the verdict into words."""
    answer = exercise.answer(name)
    section = next(part.section for part in exercise.parts if answer in part.answers)
    trial = Trial(exercise, name, session, given, random.Random(secrets.randbits(128)))
    try:
        verdict: Verdict = hidden_checks(exercise)[name](trial)
    except NoAnswerError as error:
        if error.reason == NOT_THERE:
            return Mark(
                answer.name, answer.points, 0, "wrong", NOT_THERE, _said(exercise, NOT_THERE, section)
            )
        said = t(f"grade.verdict.{error.reason}", name=answer.name, seconds=f"{error.seconds:g}")
        return Mark(answer.name, answer.points, 0, error.reason, "", said)
    except FormError as error:
        said = t("grade.verdict.form", problem=str(error))
        return Mark(answer.name, answer.points, 0, "form", "", said)
    except Exception as error:  # noqa: BLE001 - a check that a strange answer breaks costs this answer, and is told
        said = t("grade.verdict.fault", error=f"{type(error).__name__} in {exercise.file}")
        return Mark(answer.name, answer.points, 0, "fault", "", said)
    earned = float(Fraction(answer.points) * verdict.share)
    if verdict.share == 1:
        return Mark(answer.name, answer.points, earned, "right", "", t("grade.verdict.right"))
    if verdict.misconception:
        said = _said(exercise, verdict.misconception, section)
    else:
        said = t("grade.verdict.general", section=section)
    return Mark(answer.name, answer.points, earned, "wrong", verdict.misconception, said)


def _said(exercise: Exercise, misconception: str, section: str) -> str:
    known = exercise.misconception(misconception, section)
    return t("grade.verdict.misconception", text=known.text, section=known.section)
