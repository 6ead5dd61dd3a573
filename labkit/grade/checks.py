"""What hidden checks are written with. They run in the grader's process and see a student's answers as plain data.

A check is a function of a Trial that returns a Verdict; `value` and `function` make the common ones. Right and wrong
are decided here, outside the student's process, against a reference and on inputs that are drawn afresh each run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from labkit.grade.exercise import CONSTANT, Exercise, Given
from labkit.grade.forms import FormError, Function

CASES = 8
WRONG_FORM = object()


@dataclass(frozen=True)
class Verdict:
    """What an answer earns: a share of its points, and which misconception was recognised."""

    share: Fraction
    misconception: str = ""


def right() -> Verdict:
    """All points."""
    return Verdict(Fraction(1))


def wrong(misconception: str = "") -> Verdict:
    """No points."""
    return Verdict(Fraction(0), misconception)


def partly(share: Fraction, misconception: str = "") -> Verdict:
    """A share of the points."""
    return Verdict(share, misconception)


class Asked(Protocol):
    """A student's process as the grader sees it; both raise `session.NoAnswerError` where nothing usable comes."""

    def value(self, name: str) -> Any:
        """The value of a name."""

    def call(self, name: str, args: tuple[Any, ...]) -> Any:
        """The result of calling a function of that name."""


@dataclass(frozen=True)
class Trial:
    """One run of one answer's check: the student's process, the given numbers, and fresh randomness."""

    exercise: Exercise
    name: str
    asked: Asked
    given: Given
    rng: random.Random

    def answer(self, name: str | None = None) -> Any:
        """The answer of that name (default: the one that is judged), read through its declared form."""
        declared = self.exercise.answer(name or self.name)
        return declared.form.read(self.asked.value(declared.name))

    def call(self, *args: Any, name: str | None = None) -> Any:
        """The result of the student's function, read through its declared form."""
        declared = self.exercise.answer(name or self.name)
        return declared.form.read(self.asked.call(declared.name, args))

    def same(self, given: Any, expected: Any) -> bool:
        """Whether an answer (or a result) equals a reference, as the declared form compares."""
        return self.exercise.answer(self.name).form.same(given, expected, self.rng)


Check = Callable[[Trial], Verdict]


def value(
    reference: Callable[[Given], Any], wrong_ways: Mapping[str, Callable[[Given], Any]] | None = None
) -> Check:
    """A check of a value: `reference(given)` is right; a way to be wrong is recognised by the value that it gives."""

    def check(trial: Trial) -> Verdict:
        answer = trial.answer()
        if trial.same(answer, reference(trial.given)):
            return right()
        for misconception, way in (wrong_ways or {}).items():
            if trial.same(answer, way(trial.given)):
                return wrong(misconception)
        return wrong()

    return check


def function(
    reference: Callable[..., Any],
    draw: Callable[[random.Random], tuple[Any, ...]],
    wrong_ways: Mapping[str, Callable[..., Any]] | None = None,
    cases: int = CASES,
    always: tuple[tuple[Any, ...], ...] = (),
) -> Check:
    """A check of a function. `draw` gives arguments of the types that the declared `example` has.

    The function must agree with the reference on `always` and on freshly drawn arguments. A way to be wrong is
    recognised when it gives what the student's function gives in every case.
    """

    def check(trial: Trial) -> Verdict:
        form = trial.exercise.answer(trial.name).form
        assert isinstance(form, Function)
        inputs = [*always, *(draw(trial.rng) for _ in range(cases))]
        results: list[Any] = []
        for args in inputs:
            try:
                results.append(trial.call(*args))
            except FormError:
                if not results:
                    raise
                results.append(
                    WRONG_FORM
                )  # of the wrong form for these arguments alone: simply not the reference's result
        if all(_agrees(trial, a, reference(*args)) for a, args in zip(results, inputs, strict=True)):
            return right()
        for misconception, way in (wrong_ways or {}).items():
            if all(_agrees(trial, a, way(*args)) for a, args in zip(results, inputs, strict=True)):
                return wrong(misconception)
        same = all(_agrees(trial, results[0], other) for other in results[1:])
        return wrong(CONSTANT if same and len(results) > 1 else "")

    return check


def _agrees(trial: Trial, result: Any, expected: Any) -> bool:
    if result is None or expected is None or result is WRONG_FORM:
        return result is expected
    return trial.same(result, expected)
