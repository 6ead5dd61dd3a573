"""One peer of `serving` in a process of its own, on one core: it loads the model once and runs when it is told to.

`python -m benchmarks.serving_worker PEER FOLDER DTYPE CORE` says its versions as one line of JSON; then, for each line
on standard input, it serves the whole load and answers with a line: seconds, and every request's tokens. It imports
nothing but the standard library before it knows its peer, because vLLM lives in another environment.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import serving_load
from benchmarks.serving_load import Load

Requests = list[tuple[list[int], int]]
Serve = Callable[[Requests], list[list[int]]]
BUDGET = 512  # tokens a round of continuous batching; vLLM gets twice as many
BATCH = 8  # of static batches


def main(arguments: list[str]) -> int:
    peer, folder, dtype, core = arguments
    # What libraries print goes to standard error: the answers have standard output for themselves.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    load = serving_load.read(Path(folder))
    if peer == "gemm":
        rate, about = _gemm(load, dtype)
        say(about)
        for _ in sys.stdin:
            say({"flops_per_second": rate()})
        return 0
    serve, about = PEERS[peer](load, Path(folder), dtype)
    serve([(prompt, 2) for prompt, _ in load.requests[:2]])  # what the first use costs is not what is asked
    say(about)
    for _ in sys.stdin:
        started, used = time.perf_counter(), time.process_time()
        outputs = serve(list(load.requests))
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - used
        say({"seconds": seconds, "cpu_seconds": cpu_seconds, "outputs": outputs})
    return 0


def _torch() -> Any:
    import torch

    torch.set_num_threads(1)
    return torch


# ---------------------------------------------------------------- the floor


def _gemm(load: Load, dtype: str) -> tuple[Callable[[], float], dict[str, str]]:
    """The best rate of a product with any weight of the load and many rows, by torch's own order and by oneDNN's."""
    torch = _torch()
    from labkit.executors.model.prepack import PrepackedLinear, can_prepack

    kind = getattr(torch, dtype)
    shapes = {shape for shape in serving_load.shapes(load.config).values() if shape[0] > 1}
    cases = []
    for rows, columns in sorted(shapes):
        layer = torch.nn.Linear(columns, rows, bias=False, dtype=kind).requires_grad_(False)
        ways = [layer]
        if can_prepack(torch.device("cpu"), kind):
            ways.append(PrepackedLinear(layer))
        cases += [
            (way, rows, torch.randn(count, columns).to(kind))
            for way in ways
            for count in (BUDGET, 2 * BUDGET)
        ]

    @torch.inference_mode()
    def rate() -> float:
        best = 0.0
        for way, rows, x in cases:
            for _ in range(6):
                started = time.perf_counter()
                way(x)
                best = max(best, 2 * rows * x.numel() / (time.perf_counter() - started))
        return best

    rate()
    return rate, {"torch": torch.__version__}


# ---------------------------------------------------------------- labkit


def scenario(requests: Requests) -> dict[str, Any]:
    """The load as a scenario: everything arrives at once, a seat for each, chunks fill every round to its budget."""
    return {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": BUDGET, "seats": len(requests), "page_tokens": 16},
        "policy": {"prefill_chunk": BUDGET},
        "cost": {"kind": "linear", "per_token": 0.0001},  # what planning believes; no limit here asks for it
        "requests": [
            {
                "id": f"r{at}", "arrival": 0, "prompt_tokens": len(prompt), "output_tokens": length, "prompt": prompt,
            }
            for at, (prompt, length) in enumerate(requests)
        ],
    }  # fmt: skip


def _labkit(load: Load, folder: Path, dtype: str) -> tuple[Serve, dict[str, str]]:
    """Scenario, scheduler, torch executor, tokens: all of it is timed, the pages' memory and the journal included."""
    torch = _torch()
    from labkit.scenario import load as load_scenario
    from labkit.scenario import run
    from labkit.scenario.real import Joined, open_model

    loaded = open_model(str(folder), "cpu", dtype)

    def serve(requests: Requests) -> list[list[int]]:
        joined, executor = Joined(load_scenario(scenario(requests)), loaded).executor()
        done = run(joined, executor=executor, check=False)
        return [row["tokens"] for row in done.result["requests"]]

    return serve, {"torch": torch.__version__}


# ---------------------------------------------------------------- transformers


def _transformers(folder: Path, dtype: str) -> tuple[Any, Any, dict[str, str]]:
    torch = _torch()
    os.environ["HF_HUB_OFFLINE"] = "1"
    import transformers

    transformers.logging.set_verbosity_error()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, dtype), attn_implementation="sdpa"
    ).eval()
    return torch, model, {"transformers": transformers.__version__, "torch": torch.__version__}


