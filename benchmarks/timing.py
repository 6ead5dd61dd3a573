"""What all benches share: interleaved repeats, their spread, and processes measured from outside."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
Result = TypeVar("Result")


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median, least and greatest of some repeats."""
    kept = list(values)
    return {"median": statistics.median(kept), "min": min(kept), "max": max(kept)}


def interleaved(steps: Mapping[str, Callable[[], Result]], repeats: int) -> dict[str, list[Result]]:
    """Run every step once, then again, `repeats` times: a slow minute of the machine hits all of them alike."""
    found: dict[str, list[Result]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            found[name].append(step())
    return found


def ratios(over: Iterable[float], under: Iterable[float]) -> dict[str, float]:
    """Spread of the ratios of two steps, each taken within one repeat."""
    return spread(a / b for a, b in zip(over, under, strict=True))


@dataclass(frozen=True)
class Process:
    """A finished process: wall seconds, and peak resident MiB where the system tells (not on Windows)."""

    seconds: float
    peak_mib: float | None


def measured(arguments: list[str]) -> Process:
    """Run Python with `arguments` in the repository's root.

    A small helper process starts it, because Linux counts the memory of whoever starts a process towards that
    process's peak.

    Raises:
        RuntimeError: it failed; with the last line of what it said.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measured", *arguments],
        cwd=ROOT, capture_output=True, encoding="utf-8", errors="replace", check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing"]
        raise RuntimeError(f"`python {' '.join(arguments)}` failed: {said[-1]}")
    return Process(**json.loads(done.stdout))


def machine() -> dict[str, Any]:
    """What the figures were measured on, without naming it."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
    }


def columns(rows: list[list[str]]) -> list[str]:
    """Rows of cells as lines: the first column to the left, the others to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]


def between(values: Mapping[str, float], form: str) -> str:
    """A spread in one cell: median (least to greatest)."""
    return f"{values['median']:{form}} ({values['min']:{form}} to {values['max']:{form}})"
