"""nbgrader works on this layout, and its gradebook gets machine marks without losing a person's."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from labkit.bootstrap import ROOT
from labkit.core.errors import InputError
from labkit.grade import catalog, gradebook
from labkit.grade.judge import Mark, Marks
from labkit.grade.report import Row

pytest.importorskip("nbgrader")
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # from nbgrader's own code


@pytest.mark.long
def test_nbgrader_generates_the_committed_files(tmp_path):
    shutil.copytree(catalog.SOLUTIONS / "source", tmp_path / "solutions" / "source")
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", "ch31", "--create"], cwd=tmp_path,
        env={**os.environ, "PATH": path, "JUPYTER_CONFIG_DIR": str(tmp_path / "config")},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = sorted((tmp_path / "exercises" / "ch31").glob("*.ipynb"))
    assert [file.name for file in made] == [
        f"{exercise.file}.ipynb" for exercise in catalog.exercises().values()
    ]
    for file in made:
        assert file.read_bytes() == (ROOT / "exercises" / "ch31" / file.name).read_bytes(), file.name


def row(student, earned):
    exercise = catalog.find("31.1")
    marks = [
        Mark(a.name, a.points, earned.get(a.name, 0), "right") for p in exercise.parts for a in p.answers
    ]
    return Row(student, exercise, Marks("31.1", tuple(marks)))


@pytest.fixture
def book_path(tmp_path, fresh_book):
    """Return a copy of the gradebook for one test."""
    return shutil.copy(fresh_book, tmp_path / "nbgrader.db")


@pytest.fixture(scope="module")
def fresh_book(tmp_path_factory):
    """Return a gradebook that knows exercise 31.1, in which a person has marked x's text."""
    from nbgrader.api import Gradebook

    path = tmp_path_factory.mktemp("book") / "nbgrader.db"
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("PATH", programs)
        warnings.simplefilter("ignore")  # of nbgrader's own code, in a fixture that no mark reaches
        book = Gradebook(f"sqlite:///{path}")
    with book, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book.add_assignment("ch31")
        book.add_notebook("ex_31_01", "ch31")
        for key, points in (("a", 3), ("b", 3), ("c", 3)):
            book.add_grade_cell(f"check-{key}", "ex_31_01", "ch31", max_score=points, cell_type="code")
        book.add_grade_cell("explain-d", "ex_31_01", "ch31", max_score=2, cell_type="markdown")
        book.add_student("x")
        book.add_submission("ch31", "x")
        book.find_grade("explain-d", "ex_31_01", "ch31", "x").manual_score = 1.5
        book.find_grade("check-c", "ex_31_01", "ch31", "x").manual_score = 2
        book.db.commit()
    return path


def test_machine_marks_are_written_and_manual_ones_stay(book_path):
    from nbgrader.api import Gradebook

    rows = [row("x", {"ttft": 1, "tpot": 1, "measures": 3}), row("new", {"stages": 2})]
    assert gradebook.store(book_path, rows) == 6
    assert gradebook.store(book_path, rows) == 6
    with Gradebook(f"sqlite:///{book_path}") as book:
        mine = {
            key: book.find_grade(key, "ex_31_01", "ch31", "x")
            for key in ("check-a", "check-b", "check-c", "explain-d")
        }
        assert [mine[key].auto_score for key in ("check-a", "check-b", "check-c")] == [2, 0, 3]
        assert (mine["check-c"].manual_score, mine["check-c"].score) == (2, 2)
        assert (mine["explain-d"].manual_score, mine["explain-d"].auto_score) == (1.5, None)
        assert book.find_grade("check-b", "ex_31_01", "ch31", "new").score == 2


def test_a_database_of_something_else_is_refused(tmp_path, book_path):
    with pytest.raises(InputError, match="not there"):
        gradebook.store(tmp_path / "none.db", [])
    (tmp_path / "text.db").write_text("no database at all, but long enough", encoding="utf-8", newline="\n")
    with pytest.raises(InputError, match="expected nbgrader's database"):
        gradebook.store(tmp_path / "text.db", [row("x", {})])
