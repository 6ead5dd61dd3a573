"""Finding what was handed in: `STUDENT/ex_31_NN.ipynb` (or `.py`), or nbgrader's `submitted/STUDENT/ch31/…`."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path

from labkit.core.errors import InputError, quoted
from labkit.grade.catalog import chapter, exercises
from labkit.grade.exercise import Exercise
from labkit.grade.notebook import UnreadableError, read_bytes

SUFFIXES = (".ipynb", ".py")
SKIPPED = (".", "__pycache__")


@dataclass(frozen=True)
class Submission:
    """One file (or its absence) for one student and exercise; `also` names files that were set aside for it."""

    student: str
    exercise: str
    path: Path | None
    also: tuple[str, ...] = ()
    digest: str = ""
    problem: str = ""


def collect(folder: Path, roster: list[str] | None) -> tuple[list[Submission], list[tuple[str, str]]]:
    """All submissions, one a student and exercise, in order; and files that belong to no exercise, by student.

    Raises InputError where the folder holds no student's folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder, expected one with a folder for each student")
    if (folder / "submitted").is_dir():
        folder = folder / "submitted"
    students = {
        path.name: path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(SKIPPED)
    }
    names = sorted({*students, *(roster or ())})
    if not names:
        raise InputError(f"{folder}: holds no folder, expected one for each student, STUDENT/ex_31_NN.ipynb")
    found, strangers = [], []
    for name in names:
        place = students.get(name)
        mine, strange = _of_student(name, place) if place is not None and not place.is_symlink() else ({}, [])
        found += [
            mine.get(exercise.id) or Submission(name, exercise.id, None) for exercise in exercises().values()
        ]
        strangers += [(name, file) for file in strange]
    return found, strangers


def _of_student(name: str, place: Path) -> tuple[dict[str, Submission], list[str]]:
    chapters = {chapter(exercise) for exercise in exercises().values()}
    folders = [place, *(place / inner for inner in sorted(chapters))]
    files = [
        path
        for folder in folders if folder.is_dir() and not folder.is_symlink()
        for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and not path.name.startswith(SKIPPED)
    ]  # fmt: skip
    by_exercise: dict[str, list[tuple[int, Path]]] = {}
    strangers = []
    for path in files:
        exercise, rank = _recognise(path)
        if exercise is None:
            strangers.append(str(path.relative_to(place)))
        else:
            by_exercise.setdefault(exercise.id, []).append((rank, path))
    found = {}
    for key, candidates in by_exercise.items():
        [(rank, path), *rest] = sorted(candidates, key=lambda pair: (pair[0], str(pair[1])))
        also = tuple(str(other.relative_to(place)) for _, other in rest)
        renamed = () if rank < 2 else (str(path.relative_to(place)),)
        digest, problem = _digest(path)
        found[key] = Submission(name, key, path, (*renamed, *also), digest, problem)
    return found, strangers


def _recognise(path: Path) -> tuple[Exercise | None, int]:
    """The exercise a file answers, by its name or else by what the notebook says of itself; lower ranks come first."""
    for exercise in exercises().values():
        if path.name == f"{exercise.file}.ipynb":
            return exercise, 0
        if path.name == f"{exercise.file}.py":
            return exercise, 1
    for exercise in exercises().values():
        if re.search(rf"{exercise.file}(?!\d)", path.stem, re.IGNORECASE):
            return exercise, 2
    if path.suffix == ".ipynb":
        try:
            said = json.loads(read_bytes(path))["metadata"]["labkit"]["exercise"]
        except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
            said = None
        if isinstance(said, str) and said in exercises():
            return exercises()[said], 3
    return None, 0


def _digest(path: Path) -> tuple[str, str]:
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest(), ""
    except UnreadableError as error:
        return "", error.said()


def read_roster(path: Path) -> list[str]:
    """Student names from a CSV with a column `student` or `id` (nbgrader's), or one name a line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(f"{path}: cannot be read ({reason}), expected a roster") from None
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row and row[0].strip()]
    column = next((rows[0].index(key) for key in ("student", "id") if rows and key in rows[0]), None)
    names = [
        row[column or 0].strip() for row in rows[0 if column is None else 1 :] if len(row) > (column or 0)
    ]
    if not names:
        raise InputError(f"{path}: names no student, expected a column student or id, or one name a line")
    for name in names:
        if not name or name in (".", "..") or "/" in name or "\\" in name or not name.isprintable():
            raise InputError(f"{path}: given the name {quoted(name)}, expected one that can name a folder")
    if len(set(names)) < len(names):
        raise InputError(f"{path}: names a student twice")
    return names


def read_secret(path: Path) -> bytes:
    """The instructor's secret: the file's bytes without outer white space, at least 16 of them."""
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}), expected a secret") from None
    if len(secret) < 16:
        raise InputError(f"{path}: holds {len(secret)} bytes, expected a secret of at least 16")
    return secret
