"""Real tokens a second on one core: the engine with the torch executor, beside other ways to serve the same load.

Every peer is a process of its own that has loaded the same weights and waits; they run in turns, all pinned to one
core. The floor is arithmetic: what the load cannot do without, at the best rate that a matrix product reaches here.
"""

from __future__ import annotations

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
        try:
            print("run", file=self._process.stdin, flush=True)
        except BrokenPipeError:
            pass  # it has ended: its last words say why
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if line:
            return json.loads(line)
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
    missing: dict[str, str] = {}
    workers: dict[str, Worker] = {}
    found: dict[str, list[dict[str, Any]]] = {}
    loads = []
    try:
        for peer in ("gemm", *peers):
            python = vllm if peer == "vllm" else sys.executable
            if python is None:
                missing[peer] = "no --vllm PYTHON"
                continue
            try:
                workers[peer] = Worker(peer, python, folder, dtype, core)
                found[peer] = []
            except (NotMeasured, OSError) as error:
                missing[peer] = str(error)
        for _ in range(repeats):
            for peer, worker in workers.items():
                if peer in missing:
                    continue
                try:
                    found[peer].append(worker.run())
                except NotMeasured as error:
                    missing[peer] = str(error)
            loads.append(os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan"))
    finally:
        for worker in workers.values():
            worker.close()
    if "gemm" in missing:
        return {"not_measured": missing}
    rates = [run["flops_per_second"] for run in found.pop("gemm")]
    floors = [load.output_tokens * rate / sum(load.flops().values()) for rate in rates]
    found = {peer: runs for peer, runs in found.items() if peer not in missing}
    return {
        "gemm_flops_per_second": timing.spread(rates),
        "floor_tokens_per_second": timing.spread(floors),
        "load_average": timing.spread(loads),
        "not_measured": missing,
        "peers": {
            peer: {
                "versions": workers[peer].versions,
                "tokens_per_second": timing.spread(load.output_tokens / run["seconds"] for run in runs),
                "tokens_per_cpu_second": timing.spread(
                    load.output_tokens / run["cpu_seconds"] for run in runs
                ),
                **{
                    f"of_{other}": timing.ratios(
                        (run["cpu_seconds"] for run in found[other]), (run["cpu_seconds"] for run in runs)
                    )
                    for other in found
                    if other != peer
                },
                "of_floor": timing.ratios((load.output_tokens / run["cpu_seconds"] for run in runs), floors),
                "same_as": {
                    other: _agreement(runs[-1], found[other][-1]) for other in found if other != peer
                },
                "same_every_time": all(run["outputs"] == runs[0]["outputs"] for run in runs),
            }
            for peer, runs in found.items()
        },
    }


def _agreement(one: dict[str, Any], other: dict[str, Any]) -> dict[str, int]:
    """Requests with equal answers, and tokens up to the first difference of each: after it the two go separate ways."""
    equal, tokens = 0, 0
    for a, b in zip(one["outputs"], other["outputs"], strict=True):
        first = next((at for at, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), len(a))
        equal += a == b
        tokens += first
    return {"requests": equal, "tokens_before_a_difference": tokens}


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    if "left_out" in result:
        return [f"left out: {result['left_out']}"]
    flops = result["flops"]
    text = [
        f"{result['requests']} requests, {result['prompt_tokens']:,} prompt and {result['output_tokens']:,} output "
        f"tokens, {result['parameters'] / 1e6:.1f} M parameters, one core"
        + ("; quick: its figures say nothing" if result["quick"] else ""),
        f"the floor counts {flops['linear'] / 1e9:,.1f} GFLOP of products with weights and "
        f"{flops['attention'] / 1e9:,.1f} GFLOP of attention (every visible pair, E31.4)",
    ]
    for name, found in result["dtypes"].items():
        text += ["", *_table(name, found)]
    return [*text, "", AIMS]


def _table(dtype: str, found: dict[str, Any]) -> list[str]:
    missing = [f"{PEERS.get(peer, peer)}: not measured: {why}" for peer, why in found["not_measured"].items()]
    if "peers" not in found:
        return [f"{dtype}: nothing to compare with", *missing]
    rows = [
        [dtype, "tokens/s", "tokens/s of processor time", "of continuous", "of the floor", "same answers", ""]
    ]
    rate, floor = found["gemm_flops_per_second"], found["floor_tokens_per_second"]
    rows.append(
        ["the floor", "", timing.between(floor, ".0f"), "", "", "", f"{rate['median'] / 1e9:.0f} GFLOP/s"]
    )
    for peer, row in found["peers"].items():
        same = row["same_as"].get("sequential")
        ratio = row.get("of_continuous")
        rows.append(
            [
                PEERS[peer],
                timing.between(row["tokens_per_second"], ".1f"),
                timing.between(row["tokens_per_cpu_second"], ".1f"),
                "" if ratio is None else f"{ratio['median']:.2f}",
                f"{row['of_floor']['median']:.2f}",
                "" if same is None else f"{same['requests']}, {same['tokens_before_a_difference']} tokens",
                ", ".join(f"{package} {version}" for package, version in row["versions"].items()),
            ]
        )
    load = found["load_average"]
    return [*timing.columns(rows), *missing, f"load average after each turn: {timing.between(load, '.1f')}"]
