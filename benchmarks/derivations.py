"""How long all derivations of `labkit.theory` take to check, in one fresh process with sympy's import.

`python -m benchmarks.derivations` runs it alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks import timing

AIM_SECONDS, MOST_SECONDS = 3, 10
SLOWEST = 6
CODE = """
import json, time
start, cpu = time.perf_counter(), time.process_time()
import sympy
imported = time.perf_counter() - start
from labkit.theory import ALL, derive
each = {}
for _, name in ALL:
    before = time.perf_counter()
    done = derive(name).check()
    each[name] = [time.perf_counter() - before, len(done)]
print(json.dumps({"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu,
                  "import_seconds": imported, "each": each}))
"""


def measure(repeats: int) -> dict[str, Any]:
    """Wall and processor seconds of the whole, of sympy's import, and of each derivation."""
    runs = [_run() for _ in range(repeats)]
    found: dict[str, Any] = {
        name: timing.spread(run[name] for run in runs)
        for name in ("seconds", "cpu_seconds", "import_seconds")
    }
    found["derivations"] = len(runs[0]["each"])
    found["steps"] = sum(steps for _, steps in runs[0]["each"].values())
    found["each_ms"] = {
        name: timing.spread(1000 * run["each"][name][0] for run in runs) for name in runs[0]["each"]
    }
    return {**found, "aims": {"seconds": AIM_SECONDS, "most_seconds": MOST_SECONDS}}


def _run() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=timing.ROOT, capture_output=True, encoding="utf-8", check=True
    )
    run: dict[str, Any] = json.loads(done.stdout)
    return run


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text, aims beside; the slowest derivations by name."""
    rows = [["one process", "seconds (least to greatest)", "aim"]]
    what = f"{result['derivations']} derivations, {result['steps']} steps, with sympy's import"
    rows.append([what, timing.between(result["seconds"], ".2f"), f"{AIM_SECONDS} (at most {MOST_SECONDS})"])
    rows.append(["the same in processor seconds", timing.between(result["cpu_seconds"], ".2f"), ""])
    rows.append(["sympy's import alone", timing.between(result["import_seconds"], ".2f"), ""])
    slowest = sorted(result["each_ms"].items(), key=lambda item: -item[1]["median"])[:SLOWEST]
    dear = [["slowest", "ms (least to greatest)"], *([n, timing.between(ms, ".0f")] for n, ms in slowest)]
    return [*timing.columns(rows), "", *timing.columns(dear)]


if __name__ == "__main__":
    print("\n".join(lines(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3))))
