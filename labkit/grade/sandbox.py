"""The box in which workers live: bubblewrap, a separate user, or (told to) nothing."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from labkit.bootstrap import ROOT
from labkit.grade.exercise import Exercise

Mode = Literal["bwrap", "uid", "none"]
PACKAGES = ("numpy", "sympy", "mpmath")
PRELOAD = (
    "abc", "ast", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "enum", "fractions",
    "functools", "heapq", "itertools", "json", "math", "operator", "random", "re", "statistics", "string", "textwrap",
    "typing", "numpy", "sympy", "mpmath",
)  # fmt: skip


class Box:
    """A running worker for one exercise; submissions run in it one after another, each in a fork."""

    def __init__(self, exercise: Exercise, mode: Mode) -> None:
        self.mode = mode
        self.folder = Path(tempfile.mkdtemp(prefix="labkit-grade-"))
        tree = build_tree(exercise, self.folder / "tree")
        packages = self.folder / "packages"
        packages.mkdir()
        for name, place in package_folders().items():
            (packages / name).symlink_to(place)
        scratch = self.folder / "scratch"
        scratch.mkdir()
        settings = {
            "mode": mode, "uid": 0, "path": [str(packages), str(tree)], "preload": PRELOAD, "scratch": str(scratch),
            "scratch_bytes": 16 << 20, "limits": {"CORE": 0},
        }  # fmt: skip
        self.control, other = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(tree / "worker.py"), str(other.fileno()), json.dumps(settings)]
        self.process = subprocess.Popen(
            command, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        other.close()
        assert self.control.recv(1) == b"!"
        self.running = False

    def run(self) -> socket.socket:
        """A fork for one submission: the grader's end of its channel."""
        mine, theirs = socket.socketpair()
        socket.send_fds(self.control, [b"r"], [theirs.fileno()])
        theirs.close()
        self.running = True
        return mine

    def end(self) -> None:
        """End what `run` started, with everything that it started itself."""
        if self.running:
            self.control.sendall(b"e")
            assert self.control.recv(1) == b"."
            self.running = False

    def close(self) -> None:
        """End the worker and remove its folder."""
        self.control.close()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def build_tree(exercise: Exercise, tree: Path) -> Path:
    """A folder with the worker and the labkit modules that the exercise declares, and no others."""
    here = Path(__file__).parent
    tree.mkdir()
    for name in ("worker.py", "confine.py", "values.py"):
        shutil.copy(here / name, tree / name)
    labkit = tree / "labkit"
    (labkit / "grade").mkdir(parents=True)
    _write(labkit / "__init__.py", '"""What this exercise may use of labkit."""\n')
    _write(labkit / "grade" / "__init__.py", "")
    # Public checks say nothing that counts: in the worker they are there and do nothing.
    _write(labkit / "grade" / "public.py", "def checker(*_, **__):\n    return lambda *_, **__: None\n")
    for name in exercise.modules:
        copy_module(name, labkit)
    return tree


def copy_module(name: str, labkit: Path) -> None:
    """Copy one module or package (`labkit.core`) with the packages above it."""
    parts = name.split(".")[1:]
    source, target = ROOT / "labkit", labkit
    for part in parts[:-1]:
        source, target = source / part, target / part
        target.mkdir(exist_ok=True)
        if not (target / "__init__.py").exists():
            _write(target / "__init__.py", "")
    source, target = source / parts[-1], target / parts[-1]
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    else:
        shutil.copy(source.with_suffix(".py"), target.with_suffix(".py"))


def package_folders() -> dict[str, Path]:
    """The folders of the packages that answers may import, with the libraries that lie beside them."""
    import importlib.util

    found: dict[str, Path] = {}
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            place = Path(spec.origin).parent
            found[name] = place
            libraries = place.parent / f"{name}.libs"
            if libraries.is_dir():
                found[libraries.name] = libraries
    return found


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def open_box(exercise: Exercise, mode: Mode) -> Box:
    """A box of that mode for that exercise."""
    return Box(exercise, mode)


_unused: Any = os
