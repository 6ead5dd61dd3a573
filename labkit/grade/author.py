"""`python -m labkit.grade.author`: an instructor's notebook from a percent-format draft, the students' from it.

    author DRAFT.py …        write solutions/source/ and exercises/ from drafts named ex_31_NN.py
    author --all             write exercises/ again from solutions/source/
    author --percent 31.4    print a draft of the instructor's notebook, to edit

Cell ids decide what a cell is: `statement` and `given` come from the declaration, `check-KEY` is the public check of
part KEY, `explain-KEY` its text for manual marks, and a code cell with BEGIN SOLUTION is where a student answers.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from labkit.core.errors import InputError
from labkit.grade.catalog import exercises, find, release_of, source_of
from labkit.grade.exercise import Exercise
from labkit.grade.notebook import Cell, from_percent, read, to_percent

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
DECLARATION = """\
## 工具与协作声明

写明用过的工具（包括 AI 助手）、用在哪一部分、与谁讨论过。没有用过就写“无”。
"""
STUB = {"python": "raise NotImplementedError"}
TEXT_STUB = "在这里作答。"


def source_notebook(exercise: Exercise, cells: list[Cell]) -> dict[str, Any]:
    """The instructor's notebook: nbformat 4.5 with nbgrader's metadata."""
    fixed = {
        "statement": exercise.render_statement(exercise.given),
        "given": exercise.render_given(exercise.given),
        "setup": f'from labkit.grade.public import checker\n\ncheck = checker("{exercise.id}", globals())',
        "declaration": DECLARATION.strip(),
    }
    given = {cell.id: cell for cell in cells}
    if len(given) < len(cells):
        raise InputError(f"{exercise.file}: an id stands on two cells, expected one of each")
    order = [Cell(name, kind, fixed[name]) for name, kind in (("statement", "markdown"), ("given", "code"))]
    if not exercise.given:
        del order[1]
    order.append(Cell("setup", "code", fixed["setup"]))
    order += [cell for cell in cells if cell.id not in fixed]
    order.append(Cell("declaration", "markdown", fixed["declaration"]))
    return {
        "cells": [_notebook_cell(exercise, cell) for cell in order],
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "labkit": {"exercise": exercise.id},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _notebook_cell(exercise: Exercise, cell: Cell) -> dict[str, Any]:
    points, answered = 0, BEGIN in cell.source
    kind, _, key = cell.id.partition("-")
    if kind == "check":
        points = sum(answer.points for answer in exercise.part(key).answers)
        if not exercise.part(key).answers:
            raise InputError(f"{exercise.file}: {cell.id} checks a part without answers")
    elif kind == "explain":
        points, answered = exercise.part(key).manual, True
    graded = points > 0
    free = answered or cell.id == "declaration"
    mark: dict[str, Any] = {
        "grade": graded, "grade_id": cell.id, "locked": not free, "schema_version": 3,
        "solution": answered, "task": False,
    }  # fmt: skip
    if graded:
        mark["points"] = points
    made: dict[str, Any] = {"cell_type": cell.kind, "id": cell.id, "metadata": {}}
    if cell.id != "declaration":
        made["metadata"]["nbgrader"] = mark
    if cell.kind == "code":
        made |= {"execution_count": None, "outputs": []}
    return made | {"source": _lines(cell.source)}


def release_notebook(source: dict[str, Any]) -> dict[str, Any]:
    """The students' notebook: reference answers replaced by stubs, locked cells closed to editing.

    The same as nbgrader's `generate_assignment` writes with this repository's nbgrader_config.py (a test compares).
    """
    import nbformat
    from nbgrader.preprocessors import ClearSolutions, ComputeChecksums, LockCells

    notebook: Any = nbformat.reads(json.dumps(source), as_version=4)
    clear = ClearSolutions(code_stub=STUB, text_stub=TEXT_STUB)
    for step in (LockCells(), clear, ComputeChecksums()):
        notebook, _ = step.preprocess(notebook, {})
    released = json.loads(nbformat.writes(notebook))
    for cell in released["cells"]:
        cell["source"] = _lines("".join(cell["source"]))
    return dict(released)


def write(path: Path, notebook: dict[str, Any]) -> None:
    """Write a notebook as this repository keeps them: UTF-8, one space of indent, keys in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def load(path: Path) -> dict[str, Any]:
    """A notebook of this repository."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(argv: list[str]) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m labkit.grade.author", description=__doc__.split("\n")[0])
    parser.add_argument("drafts", nargs="*", type=Path, metavar="DRAFT.py")
    parser.add_argument("--all", action="store_true", help="generate every student notebook again")
    parser.add_argument("--percent", metavar="31.NN", help="print a draft of the instructor's notebook")
    options = parser.parse_args(argv)
    try:
        if options.percent:
            print(to_percent(read(source_of(find(options.percent)))))
        for draft in options.drafts:
            exercise = find(draft.stem)
            source = source_notebook(exercise, from_percent(draft.read_text(encoding="utf-8")))
            write(source_of(exercise), source)
            write(release_of(exercise), release_notebook(source))
            print(f"{source_of(exercise)}\n{release_of(exercise)}")
        for exercise in exercises().values() if options.all else ():
            source = source_notebook(exercise, read(source_of(exercise)))
            write(source_of(exercise), source)
            write(release_of(exercise), release_notebook(source))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
