"""The exercises there are: each declaration in `labkit/grade/chNN/`, each hidden check in `solutions/hidden/`."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from labkit.bootstrap import ROOT
from labkit.core.errors import InputError, quoted
from labkit.grade import ch31
from labkit.grade.exercise import Exercise

SOLUTIONS = ROOT / "solutions"
EXERCISES = ROOT / "exercises"


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by id, in the book's order."""
    found: list[Exercise] = [
        importlib.import_module(f"{ch31.__name__}.{module.name}").EXERCISE
        for module in pkgutil.iter_modules(ch31.__path__)
    ]
    return {exercise.id: exercise for exercise in sorted(found, key=lambda exercise: exercise.file)}


def find(name: str) -> Exercise:
    """The exercise of an id (`31.1`) or a file's stem (`ex_31_01`); InputError where there is none."""
    for exercise in exercises().values():
        if name in (exercise.id, exercise.file):
            return exercise
    raise InputError(f"given exercise {quoted(name)}, expected one of {', '.join(exercises())}")


def source_of(exercise: Exercise) -> Path:
    """The instructor's notebook, with reference answers."""
    return SOLUTIONS / "source" / chapter(exercise) / f"{exercise.file}.ipynb"


def release_of(exercise: Exercise) -> Path:
    """The students' notebook, generated from the instructor's."""
    return EXERCISES / chapter(exercise) / f"{exercise.file}.ipynb"


def chapter(exercise: Exercise) -> str:
    """The folder of its chapter, which is nbgrader's assignment: `ch31`."""
    return "ch" + exercise.id.partition(".")[0]


def hidden_checks(exercise: Exercise) -> dict[str, Callable[..., Any]]:
    """The hidden checks, by the answer's name; InputError where this copy has none, as a student's has not."""
    checks: dict[str, Callable[..., Any]] = _hidden(exercise).CHECKS
    return checks


def rubrics(exercise: Exercise) -> dict[str, str]:
    """What a person looks for in each part that is marked by hand; InputError as for the checks."""
    found: dict[str, str] = _hidden(exercise).RUBRICS
    return found


@cache
def _hidden(exercise: Exercise) -> ModuleType:
    path = SOLUTIONS / "hidden" / f"{exercise.file}.py"
    spec = importlib.util.spec_from_file_location(f"labkit_hidden_{exercise.file}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InputError(
            f"{path}: not there, expected hidden checks: grading needs the instructor's repository"
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
