"""The checks that a student runs in the next cell: form and common misconceptions, at once, never the value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from labkit.grade import values
from labkit.grade.catalog import find
from labkit.grade.exercise import Answer, Exercise, Part
from labkit.grade.forms import FormError, Function
from labkit.show.text import t


class NotYetError(AssertionError):
    """An answer that cannot be right yet; IPython shows its lines without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def checker(exercise_id: str, namespace: Mapping[str, Any]) -> Callable[[str], None]:
    """The `check` of a notebook: `check("a")` looks at part a's answers in `namespace` (the notebook's `globals()`).

    It prints one line when all is well and raises NotYetError, in lines for the student, when something is not.
    """
    exercise = find(exercise_id)

    def check(key: str) -> None:
        keys = [part.key for part in exercise.parts if part.answers]
        if key not in keys:
            said = t(
                "grade.public.unknown", exercise=exercise.id, part=repr(key), parts=t("list.comma").join(keys)
            )
            raise NotYetError(said)
        problems = remarks(exercise, exercise.part(key), namespace)
        if problems:
            raise NotYetError("\n".join(problems))
        print(t("grade.public.good", part=key))

    return check


def remarks(exercise: Exercise, part: Part, namespace: Mapping[str, Any]) -> list[str]:
    """All that can be said against a part's answers without knowing them: form first, then misconceptions."""
    read: dict[str, Any] = {}
    problems = []
    for answer in part.answers:
        problem = _look(answer, namespace, read)
        if problem:
            problems.append(problem)
    if problems:
        return problems
    given = {name: _exact(namespace.get(name, value)) for name, value in exercise.given.items()}
    shown = dict.fromkeys(hint.misconception for hint in part.hints if _applies(hint.when, read, given))
    return [
        t("grade.public.hint", section=known.section, text=known.text)
        for known in map(exercise.misconceptions.__getitem__, shown)
    ]


def _look(answer: Answer, namespace: Mapping[str, Any], read: dict[str, Any]) -> str:
    """Read one answer into `read`; the problem with its form, if there is one."""
    name = answer.name
    if name not in namespace:
        return t("grade.public.missing", name=name)
    found = namespace[name]
    if found is ...:
        return t("grade.public.todo", name=name)
    try:
        if not isinstance(answer.form, Function):
            read[name] = answer.form.read(_plain(found))
            return ""
        if not callable(found):
            return t(
                "grade.public.form",
                name=name,
                problem=t("grade.form.whole_answer", form=answer.form.describe()),
            )
        result = found(*answer.form.example)
        answer.form.read(_plain(result))
        read[name] = found
    except NotImplementedError:
        return t("grade.public.todo", name=name)
    except (FormError, values.ValueRefusedError) as error:
        return t("grade.public.form", name=name, problem=str(error))
    except Exception as error:  # noqa: BLE001 - whatever a student's function raises is told to the student
        return t("grade.public.raised", name=name, error=f"{type(error).__name__}: {error}"[:300])
    return ""


def _plain(value: Any) -> Any:
    """The value as the grader would receive it."""
    return values.decode(values.encode(value))


def _applies(when: Callable[..., bool], read: dict[str, Any], given: dict[str, Any]) -> bool:
    try:
        return bool(when(read, given))
    except Exception:  # noqa: BLE001 - a hint that meets a strange answer says nothing
        return False


def _exact(value: Any) -> Any:
    """Given numbers as hints compare them: a float of the notebook as the decimal that it was written as."""
    if type(value) is float:
        return Fraction(repr(value))
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return value
