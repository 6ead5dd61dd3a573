"""A whole production trace through `python -m labkit run`, as a user would: time, and memory that stays flat."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import timing

AIM_SECONDS = 10
SHORT = Fraction(1, 4)  # of the trace, to compare memory with
# Roughly an 8 B model in 16 bits on one accelerator: 16 GiB left for the cache, 128 KiB a position.
SCENARIO: dict[str, Any] = {
    "schema": "labkit.scenario/1",
    "budget": {"tokens": 2048, "seats": 64, "kv_bytes": 16 << 30, "bytes_per_token": 131_072},
    "policy": {"admission": "grow", "preemption": "recompute", "prefill_chunk": 512},
    "cost": {
        "kind": "linear",
        "fixed": 0.006,
        "per_token": 4e-5,
        "per_pair": 1.3e-9,
        "per_context": 6e-8,
        "per_seat": 1e-5,
    },
}


def measure(repeats: int, trace: Path) -> dict[str, Any]:
    """The command without `--json` on the whole trace (Azure's form), its first quarter, and its first request."""
    whole = SCENARIO | {"trace": {"path": str(trace.resolve()), "format": "azure"}}
    requests, rounds, slots = _count(whole)
    quarter = max(1, int(requests * SHORT))
    limits = {"whole": None, "quarter": quarter, "first": 1}
    with TemporaryDirectory() as folder:
        commands = {}
        for name, limit in limits.items():
            path = Path(folder) / f"{name}.json"
            scenario = whole | {"trace": whole["trace"] | {"limit": limit}}
            path.write_text(json.dumps(scenario), encoding="utf-8", newline="\n")
            commands[name] = partial(timing.measured, ["-m", "labkit", "run", str(path)])
        runs = timing.interleaved(commands, repeats)
    seconds = [run.seconds for run in runs["whole"]]
    return {
        "aim_seconds": AIM_SECONDS,
        "requests": requests,
        "rounds": rounds,
        "slots": slots,
        "seconds": timing.spread(seconds),
        "requests_per_second": timing.spread(requests / t for t in seconds),
        "slots_per_second": timing.spread(slots / t for t in seconds),
        "quarter_requests": quarter,
        "memory": _memory(runs),
    }


def _count(scenario: dict[str, Any]) -> tuple[int, int, int]:
    """Requests, rounds and sequence-slots of a run, from its journal's events."""
    from labkit.scenario.load import load
    from labkit.scenario.run import stream

    counts = {"submit": 0, "round": 0}
    slots = 0

    def sink(event: dict[str, Any]) -> None:
        nonlocal slots
        kind = event["event"]
        if kind in counts:
            counts[kind] += 1
        elif kind == "plan":
            slots += len(event["items"])

    stream(load(scenario), sink)
    return counts["submit"], counts["round"], slots


def _memory(runs: dict[str, list[timing.Process]]) -> dict[str, Any] | None:
    """Peak MiB of each length, and the whole's over the quarter's; None where the system does not tell."""
    peaks = {
        name: [run.peak_mib for run in found if run.peak_mib is not None] for name, found in runs.items()
    }
    if not all(peaks.values()):
        return None
    return {
        **{f"{name}_peak_mib": timing.spread(found) for name, found in peaks.items()},
        "whole_over_quarter": timing.ratios(peaks["whole"], peaks["quarter"]),
    }


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    size = f"{result['requests']:,} requests, {result['rounds']:,} rounds, {result['slots']:,} slots"
    rows = [
        ["seconds, the whole process", timing.between(result["seconds"], ".2f")],
        ["requests/s", timing.between(result["requests_per_second"], ",.0f")],
        ["slots/s", timing.between(result["slots_per_second"], ",.0f")],
    ]
    memory = result["memory"]
    if memory:
        rows += [
            ["peak MiB, whole trace", timing.between(memory["whole_peak_mib"], ".1f")],
            [
                f"peak MiB, first {result['quarter_requests']:,}",
                timing.between(memory["quarter_peak_mib"], ".1f"),
            ],
            ["peak MiB, the first alone", timing.between(memory["first_peak_mib"], ".1f")],
            ["whole over first quarter", timing.between(memory["whole_over_quarter"], ".3f")],
        ]
    aim = f"aims: under {result['aim_seconds']} s; memory that does not grow with the trace (a ratio near 1)"
    return [size, *timing.columns(rows), aim if memory else f"{aim}, which this system does not tell"]
