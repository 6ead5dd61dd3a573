"""Marks into nbgrader's gradebook: machine marks are written, marks that a person gave are left as they are."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

from labkit.core.errors import InputError
from labkit.grade.catalog import chapter
from labkit.grade.report import Row


def store(path: Path, found: list[Row]) -> int:
    """Write each part's marks to its cell `check-KEY` in the database; returns how many marks were written.

    Only `auto_score` is set: manual scores, comments and extra credit stay. Raises InputError where nbgrader is not
    installed or the database knows none of the assignments.
    """
    try:
        from nbgrader.api import Gradebook, MissingEntry
        from sqlalchemy.exc import SAWarning, SQLAlchemyError
    except ImportError:
        raise InputError("labkit grade: --gradebook needs nbgrader: pip install nbgrader==0.9.6") from None
    if not path.is_file():
        raise InputError(
            f"{path}: not there, expected nbgrader's database (made by `nbgrader generate_assignment`)"
        )
    # nbgrader calls alembic, which lies beside this interpreter and may not be on the path.
    os.environ["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    )
    try:
        with warnings.catch_warnings(), Gradebook(f"sqlite:///{path}") as book:
            warnings.simplefilter("ignore", SAWarning)  # nbgrader's own handling of sessions
            return _write(book, MissingEntry, path, found)
    except SQLAlchemyError:
        raise InputError(f"{path}: cannot be read or written, expected nbgrader's database") from None


def _write(book: Any, missing_entry: type[Exception], path: Path, found: list[Row]) -> int:
    written = 0
    known = {assignment.name for assignment in book.assignments}
    wanted = {chapter(row.exercise) for row in found}
    if not wanted & known:
        raise InputError(
            f"{path}: knows no assignment {', '.join(sorted(wanted))}: generate it in nbgrader first"
        )
    for row in found:
        if row.marks is None or chapter(row.exercise) not in known:
            continue
        book.update_or_create_student(row.student)
        book.update_or_create_submission(chapter(row.exercise), row.student)
        for key, earned, _, _ in row.by_part():
            try:
                grade = book.find_grade(f"check-{key}", row.exercise.file, chapter(row.exercise), row.student)
            except missing_entry:
                continue
            grade.auto_score = earned
            grade.needs_manual_grade = False
            written += 1
        book.db.commit()
    return written
