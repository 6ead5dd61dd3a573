"""What is inside the box: the worker's files, the labkit modules an exercise declares, Python and three packages."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sysconfig
from pathlib import Path

from labkit.bootstrap import ROOT
from labkit.grade.exercise import Exercise

PACKAGES = ("numpy", "sympy", "mpmath")
# Imported once, before the forks: what answers commonly use.
PRELOAD = (
    "abc", "ast", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "enum", "fractions",
    "functools", "hashlib", "heapq", "itertools", "json", "math", "operator", "random", "re", "statistics", "string",
    "struct", "textwrap", "traceback", "typing", "uuid", "zlib", "numpy", "sympy", "mpmath", "sympy.stats",
)  # fmt: skip
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")


def build_tree(exercise: Exercise, tree: Path) -> Path:
    """A folder with the worker and the labkit modules that the exercise declares, and no others."""
    here = Path(__file__).parent
    labkit = tree / "labkit"
    (labkit / "grade").mkdir(parents=True)
    for name in ("worker.py", "confine.py", "values.py"):
        shutil.copy(here / name, tree / name)
    _write(labkit / "__init__.py", '"""What this exercise may use of labkit."""\n')
    _write(labkit / "grade" / "__init__.py", "")
    # Public checks say nothing that counts: in the worker they are there and do nothing.
    _write(labkit / "grade" / "public.py", "def checker(*_, **__):\n    return lambda *_, **__: None\n")
    for name in exercise.modules:
        _copy_module(name, labkit)
    for folder, _, files in os.walk(tree):
        os.chmod(folder, 0o755)
        for file in files:
            os.chmod(Path(folder) / file, 0o644)
    return tree


def _copy_module(name: str, labkit: Path) -> None:
    """Copy one module or package (`labkit.core`) into a tree, with empty packages above it."""
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


def packages() -> list[Path]:
    """The folders of the packages that answers may import, with the libraries that lie beside them."""
    found: list[Path] = []
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            place = Path(spec.origin).parent
            libraries = place.parent / f"{name}.libs"
            found += [place, libraries] if libraries.is_dir() else [place]
    return found


def library() -> Path:
    """The folder of Python's own library."""
    return Path(sysconfig.get_path("stdlib")).resolve()


def hidden_from(bound: list[Path]) -> list[Path]:
    """The instructor's folders that lie inside what is shown to the box, and must be covered there."""
    own = [ROOT / name for name in ("labkit", "solutions", "exercises", "tests")]
    return [
        folder for folder in own if folder.is_dir() and any(folder.is_relative_to(place) for place in bound)
    ]


def build_root(root: Path, shown: list[Path]) -> None:
    """A root folder for `uid` mode in which each of these folders has its own path; links where the disk allows."""
    skipped = shutil.ignore_patterns(
        "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "config-*"
    )
    for place in shown:
        target = root / place.relative_to(place.anchor)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(place, target, ignore=skipped, copy_function=_link, symlinks=True, dirs_exist_ok=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
