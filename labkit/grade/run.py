"""Grading many submissions: slots that each hold one box, and a file of results from which a stopped run goes on.

Each result is appended as one line once it is there, under a key made of all that decides it: who, which exercise, the
bytes handed in, the numbers given, and the grader itself. A run that was stopped anywhere reads the file and
grades what is missing. A slot that ends is started again; its submission is tried once more and then reported.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import os
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from labkit.core.errors import InputError
from labkit.grade import judge
from labkit.grade.catalog import SOLUTIONS, find
from labkit.grade.collect import Submission
from labkit.grade.judge import Mark, Marks
from labkit.grade.notebook import UnreadableError, read
from labkit.grade.sandbox import Box, BoxError, Mode
from labkit.grade.session import Limits, Session
from labkit.show.text import t

RESULTS = "results.jsonl"
TRIES = 2


@dataclass(frozen=True)
class Task:
    """One submission to grade: everything that its slot needs, as plain data."""

    key: str
    submission: Submission
    secret: bytes | None


def tasks(submissions: Iterable[Submission], secret: bytes | None) -> list[Task]:
    """The submissions that hold a file, exercise by exercise, so that a slot keeps its box."""
    version = fingerprint()
    found = []
    for submission in submissions:
        if submission.path is not None:
            given = find(submission.exercise).render_given(
                find(submission.exercise).numbers(secret, submission.student)
            )
            parts = (
                version, submission.student, submission.exercise, submission.digest, submission.problem,
                submission.path.suffix, given,
            )  # fmt: skip
            key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
            found.append(Task(key, submission, secret))
    return sorted(found, key=lambda task: task.submission.exercise)


def fingerprint() -> str:
    """A hash of the grader and the hidden checks: a change of either grades again."""
    here = Path(__file__).parent
    files = sorted([*here.rglob("*.py"), *(SOLUTIONS / "hidden").glob("*.py")])
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()


def grade_all(
    wanted: list[Task], out: Path, mode: Mode, jobs: int, limits: Limits, progress: Callable[[int, int], None]
) -> dict[str, Marks]:
    """The marks of every task by key, those of an earlier run read from `out`, the others graded now."""
    store = out / RESULTS
    known = read_results(store)
    todo = deque(task for task in wanted if task.key not in known)
    total, slots = len(wanted), []
    progress(total - len(todo), total)
    context = multiprocessing.get_context("spawn")
    try:
        with store.open("a", encoding="utf-8", newline="\n") as file:
            if file.tell() and not store.read_bytes().endswith(b"\n"):
                file.write("\n")  # the last line of a stopped run is incomplete
            tries: dict[str, int] = {}
            slots = [_Slot(context, mode, limits, tries) for _ in range(min(jobs, len(todo)))]
            while todo or any(slot.task for slot in slots):
                for slot in slots:
                    if slot.task is None and todo:
                        slot.give(todo.popleft())
                for slot in _ready([slot for slot in slots if slot.task]):
                    task, marks = slot.take()
                    if marks is None:
                        todo.appendleft(task)
                        continue
                    known[task.key] = marks
                    if marks.not_run == t("grade.file.own_fault"):
                        continue  # shown now, and graded again by the next run
                    line = {"key": task.key, "marks": dataclasses.asdict(marks)}
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                    file.flush()
                    progress(total - len(todo) - sum(slot.task is not None for slot in slots), total)
    finally:
        for slot in slots:
            slot.close()
    return known


def _ready(slots: list[_Slot]) -> list[_Slot]:
    ready = multiprocessing.connection.wait([slot.line for slot in slots])
    return [slot for slot in slots if slot.line in ready]


class _Slot:
    """A process that grades one submission after another."""

    def __init__(self, context: Any, mode: Mode, limits: Limits, tries: dict[str, int]) -> None:
        self.context, self.mode, self.limits, self.tries = context, mode, limits, tries
        self.task: Task | None = None
        self._start()

    def _start(self) -> None:
        self.line, other = self.context.Pipe()
        self.process = self.context.Process(
            target=slot_main, args=(other, self.mode, self.limits), daemon=True
        )
        self.process.start()
        other.close()

    def give(self, task: Task) -> None:
        """Hand over one task."""
        self.task = task
        self.tries[task.key] = self.tries.get(task.key, 0) + 1
        with suppress(OSError):
            self.line.send(task)

    def take(self) -> tuple[Task, Marks | None]:
        """The task's marks; None where the slot ended and the task is to be tried once more."""
        task = self.task
        assert task is not None
        self.task = None
        try:
            return task, self.line.recv()
        except (EOFError, OSError):
            self.close()
            self._start()
        if self.tries[task.key] < TRIES:
            return task, None
        return task, judge.not_run(find(task.submission.exercise), t("grade.file.own_fault"))

    def close(self) -> None:
        """End the process; its box ends with it."""
        self.line.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def slot_main(line: Connection, mode: Mode, limits: Limits) -> None:
    """The body of a slot's process: a box is kept as long as the exercise stays the same."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    box, held = None, ""
    try:
        while True:
            try:
                task: Task = line.recv()
            except (EOFError, OSError):
                return
            if held != task.submission.exercise and box is not None:
                box.close()
                box = None
            if box is None:
                box, held = Box(find(task.submission.exercise), mode), task.submission.exercise
            try:
                marks = grade_one(task.submission, box, limits, task.secret)
            except BoxError:
                box.close()
                box = Box(find(held), mode)
                marks = grade_one(task.submission, box, limits, task.secret)
            line.send(marks)
    except KeyboardInterrupt:
        return
    finally:
        if box is not None:
            box.close()


def grade_one(submission: Submission, box: Box, limits: Limits, secret: bytes | None) -> Marks:
    """The marks of one submission. Raises BoxError alone: whatever a student did becomes marks or a reason."""
    exercise = find(submission.exercise)
    notes = tuple(submission.also)
    if submission.path is None or submission.problem:
        marks = judge.not_run(exercise, submission.problem or t("grade.file.nothing"))
        return dataclasses.replace(marks, notes=notes)
    try:
        cells = [cell.source for cell in read(submission.path) if cell.kind == "code"]
    except UnreadableError as error:
        return dataclasses.replace(
            judge.not_run(exercise, f"{submission.path.name}: {error.said()}"), notes=notes
        )
    with Session(box, cells, limits) as session:
        marks = judge.judge(exercise, exercise.numbers(secret, submission.student), session)
    return dataclasses.replace(marks, notes=notes)


def read_results(store: Path) -> dict[str, Marks]:
    """The results of an earlier run; lines that a stopped run left incomplete count as not there."""
    found: dict[str, Marks] = {}
    if store.exists():
        try:
            lines = store.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as error:
            raise InputError(f"{store}: cannot be read ({error.strerror})") from None
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                data = json.loads(line)
                marks = data["marks"]
                found[data["key"]] = Marks(
                    marks["exercise"], tuple(Mark(**mark) for mark in marks["marks"]), tuple(marks["cells"]),
                    marks["not_run"], tuple(marks["notes"]),
                )  # fmt: skip
    return found
