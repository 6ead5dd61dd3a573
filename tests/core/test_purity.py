"""The core is pure: the standard library alone, no clock, no random, no files, no floating point (laws 1 and 4)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import labkit.core

CORE = Path(labkit.core.__file__).parent
FILES = sorted(CORE.rglob("*.py"))
# The rooms of the standard library that a scheduler has no business in.
WORLDLY = {
    "time",
    "datetime",
    "random",
    "secrets",
    "os",
    "io",
    "socket",
    "threading",
    "asyncio",
    "subprocess",
    "uuid",
}
WORLDLY |= {
    "pathlib",
    "tempfile",
    "shutil",
    "logging",
    "sys",
    "signal",
    "select",
    "multiprocessing",
    "locale",
    "decimal",
}


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """(module, line) of every import, wherever it stands."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: a relative import"
            yield node.module or "", node.lineno


def test_all_files_are_looked_at():
    """If the core moves, so must these tests."""
    assert {"decide.py", "scheduler.py", "pages.py", "draft.py"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_core_imports_the_standard_library_alone(path: Path):
    for module, line in imports(path):
        root = module.split(".")[0]
        ours = module == "labkit.core" or module.startswith("labkit.core.")
        assert ours or root in sys.stdlib_module_names, f"{path.name}:{line} imports {module}"
        assert root not in WORLDLY, (
            f"{path.name}:{line} imports {module}: clock, chance and files stay outside"
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_core_has_no_floating_point(path: Path):
    for node in ast.walk(tree(path)):
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Constant):
            assert not isinstance(node.value, float | complex), f"{where}: the literal {node.value}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"float", "complex"}, f"{where}: {node.func.id}()"
        elif isinstance(node, ast.BinOp):
            # The one true division of the core is that of exact fractions.
            assert not isinstance(node.op, ast.Div) or path.name in EXACT, f"{where}: a true division"


EXACT = {"credit.py", "scheduler.py"}  # E31.14's wait and the credits: Fractions


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_core_reads_no_oracle_and_does_nothing_to_the_world(path: Path):
    banned = {"open", "print", "input", "exec", "eval", "__import__", "id", "hash"}
    for node in ast.walk(tree(path)):
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"oracle", "output_tokens"}, f"{where}: reads .{node.attr} (law 4)"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in banned, f"{where}: {node.func.id}()"
        elif isinstance(node, ast.Global):
            raise AssertionError(f"{where}: a global that changes")


def test_core_starts_without_any_package():
    """A fresh interpreter that finds no installed package, and what it has loaded in the end."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
        "import labkit.core.decide\n"
        "print('\\n'.join(sorted(set(sys.modules) - before)))"
    )
    root = str(CORE.parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, root],
        capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "labkit.core.decide" in loaded
    for name in loaded:
        root_name = name.split(".")[0]
        assert root_name == "labkit" or root_name in sys.stdlib_module_names, f"{name} was loaded"
    assert not [name for name in loaded if name.startswith("labkit.") and not name.startswith("labkit.core")]
