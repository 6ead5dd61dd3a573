"""Real tokens a second on one core: the engine with the torch executor, beside other ways to serve the same load.

Every peer is a process of its own that has loaded the same weights and waits; they run in turns, all pinned to one
core. The floor is arithmetic: what the load cannot do without, at the best rate that a matrix product reaches here.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks import timing
from benchmarks.serving_load import Load, make_load

PEERS = {
    "sequential": "transformers, one request at a time",
    "static": "transformers, static batches of 8",
    "continuous": "transformers, continuous batching",
    "vllm": "vLLM, CPU",
    "labkit": "labkit",
}
DTYPES = ("float32", "bfloat16")
AIMS = "aims, float32: at least 2 times the continuous batching of transformers and half of the floor"


class NotMeasured(Exception):
    """A peer that is missing or has failed; says why in a line."""


class Worker:
    """A peer in its own process (see serving_worker), ready when this returns."""

    def __init__(self, peer: str, python: str, folder: Path, dtype: str, core: int) -> None:
        self._errors = (folder / f"{peer}.{dtype}.log").open(
            "w+", encoding="utf-8", errors="replace", newline="\n"
        )
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.serving_worker", peer, str(folder), dtype, str(core)],
            cwd=timing.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            encoding="utf-8", env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
        )  # fmt: skip
        self.versions = self._answer()

    def run(self) -> dict[str, Any]:
        """Serve the load once."""
        with contextlib.suppress(BrokenPipeError):  # it has ended: its last words say why
            print("run", file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        raise NotMeasured(self._last_words)

    def close(self) -> None:
        """Let it end, and keep the last line that it said."""
        if self._errors.closed:
            return
        self._process.communicate()
        self._errors.seek(0)
        said = [line.strip() for line in self._errors if line.strip()]
        self._errors.close()
        self._last_words = said[-1] if said else f"exit {self._process.returncode}"

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def measure(
    repeats: int, *, quick: bool = False, vllm: str | None = None, peers: Mapping[str, str] = PEERS
) -> dict[str, Any]:
    """Serve the load `repeats` times by every peer in turns, in float32 and then in bfloat16.

    `quick`: a minute model and load, which show that all of it works and nothing else. `vllm`: the Python of an
    environment with vLLM.
    """
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ModuleNotFoundError as missing:
        return {"left_out": f"it needs the package {missing.name}"}
    load = make_load(quick)
    with tempfile.TemporaryDirectory() as folder:
        load.write(Path(folder))
        return {
            "quick": quick,
            "repeats": repeats,
            "requests": len(load.requests),
            "prompt_tokens": sum(len(prompt) for prompt, _ in load.requests),
            "output_tokens": load.output_tokens,
            "parameters": load.parameters,
            "flops": load.flops(),
            "dtypes": {name: _measure(repeats, load, Path(folder), name, vllm, peers) for name in DTYPES},
        }


def _measure(
    repeats: int, load: Load, folder: Path, dtype: str, vllm: str | None, peers: Mapping[str, str]
) -> dict[str, Any]:
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    pythons = {peer: vllm if peer == "vllm" else sys.executable for peer in ("gemm", *peers)}
    missing = {peer: "no --vllm PYTHON" for peer, python in pythons.items() if python is None}
    found: dict[str, list[dict[str, Any]]] = {}
    versions, busy = {}, []
    with contextlib.ExitStack() as stack:
        workers = {}
        for peer, python in pythons.items():
            if python is not None:
                try:
                    workers[peer] = stack.enter_context(Worker(peer, python, folder, dtype, core))
                    versions[peer], found[peer] = workers[peer].versions, []
                except (NotMeasured, OSError) as error:
                    missing[peer] = str(error)
        for turn in range(repeats):
            for peer in list(found):
                try:
                    run = _checked(workers[peer].run(), load)
                    found[peer].append(run)
                    if "seconds" in run:  # a turn takes minutes: say that something happens
                        said = f"{dtype}, turn {turn + 1} of {repeats}: {PEERS[peer]}: {run['seconds']:.1f} s"
                        print(
                            f"{said}, {run['cpu_seconds']:.1f} s of processor time",
                            file=sys.stderr,
                            flush=True,
                        )
                except NotMeasured as error:
                    missing[peer] = str(error)
                    del found[peer]
            busy.append(os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0)
    result: dict[str, Any] = {"not_measured": missing, "load_average": timing.spread(busy)}
    if "gemm" in missing:
        return result
    rates = [run["flops_per_second"] for run in found.pop("gemm")]
    floors = [load.output_tokens * rate / sum(load.flops().values()) for rate in rates]
    result["gemm_flops_per_second"] = timing.spread(rates)
    result["floor_tokens_per_second"] = timing.spread(floors)
    speeds = {peer: [load.output_tokens / run["cpu_seconds"] for run in runs] for peer, runs in found.items()}
    result["peers"] = {
        peer: {
            "versions": versions[peer],
            "tokens_per_second": timing.spread(load.output_tokens / run["seconds"] for run in runs),
            "tokens_per_cpu_second": timing.spread(speeds[peer]),
            "of_floor": timing.ratios(speeds[peer], floors),
            "of": {other: timing.ratios(speeds[peer], speeds[other]) for other in found},
            "same_as": {
                other: agreement(runs[-1]["outputs"], found[other][-1]["outputs"]) for other in found
            },
            "same_every_time": all(run["outputs"] == runs[0]["outputs"] for run in runs),
        }
        for peer, runs in found.items()
    }
    return result


def _checked(run: dict[str, Any], load: Load) -> dict[str, Any]:
    """A run whose answers all have the length that was asked, or none: shorter answers are no speed-up (C31)."""
    wanted = [length for _, length in load.requests]
    if "outputs" in run and [len(output) for output in run["outputs"]] != wanted:
        raise NotMeasured("its answers have other lengths than were asked")
    return run


def agreement(one: list[list[int]], other: list[list[int]]) -> dict[str, int]:
    """Requests with equal answers, and tokens up to the first difference of each: after it the two go separate ways."""
    equal, tokens = 0, 0
    for a, b in zip(one, other, strict=True):
        first = next((at for at, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), len(a))
        equal += a == b
        tokens += first
    return {"requests": equal, "tokens_before_a_difference": tokens}


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    if "left_out" in result:
        return [f"left out: {result['left_out']}"]
    flops = result["flops"]
    note = "; quick: its figures say nothing" if result["quick"] else ""
    load = (
        f"{result['requests']} requests, {result['prompt_tokens']:,} prompt and {result['output_tokens']:,} output "
        f"tokens, {result['parameters'] / 1e6:.1f} M parameters, one core{note}"
    )
    floor = (
        f"the floor counts {flops['linear'] / 1e9:,.1f} GFLOP of products with weights and "
        f"{flops['attention'] / 1e9:,.1f} GFLOP of attention (every visible pair, E31.4)"
    )
    ratios = (
        "ratios are of processor time, which other programs on the core lengthen less; answers are set beside"
    )
    text = [
        load,
        floor,
        ratios,
        "those of `generate`, one request at a time: equal ones, and tokens before a difference",
    ]
    for name, found in result["dtypes"].items():
        text += ["", *_table(name, found)]
    return [*text, "", AIMS]


def _table(dtype: str, found: dict[str, Any]) -> list[str]:
    missing = [f"{PEERS.get(peer, peer)}: not measured: {why}" for peer, why in found["not_measured"].items()]
    if "peers" not in found:
        return [f"{dtype}: nothing to compare with", *missing]
    rate, floor = found["gemm_flops_per_second"], found["floor_tokens_per_second"]
    rows = [
        [
            dtype,
            "tokens/s",
            "of processor time",
            "of the floor",
            "× continuous",
            "× vLLM",
            "same answers",
            "",
        ],
        [
            "the floor",
            "",
            timing.between(floor, ".0f"),
            "",
            "",
            "",
            "",
            f"{rate['median'] / 1e9:.0f} GFLOP/s",
        ],
    ]
    for peer, row in found["peers"].items():
        same = row["same_as"].get("sequential")
        rows.append(
            [
                PEERS[peer],
                timing.between(row["tokens_per_second"], ".1f"),
                timing.between(row["tokens_per_cpu_second"], ".1f"),
                f"{row['of_floor']['median']:.2f}",
                *(
                    f"{row['of'][other]['median']:.2f}" if other in row["of"] else ""
                    for other in ("continuous", "vllm")
                ),
                "" if same is None else f"{same['requests']} ({same['tokens_before_a_difference']:,} tokens)",
                ", ".join(f"{package} {version}" for package, version in row["versions"].items()),
            ]
        )
    busy = f"load average after each turn: {timing.between(found['load_average'], '.1f')}"
    return [*timing.columns(rows), *missing, busy]
