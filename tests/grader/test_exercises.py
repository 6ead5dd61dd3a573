"""Every exercise there is: references and right answers get all marks, wrong ones fail for what they are named for.

A file in solutions/wrong or solutions/right holds the cells that it answers differently; the reference answers stand
for the rest. A wrong one begins with `# expects: ANSWER MISCONCEPTION`.
"""

import contextlib
import io

import pytest

from labkit.grade import catalog
from labkit.grade.author import load, release_notebook, source_notebook
from labkit.grade.exercise import COMMON
from labkit.grade.judge import judge, judge_answer
from labkit.grade.notebook import Cell, from_percent, read, to_percent
from labkit.grade.public import checker
from labkit.grade.sandbox import Box
from labkit.grade.session import Session

EXERCISES = list(catalog.exercises().values())
EXPECTS = "# expects: "
STATUSES = {"form", "todo", "missing", "raised", "slow", "refused"}


def files(folder):
    return [
        pytest.param(exercise, path, id=f"{exercise.file}-{path.stem}")
        for exercise in EXERCISES
        for path in sorted((catalog.SOLUTIONS / folder / exercise.file).glob("*.py"))
    ]


def overlaid(exercise, path):
    """Return the reference's code cells with those that the file answers itself."""
    own = {cell.id: cell.source for cell in from_percent(path.read_text(encoding="utf-8"))}
    cells = code(catalog.source_of(exercise))
    known = {cell.id for cell in cells}
    assert own.keys() - {"0"} <= known, f"{path}: cells {own.keys() - known} are not in the exercise"
    return [own.get(cell.id, cell.source) for cell in cells]


def code(path):
    return [cell for cell in read(path) if cell.kind == "code"]


@pytest.fixture(scope="module")
def boxes():
    """Return a function that gives the worker of an exercise; each is started once."""
    with contextlib.ExitStack() as stack:
        opened = {}

        def box(exercise):
            if exercise.id not in opened:
                opened[exercise.id] = stack.enter_context(Box(exercise, "none"))
            return opened[exercise.id]

        yield box


@pytest.fixture
def graded(boxes):
    def grade(exercise, sources, given=None):
        with Session(boxes(exercise), sources) as session:
            return judge(exercise, given or exercise.numbers(), session)

    return grade


def machine_points(exercise):
    return sum(answer.points for part in exercise.parts for answer in part.answers)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.file)
def test_declaration_checks_and_notebook_belong_together(exercise):
    names = {answer.name for part in exercise.parts for answer in part.answers}
    assert set(catalog.hidden_checks(exercise)) == names
    ids = {cell.id for cell in read(catalog.source_of(exercise))}
    assert ids >= {"statement", "setup", "declaration"}
    for part in exercise.parts:
        assert (f"check-{part.key}" in ids) == bool(part.answers)
        assert (
            (f"explain-{part.key}" in ids)
            == bool(part.manual)
            == bool(catalog.rubrics(exercise).get(part.key))
        )
        assert {hint.misconception for hint in part.hints} <= set(exercise.misconceptions)
    assert len(list((catalog.SOLUTIONS / "wrong" / exercise.file).glob("*.py"))) >= 6
    assert len(list((catalog.SOLUTIONS / "right" / exercise.file).glob("*.py"))) >= 2


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.file)
def test_the_students_notebook_is_generated_from_the_instructors(exercise):
    source = load(catalog.source_of(exercise))
    assert source == source_notebook(exercise, read(catalog.source_of(exercise))), (
        "run labkit.grade.author --all"
    )
    assert load(catalog.release_of(exercise)) == release_notebook(source), "run labkit.grade.author --all"


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.file)
def test_the_reference_gets_all_marks_as_notebook_and_as_percent_file(exercise, graded):
    cells = read(catalog.source_of(exercise))
    assert from_percent(to_percent(cells)) == cells
    marks = graded(exercise, [cell.source for cell in cells if cell.kind == "code"])
    assert [(m.answer, m.status, m.feedback) for m in marks.marks if m.status != "right"] == []
    assert marks.earned == machine_points(exercise)
    assert marks.cells == ()


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.file)
def test_the_reference_gets_all_marks_for_variants(exercise, graded):
    if exercise.draw is None:
        pytest.skip("has no variants")
    cells = code(catalog.source_of(exercise))
    seen = set()
    for student in ("张三", "b"):
        given = exercise.numbers(b"a secret", student)
        assert given == exercise.numbers(b"a secret", student)
        seen.add(exercise.render_given(given))
        own = [Cell(c.id, c.kind, exercise.render_given(given)) if c.id == "given" else c for c in cells]
        marks = graded(exercise, [cell.source for cell in own], given)
        assert [(m.answer, m.feedback) for m in marks.marks if m.status != "right"] == []
    assert len(seen) == 2
    for number in range(200):
        exercise.render_statement(exercise.numbers(b"secret", str(number)))


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.file)
def test_the_empty_notebook_gets_nothing_and_says_why(exercise, graded):
    marks = graded(exercise, [cell.source for cell in code(catalog.release_of(exercise))])
    assert marks.earned == 0
    assert {mark.status for mark in marks.marks} <= {"missing", "todo"}
    assert all(error["kind"] == "NotImplementedError" for error in marks.cells)


@pytest.mark.parametrize(("exercise", "path"), files("wrong"))
def test_wrong_answers_fail_by_name(exercise, path, boxes):
    first = path.read_text(encoding="utf-8").split("\n")[0]
    assert first.startswith(EXPECTS), f"{path}: the first line says `{EXPECTS}ANSWER MISCONCEPTION`"
    answer, expected = first.removeprefix(EXPECTS).split()
    with Session(boxes(exercise), overlaid(exercise, path)) as session:
        mark = judge_answer(exercise, answer, exercise.numbers(), session)
    assert mark.earned < mark.points
    if expected in STATUSES:
        assert mark.status == expected
    else:
        assert expected in {*exercise.misconceptions, *COMMON}
        assert mark.misconception == expected, mark
        assert exercise.misconception(expected, "").text in mark.feedback


@pytest.mark.parametrize(("exercise", "path"), files("right"))
def test_right_answers_built_otherwise_get_all_marks(exercise, path, graded):
    marks = graded(exercise, overlaid(exercise, path))
    assert [(m.answer, m.status, m.feedback) for m in marks.marks if m.status != "right"] == []


@pytest.mark.parametrize(("exercise", "path"), files("right"))
def test_public_checks_accept_right_answers(exercise, path):
    names = {"checker": checker}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for source in overlaid(exercise, path):
            exec(source, names)
    assert said.getvalue().count("\n") == sum(bool(part.answers) for part in exercise.parts)
