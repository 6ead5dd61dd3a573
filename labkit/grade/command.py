"""The grader's commands: `grade`, `bundle`, and `check` of a notebook or .py. Exit 0 done, 1 not yet, 2 wrong input."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from labkit.core.errors import InputError, escaped
from labkit.show.text import t


class _Parser(argparse.ArgumentParser):
    """argparse that says what is wrong in one line, as an InputError."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {escaped(message)}")


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = _Parser(prog="labkit", description="The grader's commands.", allow_abbrev=False)
    commands = top.add_subparsers(dest="command", required=True, metavar="grade|bundle|check")
    grade = commands.add_parser("grade", help="grade a folder of submissions", allow_abbrev=False)
    grade.add_argument(
        "submissions", type=Path, metavar="SUBMISSIONS", help="STUDENT/ex_31_NN.ipynb, or nbgrader's"
    )
    grade.add_argument(
        "--out", type=Path, required=True, metavar="REPORT", help="a folder; a stopped run goes on there"
    )
    grade.add_argument(
        "--jobs", type=int, metavar="N", help="submissions at a time; default: as many as processors"
    )
    grade.add_argument(
        "--secret-file", type=Path, metavar="F", help="for variants: each student's own numbers"
    )
    grade.add_argument(
        "--roster", type=Path, metavar="R", help="CSV with a column student or id, or a name a line"
    )
    grade.add_argument(
        "--gradebook", type=Path, metavar="nbgrader.db", help="write machine marks there as well"
    )
    grade.add_argument("--unsandboxed", action="store_true", help="grade even where no sandbox can be had")
    grade.set_defaults(act=_grade)
    bundle = commands.add_parser("bundle", help="make the students' notebooks", allow_abbrev=False)
    bundle.add_argument("--out", type=Path, required=True, metavar="DIR|ZIP")
    who = bundle.add_mutually_exclusive_group()
    who.add_argument("--student", metavar="NAME", help="with --secret-file: this student's numbers")
    who.add_argument("--roster", type=Path, metavar="R", help="with --secret-file: a folder for each student")
    bundle.add_argument(
        "--secret-file", type=Path, metavar="F", help="the secret that `grade` will be given too"
    )
    bundle.set_defaults(act=_bundle)
    check = commands.add_parser("check", help="run a notebook's public checks", allow_abbrev=False)
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="ex_31_NN.ipynb or .py")
    check.set_defaults(act=_check)
    return top


def main(argv: list[str]) -> int:
    """Run one command; `argv` begins with its name. Returns the exit status."""
    try:
        options = parser().parse_args(argv)
        status: int = options.act(options)
        return status
    except InputError as error:
        for line in error.problems:
            print(line, file=sys.stderr)
        return 2
    except SystemExit as end:  # --help
        return end.code if isinstance(end.code, int) else 2


def _grade(options: argparse.Namespace) -> int:
    if os.name != "posix":
        raise InputError(
            "labkit grade: runs on Linux and macOS, this system has neither fork nor a sandbox for it"
        )
    from labkit.grade import collect, report, run, trial
    from labkit.grade.catalog import find, hidden_checks
    from labkit.grade.session import Limits

    if options.jobs is not None and not 1 <= options.jobs <= 256:
        raise InputError(f"labkit grade: given --jobs {options.jobs}, expected 1 to 256")
    secret = collect.read_secret(options.secret_file) if options.secret_file else None
    roster = collect.read_roster(options.roster) if options.roster else None
    found, strangers = collect.collect(options.submissions, roster)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{options.out}: cannot be made ({error.strerror}), expected a folder for the report"
        ) from None
    private = [options.submissions, options.out, *(s.path for s in found[:1] if s.path)]
    mode, reasons = trial.choose(
        [*private, *filter(None, (options.secret_file, options.gradebook))], options.unsandboxed
    )
    for reason in reasons:
        print(f"labkit grade: without {reason}", file=sys.stderr)
    print(t(f"grade.box.{mode}"))
    wanted = run.tasks(found, secret)
    for key in {task.submission.exercise for task in wanted}:
        hidden_checks(find(key))
    jobs = options.jobs or os.cpu_count() or 1
    with _bar(len(wanted)) as progress:
        results = run.grade_all(wanted, options.out, mode, jobs, Limits(), progress)
    keys = {(task.submission.student, task.submission.exercise): task.key for task in wanted}
    rows = report.rows(found, keys, results)
    report.write(options.out, rows, strangers, mode)
    if options.gradebook:
        from labkit.grade import gradebook

        print(f"{options.gradebook}: {gradebook.store(options.gradebook, rows)} marks written")
    states = [row.state for row in rows]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("graded", "not_run", "missing"))
    print(f"{options.out / 'index.html'}: {counts}")
    return 0


@contextlib.contextmanager
def _bar(total: int) -> Any:
    from tqdm import tqdm

    with tqdm(total=total, unit="notebook", disable=None) as bar:

        def progress(done: int, _: int) -> None:
            bar.n = done
            bar.refresh()

        yield progress


def _bundle(options: argparse.Namespace) -> int:
    from labkit.grade import bundle, collect

    if (options.student or options.roster) and not options.secret_file:
        raise InputError("labkit bundle: given a student or a roster, expected --secret-file with it")
    if options.secret_file and not (options.student or options.roster):
        raise InputError("labkit bundle: given --secret-file, expected --student or --roster with it")
    secret = collect.read_secret(options.secret_file) if options.secret_file else None
    students = (
        collect.read_roster(options.roster)
        if options.roster
        else [options.student]
        if options.student
        else []
    )
    print(f"{options.out}: {bundle.make(options.out, students, secret)} notebooks")
    return 0


def _check(options: argparse.Namespace) -> int:
    from labkit.grade import public
    from labkit.grade.catalog import find
    from labkit.grade.notebook import UnreadableError, read

    good = True
    for path in options.files:
        try:
            cells = [cell for cell in read(path) if cell.kind == "code"]
        except UnreadableError as error:
            raise InputError(f"{path}: {error}, expected a notebook or a percent-format .py") from None
        exercise = find(path.stem)
        names: dict[str, Any] = {"__name__": "__main__", "display": lambda *_: None}
        for number, cell in enumerate(cells, 1):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(cell.source, f"<cell {number}>", "exec"), names)
            except (public.NotYetError, NotImplementedError):
                continue  # said below, part by part
            except Exception as error:  # noqa: BLE001 - a student's own cell
                good = False
                said = escaped(f"{type(error).__name__}: {error}"[:300])
                print(f"{path}: {t('grade.check.cell', number=number, error=said)}")
        for part in exercise.parts:
            if part.answers:
                problems = public.remarks(exercise, part, names)
                good = good and not problems
                for line in problems or [t("grade.public.good", part=part.key)]:
                    print(f"{path}: {line}")
    return 0 if good else 1
