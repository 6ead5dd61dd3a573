"""How long a command takes to start: whole processes beside a Python that does nothing, and what they import."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

from benchmarks import timing

RUN = ["-m", "labkit", "run", "x1_continuous", "--json"]
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import labkit": ["-c", "import labkit"],
    "import labkit.core": ["-c", "import labkit.core"],
    "labkit --help": ["-m", "labkit", "--help"],
    "labkit run x1_continuous --json": RUN,
    "labkit check x1_continuous": ["-m", "labkit", "check", "x1_continuous"],
}
MOST = 10


def measure(repeats: int) -> dict[str, Any]:
    """Times of whole processes, and the dearest imports of a run."""
    steps = {name: partial(timing.measured, command) for name, command in COMMANDS.items()}
    runs = timing.interleaved(steps, repeats)
    bare = [run.seconds for run in next(iter(runs.values()))]
    return {
        "commands": {
            name: {
                "milliseconds": timing.spread(1000 * run.seconds for run in found),
                "of_bare": timing.ratios((run.seconds for run in found), bare),
            }
            for name, found in runs.items()
        },
        "imports_of": " ".join(["python", *RUN]),
        "imports": _imports(),
    }


def _imports() -> list[dict[str, Any]]:
    """The modules that a run spends most time on importing, without what they import in turn."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *RUN],
        cwd=timing.ROOT, capture_output=True, encoding="utf-8", errors="replace", check=True,
    )  # fmt: skip
    found = []
    for line in done.stderr.splitlines():
        cells = line.removeprefix("import time:").split("|")
        if len(cells) == 3 and cells[0].strip().isdigit():
            own, total = (int(cell) / 1000 for cell in cells[:2])
            found.append({"module": cells[2].strip(), "own_ms": own, "with_its_imports_ms": total})
    return sorted(found, key=lambda module: -module["own_ms"])[:MOST]


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    rows = [["process", "ms (least to greatest)", "of a bare Python"]]
    for name, found in result["commands"].items():
        rows.append(
            [name, timing.between(found["milliseconds"], ".0f"), timing.between(found["of_bare"], ".2f")]
        )
    dear = [["imports of a run, dearest first", "own ms", "with its own imports"]]
    dear += [
        [module["module"], f"{module['own_ms']:.1f}", f"{module['with_its_imports_ms']:.1f}"]
        for module in result["imports"]
    ]
    return [*timing.columns(rows), "", *timing.columns(dear)]
