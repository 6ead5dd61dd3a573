"""`python -m labkit bundle`: what a student gets. Notebooks with their numbers filled in, and nothing else."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from labkit.core.errors import InputError
from labkit.grade.catalog import exercises, release_of
from labkit.grade.exercise import Exercise

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bundle twice is the same bytes


def make(out: Path, students: list[str], secret: bytes | None) -> int:
    """Write the notebooks into a folder or (a name ending in .zip) an archive; returns how many were written.

    With several students each gets a folder of his own name. Raises InputError where `out` is already there.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"{out}: is there already, expected a name that is free or an empty folder")
    files: dict[str, bytes] = {}
    for student in students or [""]:
        for exercise in exercises().values():
            name = f"{exercise.file}.ipynb"
            files[f"{student}/{name}" if len(students) > 1 else name] = notebook(exercise, student, secret)
    try:
        _write(out, files)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    return len(files)


def notebook(exercise: Exercise, student: str, secret: bytes | None) -> bytes:
    """One student's notebook: the released one with this student's statement and numbers."""
    path = release_of(exercise)
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(
            f"{path}: not there, expected the released notebook: bundles are made in the repository"
        ) from None
    given = exercise.numbers(secret, student)
    own = {"statement": exercise.render_statement(given), "given": exercise.render_given(given)}
    for cell in document["cells"]:
        if cell["id"] in own:
            cell["source"] = own[cell["id"]].splitlines(keepends=True)
    return (json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _write(out: Path, files: dict[str, bytes]) -> None:
    if out.suffix == ".zip":
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                entry = zipfile.ZipInfo(name, EPOCH)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, data)
        return
    for name, data in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(data)
