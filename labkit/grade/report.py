"""What an instructor and a student read: `grades.csv`, a page for the class, a page for each student.

Everything that came from a student (names, file names, error texts) is data: escaped in HTML by the template engine,
and in the CSV never the beginning of a formula.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.grade.catalog import exercises, find, rubrics
from labkit.grade.collect import Submission
from labkit.grade.exercise import Exercise
from labkit.grade.judge import Mark, Marks
from labkit.grade.pages import CLASS_PAGE, STUDENT_PAGE
from labkit.show.text import language, t

COLUMNS = (
    "student",
    "exercise",
    "state",
    "earned",
    "points",
    "manual_points",
    "parts",
    "misconceptions",
    "reason",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class Row:
    """One student's result in one exercise; `marks` is None where nothing was handed in."""

    student: str
    exercise: Exercise
    marks: Marks | None

    @property
    def state(self) -> str:
        """`missing`, `not_run` or `graded`."""
        return "missing" if self.marks is None else "not_run" if self.marks.not_run else "graded"

    @property
    def earned(self) -> float:
        """Points earned by machine."""
        return self.marks.earned if self.marks else 0

    @property
    def possible(self) -> int:
        """Points that the machine can give."""
        return sum(answer.points for part in self.exercise.parts for answer in part.answers)

    @property
    def manual(self) -> int:
        """Points that a person gives."""
        return sum(part.manual for part in self.exercise.parts)

    def by_part(self) -> list[tuple[str, float, int, list[Mark]]]:
        """Key, earned, possible and marks of each part that a machine marks."""
        marks = {mark.answer: mark for mark in self.marks.marks} if self.marks else {}
        found = []
        for part in self.exercise.parts:
            if part.answers:
                mine = [marks[answer.name] for answer in part.answers if answer.name in marks]
                possible = sum(answer.points for answer in part.answers)
                found.append((part.key, sum(mark.earned for mark in mine), possible, mine))
        return found


def rows(
    submissions: list[Submission], keys: dict[tuple[str, str], str], results: dict[str, Marks]
) -> list[Row]:
    """A row for every student and exercise, in the order of `submissions`."""
    return [
        Row(s.student, find(s.exercise), results[keys[s.student, s.exercise]] if s.path is not None else None)
        for s in submissions
    ]


def write(out: Path, found: list[Row], strangers: list[tuple[str, str]], box: str) -> None:
    """Write all reports into a folder; each file is replaced as a whole."""
    pages = out / "students"
    pages.mkdir(exist_ok=True)
    _put(out / "grades.csv", b"\xef\xbb\xbf" + table(found).encode())
    students = list(dict.fromkeys(row.student for row in found))
    for student in students:
        mine = [row for row in found if row.student == student]
        extra = [file for name, file in strangers if name == student]
        page = _render(STUDENT_PAGE, student=student, rows=mine, strangers=extra, box=box)
        _put(pages / page_name(student), page)
    page = _render(
        CLASS_PAGE, students=[(s, page_name(s), [r for r in found if r.student == s]) for s in students], box=box,
        exercises=[e for e in exercises().values() if any(r.exercise is e for r in found)], strangers=strangers,
        parts=part_marks(found), histogram=histogram(found), not_run=[r for r in found if r.state == "not_run"],
        rubrics=by_hand(found),
    )  # fmt: skip
    _put(out / "index.html", page)


def by_hand(found: list[Row]) -> list[tuple[str, str, int, str]]:
    """Exercise, part, points and rubric of each part that a person marks."""
    marked = [e for e in exercises().values() if any(r.exercise is e for r in found)]
    return [
        (e.id, part.key, part.manual, rubrics(e)[part.key]) for e in marked for part in e.parts if part.manual
    ]


def table(found: list[Row]) -> str:
    """The CSV: a row for each student and exercise."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in found:
        marks = row.marks.marks if row.marks else ()
        parts = "; ".join(f"{key} {earned:g}/{possible}" for key, earned, possible, _ in row.by_part())
        keys = "; ".join(dict.fromkeys(mark.misconception for mark in marks if mark.misconception))
        reason = row.marks.not_run if row.marks else ""
        cells = [
            row.student, row.exercise.id, row.state, f"{row.earned:g}", row.possible, row.manual, parts, keys, reason,
        ]  # fmt: skip
        writer.writerow([neutral(str(cell)) for cell in cells])
    return text.getvalue()


def neutral(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula, on one line."""
    flat = re.sub(r"[\r\n\t\x00-\x1f]+", " ", cell)
    return f"'{flat}" if cell.startswith(FORMULA) or flat.lstrip().startswith(FORMULA) else flat


def part_marks(found: list[Row]) -> list[tuple[str, str, float, int, int]]:
    """For each exercise and part: its mean share among what was handed in, how many have all of it, of how many."""
    shares: dict[tuple[str, str], list[float]] = {}
    for row in found:
        if row.marks is not None:
            for key, earned, possible, _ in row.by_part():
                shares.setdefault((row.exercise.id, key), []).append(earned / possible)
    order = {exercise.id: place for place, exercise in enumerate(exercises().values())}
    return [
        (exercise, key, sum(values) / len(values), sum(value == 1 for value in values), len(values))
        for (exercise, key), values in sorted(
            shares.items(), key=lambda item: (order[item[0][0]], item[0][1])
        )
    ]


def histogram(found: list[Row]) -> list[tuple[str, str, int]]:
    """Exercise, what the misconception is, and how many students had it; most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in found:
        keys = {mark.misconception for mark in (row.marks.marks if row.marks else ()) if mark.misconception}
        counts.update((row.exercise.id, key) for key in keys)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        (exercise, find(exercise).misconception(key, "").text, count) for (exercise, key), count in ordered
    ]


def page_name(student: str) -> str:
    """A file name for a student's page: readable where the name is plain, and never two the same."""
    plain = re.sub(r"[^\w-]", "_", student)[:40]
    return f"{plain}-{hashlib.sha256(student.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}.html"


def _render(template: str, **values: Any) -> bytes:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.from_string(template).render(t=t, lang=language(), **values)
    return text.encode("utf-8", "replace")


def _put(path: Path, data: bytes) -> None:
    """Replace a file as a whole, so that a stopped run leaves the old one or the new one."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(data)
    os.replace(beside, path)
