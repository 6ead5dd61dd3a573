"""Which box to trust: each is started and attacked by the grader itself before any submission goes into it."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from labkit.bootstrap import ROOT
from labkit.core.errors import InputError
from labkit.grade.catalog import SOLUTIONS, exercises
from labkit.grade.sandbox import MODES, Box, BoxError, Mode
from labkit.grade.session import Limits, NoAnswerError, Session

PROBE = '''
import os
import socket


def seen(path):
    """Whether anything can be learned about a path."""
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def reached(port):
    try:
        with socket.socket() as line:
            line.settimeout(1)
            line.connect(("127.0.0.1", port))
    except OSError:
        return False
    return True


def written(folder):
    try:
        with open(folder + "/labkit-trial", "wb"):
            return True
    except OSError:
        return False


def held():
    try:
        return len(bytearray(3 << 30)) > 0
    except MemoryError:
        return False


def children():
    born = 0
    try:
        while born < 200:
            if os.fork() == 0:
                while True:
                    pass
            born += 1
    except OSError:
        pass
    return born
'''


def choose(private: list[Path], unsandboxed: bool = False) -> tuple[Mode, list[str]]:
    """The strongest box that stands its trial, and why stronger ones did not.

    `private` are files and folders that no submission may see. Raises InputError where none stands it and
    `unsandboxed` was not asked for.
    """
    reasons: list[str] = []
    for mode in MODES:
        problem = fault(mode, private)
        if not problem:
            return mode, reasons
        reasons.append(f"{mode}: {problem}")
    if unsandboxed:
        return "none", reasons
    lines = [f"labkit grade: no sandbox, {reason}" for reason in reasons]
    lines.append(
        "labkit grade: install bubblewrap, run as root in a container, or add --unsandboxed to trust all of them"
    )
    raise InputError(lines)


def fault(mode: Mode, private: list[Path]) -> str:
    """What is wrong with a kind of box on this machine; empty where it holds."""
    own = [SOLUTIONS / "hidden", ROOT / "labkit" / "grade" / "checks.py", *private]
    exercise = next(iter(exercises().values()))
    with contextlib.ExitStack() as stack:
        try:
            box = stack.enter_context(Box(exercise, mode))
            session = stack.enter_context(Session(box, [PROBE], Limits(cell=20, call=20, notebook=90)))
            for path in own:
                if session.call("seen", (str(path.resolve()),)) is not False:
                    return f"a submission can see {path}"
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            if session.call("reached", (listener.getsockname()[1],)) is not False:
                return "a submission can reach the network"
            for folder in ("/", "/usr", str(box.folder / "tree"), "/var/tmp"):
                if session.call("written", (folder,)) is not False:
                    return f"a submission can write to {folder}"
            if session.call("held", ()) is not False:
                return "a submission can take 3 GiB of memory"
            if session.call("children", ()) > 100:
                return "a submission can start any number of processes"
        except BoxError as error:
            return str(error)
        except (NoAnswerError, OSError) as error:
            return f"its trial broke off ({error})"
    return ""
