"""How fast a class is graded, and whether rightly: right, wrong, half and hostile students, all exercises, two slots.

The peer is nbgrader's own `autograde` on ten plain notebooks in the same run; without nbgrader only ours is measured.
What every submission has to earn is known from how it was made, so wrong verdicts are counted too.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import timing
from labkit.bootstrap import ROOT
from labkit.core.errors import InputError
from labkit.grade import catalog, collect, report, run, trial
from labkit.grade.exercise import Exercise
from labkit.grade.judge import Marks
from labkit.grade.notebook import from_percent, read
from labkit.grade.session import Limits

STUDENTS = 200
JOBS = 2
PLAIN = 10
AIMS = (4, 8)  # times nbgrader's rate: due, wanted
HOSTILE = (
    "while True: pass",
    "import os\nos._exit(0)",
    "class E:\n    def __eq__(s, o): return True\nttft = tpot = answer = E()",
    "import os\nwhile True: os.fork()",
    "x = []\nwhile True: x.append(bytearray(1 << 24))",
    "import sys\nwhile True: print('x' * 10000)",
)


@dataclasses.dataclass(frozen=True)
class Due:
    """What a submission must earn: all, none, or less than all of one answer."""

    kind: str
    answer: str = ""

    def met(self, marks: Marks, exercise: Exercise) -> bool:
        """Whether the marks are what this submission deserves."""
        possible = sum(answer.points for part in exercise.parts for answer in part.answers)
        if self.kind == "right":
            return marks.earned == possible
        if self.kind == "wrong":
            return any(m.answer == self.answer and m.earned < m.points for m in marks.marks)
        return marks.earned == 0


def measure(students: int = STUDENTS) -> dict[str, Any]:
    """Grade a generated class, then let nbgrader grade plain notebooks."""
    with tempfile.TemporaryDirectory(prefix="labkit-bench-") as name:
        base = Path(name)
        due = _write(base / "class", students)
        out = base / "report"
        out.mkdir()
        try:
            mode, _ = trial.choose([base / "class"])
        except InputError as error:
            return {"left_out": error.problems[0]}
        started = time.monotonic()
        found, strangers = collect.collect(base / "class", None)
        tasks = run.tasks(found, None)
        results = run.grade_all(tasks, out, mode, JOBS, Limits(), lambda *_: None)
        keys = {(task.submission.student, task.submission.exercise): task.key for task in tasks}
        report.write(out, report.rows(found, keys, results), strangers, mode)
        seconds = time.monotonic() - started
        wrong: dict[str, int] = {"accepts": 0, "rejects": 0}
        names = []
        for (student, key), wanted in due.items():
            if not wanted.met(results[keys[student, key]], catalog.find(key)):
                wrong["rejects" if wanted.kind == "right" else "accepts"] += 1
                names.append(f"{student} {key}")
        return {
            "students": students, "notebooks": len(tasks), "jobs": JOBS, "box": mode, "seconds": seconds,
            "notebooks_per_second": len(tasks) / seconds, "peak_mib_of_a_process": _peak(),
            "false_accepts": wrong["accepts"], "false_rejects": wrong["rejects"], "names": names[:20],
            "nbgrader": _nbgrader(base / "course"),
        }  # fmt: skip


def _write(folder: Path, students: int) -> dict[tuple[str, str], Due]:
    """Make a class: of ten students four answer right, two in other ways, two wrong, one half, one hostile once."""
    due = {}
    for number in range(students):
        place = folder / f"s{number:03}"
        place.mkdir(parents=True)
        for nth, exercise in enumerate(catalog.exercises().values()):
            made, wanted = _one(exercise, number, nth)
            (place / f"{exercise.file}.ipynb").write_bytes(made)
            due[place.name, exercise.id] = wanted
    return due


def _one(exercise: Exercise, number: int, nth: int) -> tuple[bytes, Due]:
    kind = number % 10
    source = json.loads(catalog.source_of(exercise).read_text(encoding="utf-8"))
    if kind in (4, 5, 6, 7):
        folder = catalog.SOLUTIONS / ("right" if kind < 6 else "wrong") / exercise.file
        files = sorted(folder.glob("*.py"))
        text = files[number // 10 % len(files)].read_text(encoding="utf-8")
        own = {cell.id: cell.source for cell in from_percent(text)}
        for cell in source["cells"]:
            cell["source"] = own.get(cell["id"], cell["source"])
        answer = text.split("\n")[0].removeprefix("# expects: ").split()[0] if kind > 5 else ""
        return json.dumps(source).encode(), Due("wrong" if answer else "right", answer)
    if kind in (8, 9):
        empty = json.loads(catalog.release_of(exercise).read_text(encoding="utf-8"))
        if kind == 9 and nth == number // 10 % len(catalog.exercises()):
            code = {"cell_type": "code", "source": HOSTILE[number // 10 % len(HOSTILE)]}
            empty["cells"].append(code)
        return json.dumps(empty).encode(), Due("none")
    return json.dumps(source).encode(), Due("right")


def _peak() -> float:
    """The most memory that one of our processes held: a slot, or a worker and the forks it saw."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _nbgrader(course: Path) -> dict[str, Any]:
    """Seconds of nbgrader's autograde for plain notebooks of one exercise."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    exercise = next(iter(catalog.exercises().values()))
    source = catalog.source_of(exercise)
    (course / "solutions" / "source" / "ch31").mkdir(parents=True)
    shutil.copy(source, course / "solutions" / "source" / "ch31")
    shutil.copy(ROOT / "nbgrader_config.py", course)
    assert read(source)
    for number in range(PLAIN):
        place = course / "submitted" / f"p{number}" / "ch31"
        place.mkdir(parents=True)
        shutil.copy(source, place)
    seconds = {}
    for step in ("generate_assignment", "autograde"):
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", step, "ch31", "--create"], cwd=course,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().split("\n")
            return {"left_out": f"nbgrader {step} failed: {lines[-1]}"}
        seconds[step] = time.monotonic() - started
    return {
        "notebooks": PLAIN,
        "seconds": seconds["autograde"],
        "notebooks_per_second": PLAIN / seconds["autograde"],
    }


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    if "left_out" in result:
        return [f"left out: {result['left_out']}"]
    peer = result["nbgrader"]
    table = [
        ["grader", "notebooks", "seconds", "notebooks/s", "times nbgrader", "false accepts", "false rejects"]
    ]
    times = (
        "" if "left_out" in peer else f"{result['notebooks_per_second'] / peer['notebooks_per_second']:.1f}"
    )
    table.append([
        f"labkit, {result['box']}, {result['jobs']} slots", f"{result['notebooks']}", f"{result['seconds']:.1f}",
        f"{result['notebooks_per_second']:.2f}", times, f"{result['false_accepts']}", f"{result['false_rejects']}",
    ])  # fmt: skip
    if "left_out" in peer:
        return [*timing.columns(table), f"nbgrader left out: {peer['left_out']}"]
    table.append(["nbgrader autograde", f"{peer['notebooks']}", f"{peer['seconds']:.1f}",
                  f"{peer['notebooks_per_second']:.2f}", f"due {AIMS[0]}, wanted {AIMS[1]}", "", ""])  # fmt: skip
    told = [f"wrongly judged: {', '.join(result['names'])}"] if result["names"] else []
    return [
        *timing.columns(table),
        f"peak memory of one process: {result['peak_mib_of_a_process']:.0f} MiB",
        *told,
    ]
