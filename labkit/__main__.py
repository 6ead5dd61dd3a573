"""The one entry: `python -m labkit COMMAND …`.

Standard library only, and syntax that an old Python 3 can read: what is too old or not installed is said in one
line instead of a traceback.
"""

import os
import sys

USAGE = """\
usage: python -m labkit COMMAND ...

The workbook:
  lab      make .venv, install, open JupyterLab at notebooks/00_start.ipynb
  test     the same with the test tools, then run every check
  bench    the same with the packages compared against, then measure

The engine:
  run      run scenarios: a readable table, or with --json the result object
  replay   the same result from a journal alone
  check    validate scenarios, print every problem with its field; of a notebook or .py, an exercise's public checks
  report   what journals say: tables, and with --html one page with figures
  sweep    one scenario at many values of its fields, or the largest that meets a target

The real model:
  model      make a small real checkpoint ready, once
  calibrate  measure rounds on this machine and fit a cost model to them

Exercises:
  bundle   the notebooks that students get
  grade    a folder of submissions: marks, feedback, a class page

`python -m labkit COMMAND --help` tells the options of one.
"""
BOOTSTRAP = ("lab", "test", "bench")
ENGINE = {  # each command and the module whose `main(argv)` runs it; argv begins with the command's name
    "run": "labkit.scenario.command",
    "replay": "labkit.scenario.command",
    "check": "labkit.scenario.command",
    "report": "labkit.show.report",
    "sweep": "labkit.scenario.command",
    "model": "labkit.executors.model.command",
    "calibrate": "labkit.scenario.calibrate",
    "bundle": "labkit.grade.command",
    "grade": "labkit.grade.command",
}
ANSWERS = (".ipynb", ".py")  # `check` of such a file is the grader's
NEEDED = ("jsonschema", "fastjsonschema", "tqdm")  # what engine commands use outside the standard library
REEXEC = "LABKIT_REEXEC"  # set for the second start, so that a broken .venv cannot make an endless chain


def main(argv: "list[str]") -> int:
    """Dispatch one command; return its exit status (0 done, 2 the input is wrong)."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this is where an older Python learns that it is too old
        version = ".".join(map(str, sys.version_info[:2]))
        return _refuse(f"labkit needs Python 3.11, 3.12 or 3.13, and {sys.executable} is {version}")
    for stream in (sys.stdout, sys.stderr):
        # A terminal in another code page shows an escape where it lacks a character; lines end in "\n" everywhere.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace", newline="\n")
    command = argv[0] if argv else "--help"
    if command in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    if command == "--version":
        from labkit import __version__

        print(__version__)
        return 0
    if command in BOOTSTRAP:
        from labkit import bootstrap

        return bootstrap.main(argv)
    if command in ENGINE:
        return _engine(argv)
    return _refuse(f"there is no command {command!r}; the commands are {', '.join([*BOOTSTRAP, *ENGINE])}")


def _engine(argv: "list[str]") -> int:
    """Run an engine command here, or with the repository's .venv where this interpreter lacks a package."""
    from importlib import import_module
    from importlib.util import find_spec

    if not all(map(find_spec, NEEDED)) and REEXEC not in os.environ:
        from labkit import bootstrap

        python = bootstrap.ready_python()
        if python is not None:
            os.environ[REEXEC] = "1"
            return bootstrap.replace_process([python, "-m", "labkit", *argv])
    try:
        answers = argv[0] == "check" and any(argument.endswith(ANSWERS) for argument in argv[1:])
        status: int = import_module(ENGINE["grade" if answers else argv[0]]).main(argv)
        return status
    except ModuleNotFoundError as missing:
        name = missing.name or str(missing)
    if name.partition(".")[0] == "labkit":
        return _refuse(f"this copy lacks its own module {name}: get a complete one")
    return _refuse(
        f"the package {name} is not installed for {sys.executable}: "
        "`python3 -m labkit lab` in the repository installs everything into .venv"
    )


def _refuse(line: str) -> int:
    sys.stderr.write(f"labkit: {line}\n")
    return 2


def _start() -> int:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8", newline="\n"))  # noqa: SIM115
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _silence()  # the reader (`| head`) has gone
        return 1
    except OSError as error:
        _silence()
        return _refuse(f"the output cannot be written ({error.strerror}), expected room for all of it")


def _silence() -> None:
    """Nothing more may be flushed to standard output when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(_start())