def _static(load: Load, folder: Path, dtype: str, batch: int = BATCH) -> tuple[Serve, dict[str, str]]:
    """`generate` on batches in order of arrival: padded to the longest prompt, run to the longest answer."""
    torch, model, about = _transformers(folder, dtype)

    @torch.inference_mode()
    def serve(requests: Requests) -> list[list[int]]:
        outputs = []
        for first in range(0, len(requests), batch):
            members = requests[first : first + batch]
            width = max(len(prompt) for prompt, _ in members)
            longest = max(length for _, length in members)
            ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt, _ in members])
            mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt, _ in members])
            found = model.generate(
                ids, attention_mask=mask, max_new_tokens=longest, min_new_tokens=longest,
                do_sample=False, pad_token_id=0,
            )  # fmt: skip
            for row, (_, length) in zip(found.tolist(), members, strict=True):
                outputs.append(row[width : width + length])
        return outputs

    return serve, about


def _sequential(load: Load, folder: Path, dtype: str) -> tuple[Serve, dict[str, str]]:
    """`generate`, one request after the other."""
    return _static(load, folder, dtype, batch=1)


def _continuous(load: Load, folder: Path, dtype: str) -> tuple[Serve, dict[str, str]]:
    """The continuous batching of transformers, its pages and budget given: its own choice is for GPUs."""
    _, model, about = _transformers(folder, dtype)
    from transformers import ContinuousBatchingConfig, GenerationConfig

    page = 256
    longest = max(len(prompt) + length for prompt, length in load.requests)
    settings = ContinuousBatchingConfig(
        page_size=page,
        num_blocks=len(load.requests) * -(-longest // page) + 8,
        max_batch_tokens=BUDGET,
        allow_block_sharing=False,
    )
    generation = GenerationConfig(max_new_tokens=longest, do_sample=False, eos_token_id=-1, pad_token_id=0)

    def serve(requests: Requests) -> list[list[int]]:
        manager = model.init_continuous_batching(
            generation_config=generation, continuous_batching_config=settings
        )
        manager.start()
        places = {
            manager.add_request(prompt, max_new_tokens=length): at
            for at, (prompt, length) in enumerate(requests)
        }
        outputs: dict[int, list[int]] = {}
        while len(outputs) < len(requests):
            result = manager.get_result(timeout=5)
            if result is None and not manager.is_running():
                raise RuntimeError("the continuous batching of transformers stopped before the end")
            if result is not None and result.is_finished():
                outputs[places[result.request_id]] = list(result.generated_tokens)
        manager.stop(block=True)
        return [outputs[at] for at in range(len(requests))]

    return serve, about


# ---------------------------------------------------------------- vLLM


def _vllm(load: Load, folder: Path, dtype: str) -> tuple[Serve, dict[str, str]]:
    """vLLM's CPU build, its engine core in this process; no prefix cache, which would answer the repeats."""
    core = min(os.sched_getaffinity(0))
    os.environ |= {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_OMP_THREADS_BIND": str(core),
        "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1",
        "VLLM_CACHE_ROOT": str(folder / "vllm"), "VLLM_LOGGING_LEVEL": "WARNING",
    }  # fmt: skip
    from vllm import LLM, SamplingParams
    from vllm.inputs import TokensPrompt

    engine = LLM(
        str(folder), dtype=dtype, skip_tokenizer_init=True, max_model_len=1024, enable_prefix_caching=False,
        max_num_batched_tokens=2 * BUDGET, max_num_seqs=len(load.requests), disable_log_stats=True,
    )  # fmt: skip

    def serve(requests: Requests) -> list[list[int]]:
        prompts = [TokensPrompt(prompt_token_ids=prompt) for prompt, _ in requests]
        settings = [
            SamplingParams(temperature=0, max_tokens=length, ignore_eos=True, detokenize=False)
            for _, length in requests
        ]
        found = engine.generate(prompts, settings, use_tqdm=False)
        return [list(one.outputs[0].token_ids) for one in found]

    return serve, {"vllm": _version("vllm", "vllm-cpu"), "torch": _torch().__version__}


def _version(*names: str) -> str:
    for name in names:
        try:
            return version(name)
        except ModuleNotFoundError:
            continue
    return "unknown"


PEERS: dict[str, Callable[[Load, Path, str], tuple[Serve, dict[str, str]]]] = {
    "sequential": _sequential,
    "static": _static,
    "continuous": _continuous,
    "vllm": _vllm,
    "labkit": _labkit,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
