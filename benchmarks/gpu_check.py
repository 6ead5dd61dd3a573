"""What only a GPU can tell, in one script of a few minutes: `python -m benchmarks.gpu_check --out DIR`.

Same tokens as a float64 run on the CPU, one request at a time; a decode round against the bytes that it has to read
at the rate of a copy; a prefill round against the rate of a matrix product; the share of time that is the
scheduler's. DIR gets the figures as JSON, the table as text, and the journals. `--device cpu` does all of it on a
minute model: that shows that the script works, and its figures say nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import timing
from labkit.core.errors import InputError

AIMS = {"decode": 0.6, "prefill": 0.5, "scheduler": 0.05}
SEEDS = range(4)


@dataclass(frozen=True)
class Sizes:
    """A model and a load: `batch` requests with `prompt` positions and `output` tokens, `tokens` a round."""

    dtype: str
    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    batch: int
    prompt: int
    output: int
    tokens: int
    copied_bytes: int
    product: int  # rows and columns of the matrix product that gives the rate


BILLION = Sizes("bfloat16", 128_256, 2048, 16, 32, 8, 8192, 64, 1024, 128, 8192, 4 << 30, 8192)
MINUTE = Sizes("float32", 256, 64, 2, 4, 2, 96, 4, 24, 12, 32, 1 << 20, 64)


def main(argv: list[str] | None = None) -> int:
    """Measure, write, print. 0: the tokens are the same; 1: they are not; 2: it can't run here."""
    options = argparse.ArgumentParser(
        "python -m benchmarks.gpu_check", description=__doc__, allow_abbrev=False
    )
    options.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="default: cuda")
    options.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder for what is found")
    given = options.parse_args(argv)
    try:
        result = measure(given.device, given.out)
    except InputError as error:
        print("\n".join(error.problems), file=sys.stderr)
        return 2
    text = "\n".join(lines(result)) + "\n"
    for name, content in (("gpu_check.json", json.dumps(result, indent=1) + "\n"), ("gpu_check.txt", text)):
        (given.out / name).write_text(content, encoding="utf-8", newline="\n")
    print(text, end="")
    return (
        0
        if result["tokens"]["float64"] == result["tokens"]["float64, padded"] == result["tokens"]["of"]
        else 1
    )


def measure(device: str, out: Path, sizes: Sizes | None = None) -> dict[str, Any]:
    """All parts on one device; journals go to the folder `out`.

    Raises:
        InputError: there is no such device.
    """
    started = time.perf_counter()
    import torch

    from labkit.executors.model.load import usable_device

    where = usable_device(device)
    sizes = sizes or (BILLION if device == "cuda" else MINUTE)
    out.mkdir(parents=True, exist_ok=True)
    result = {
        "machine": timing.machine(),
        "device": torch.cuda.get_device_name(where) if device == "cuda" else "cpu",
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "measured_on_a_gpu": device == "cuda",
        "sizes": asdict(sizes),
        "aims": AIMS,
        "tokens": tokens(device),
        **rates(where, sizes),
        "rounds": serve(where, sizes, out),
    }
    return {**result, "seconds": time.perf_counter() - started}


# ---------------------------------------------------------------- the same tokens


def scenarios() -> Iterator[dict[str, Any]]:
    """Small random loads: chunks, depths, and pools so small that requests give way."""
    for seed in SEEDS:
        draw = random.Random(seed)
        requests = [
            {
                "id": f"r{at}", "arrival": 0, "prompt_tokens": (length := draw.randint(3, 60)),
                "output_tokens": draw.randint(2, 24), "prompt": [draw.randrange(512) for _ in range(length)],
            }
            for at in range(6)
        ]  # fmt: skip
        yield {
            "schema": "labkit.scenario/1",
            "budget": {"tokens": 48, "seats": 4, "page_tokens": 8},
            "policy": {"prefill_chunk": draw.choice([3, 16, 17]), "pipeline_depth": 1 + seed % 2},
            "cost": {"kind": "linear", "per_token": 0.001},
            "requests": requests,
        }


def tokens(device: str) -> dict[str, int]:
    """Requests whose tokens equal those of the float64 run on the CPU, each request alone, by kind of run."""
    from labkit.scenario.real import open_model

    plain = open_model("tiny", "cpu", "float64")
    kinds = {
        "float64": (open_model("tiny", device, "float64"), False),
        "float64, padded": (open_model("tiny", device, "float64"), True),
        "float32": (open_model("tiny", device, "float32"), True),
        "bfloat16": (open_model("tiny", device, "bfloat16"), True),
    }
    same = dict.fromkeys(kinds, 0)
    count = 0
    for document in scenarios():
        wanted = []
        for request in document["requests"]:
            wanted += _tokens(
                {**document, "policy": {}, "requests": [request]} | {"budget": {"tokens": 64, "seats": 1}},
                plain,
                False,
            )
        count += len(wanted)
        for kind, (loaded, padded) in kinds.items():
            found = _tokens(document, loaded, padded)
            same[kind] += sum(a == b for a, b in zip(found, wanted, strict=True))
    return {"of": count, **same}


def _tokens(document: dict[str, Any], loaded: Any, padded: bool) -> list[list[int]]:
    from labkit.scenario import load, run
    from labkit.scenario.real import Joined

    scenario, executor = Joined(load(document), loaded).executor(cuda_graphs=padded)
    return [row["tokens"] for row in run(scenario, executor=executor).result["requests"]]


# ---------------------------------------------------------------- the machine's own rates


def rates(device: Any, sizes: Sizes) -> dict[str, float]:
    """Bytes a second of a copy (read and written), operations a second of a large matrix product; the best of some."""
    import torch

    dtype = getattr(torch, sizes.dtype)
    source = torch.ones(sizes.copied_bytes // 4, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    x = torch.randn(sizes.product, sizes.product, device=device).to(dtype)

    def best(action: Callable[[], object]) -> float:
        times = []
        for _ in range(10):
            _wait(device)
            started = time.perf_counter()
            action()
            _wait(device)
            times.append(time.perf_counter() - started)
        return min(times)

    return {
        "copy_bytes_per_second": 2 * sizes.copied_bytes / best(lambda: target.copy_(source)),
        "product_flops_per_second": 2 * sizes.product**3 / best(lambda: x @ x),
    }


def _wait(device: Any) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)


# ---------------------------------------------------------------- rounds


class Timed:
    """An executor, and the seconds that were spent in its rounds: all other time is the scheduler's."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def launch(self, plan: Any) -> None:
        started = time.perf_counter()
        self._executor.launch(plan)
        self.seconds += time.perf_counter() - started

    def collect(self) -> Any:
        started = time.perf_counter()
        result = self._executor.collect()
        self.seconds += time.perf_counter() - started
        return result


def serve(device: Any, sizes: Sizes, out: Path) -> dict[str, Any]:
    """Serve the load without and with graphs and read the rounds from the journals."""
    loaded = _model(device, sizes)
    weights = sum(p.numel() * p.itemsize for p in loaded.model.parameters())
    # A round reads of the embedding its own rows alone, of every other matrix all of it.
    weights -= sizes.vocab * sizes.hidden * loaded.model.embed.weight.itemsize
    found = {}
    for name, padded in (("packed", False), ("graphs", True)):
        _serve(loaded, sizes, padded, 2)  # what the first use costs
        journal, wall, inside = _serve(loaded, sizes, padded, sizes.output)
        _save(journal, out / f"rounds_{name}.jsonl")
        rounds = sum(event["t"] - event["start"] for event in journal[1:] if event["event"] == "round") / 1e9
        found[name] = {
            **_rounds(journal, sizes, loaded, weights),
            "scheduler": (wall - inside) / (wall - inside + rounds),  # captures are in neither
            "seconds": wall,
        }
    return found


def _model(device: Any, sizes: Sizes) -> Any:
    """Random weights made where they are used: of their values nothing here depends on."""
    import torch

    from labkit.executors.model.config import ModelConfig
    from labkit.executors.model.load import Loaded
    from labkit.executors.model.transformer import Transformer

    config = ModelConfig(
        sizes.vocab, sizes.hidden, sizes.layers, sizes.heads, sizes.kv_heads, sizes.hidden // sizes.heads,
        sizes.intermediate, max_positions=sizes.prompt + sizes.output,
    )  # fmt: skip
    dtype = getattr(torch, sizes.dtype)
    with torch.device(device):
        model = Transformer(config).to(dtype).eval().requires_grad_(False)
    count = sum(p.numel() for p in model.parameters())
    about: dict[str, str | int] = {
        "name": f"random {count / 1e9:.2f} B",
        "parameters": count,
        "revision": "random",
    }
    return Loaded(config, model, None, about)


def _serve(loaded: Any, sizes: Sizes, padded: bool, output: int) -> tuple[list[dict[str, Any]], float, float]:
    """The journal, seconds of the whole run, seconds of them inside rounds."""
    from labkit.scenario import load, run
    from labkit.scenario.real import Joined

    document = {
        "schema": "labkit.scenario/1",
        "title": f"{sizes.batch} requests, {loaded.about['name']}",
        "budget": {"tokens": sizes.tokens, "seats": sizes.batch, "page_tokens": 16},
        "policy": {"prefill_chunk": sizes.tokens},
        "cost": {"kind": "linear", "per_token": 0.00001},
        "requests": [
            {"id": f"r{at}", "arrival": 0, "prompt_tokens": sizes.prompt, "output_tokens": output}
            for at in range(sizes.batch)
        ],
    }
    scenario, executor = Joined(load(document), loaded).executor(cuda_graphs=padded)
    timed = Timed(executor)
    started = time.perf_counter()
    done = run(scenario, executor=timed, check=False)
    return done.journal, time.perf_counter() - started, timed.seconds


def _save(journal: list[dict[str, Any]], path: Path) -> None:
    from labkit.engine.journal import encode

    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(encode(event) + "\n" for event in journal)


def _rounds(journal: list[dict[str, Any]], sizes: Sizes, loaded: Any, weights: int) -> dict[str, Any]:
    """Full decode rounds as bytes a second, full prefill rounds as operations a second."""
    import torch

    per_token = loaded.config.bytes_per_token(getattr(torch, sizes.dtype))
    head = sizes.vocab * sizes.hidden
    layers = loaded.about["parameters"] - 2 * head
    plans = {
        event["round"]: event["items"] for event in journal[1:] if event["event"] == "plan" and event["items"]
    }
    decode, prefill, seconds = [], [], []
    for event in journal[1:]:
        if event["event"] != "round":
            continue
        items = plans[event["round"]]
        spent = (event["t"] - event["start"]) / 1e9
        new = sum(q for _, q, _, _ in items)
        if len(items) == sizes.batch and all(kind == "decode" for *_, kind in items):
            decode.append((weights + sum(s for _, _, s, _ in items) * per_token) / spent)
            seconds.append(spent)
        elif new == sizes.tokens:
            pairs = sum(q * s + q * (q + 1) // 2 for _, q, s, _ in items)
            attention = 4 * sizes.hidden * sizes.layers * pairs
            prefill.append((2 * layers * new + 2 * head * len(items) + attention) / spent)
    return {
        "decode_rounds": len(decode),
        "decode_seconds": statistics.median(seconds),
        "decode_bytes_per_second": statistics.median(decode),
        "prefill_rounds": len(prefill),
        "prefill_flops_per_second": statistics.median(prefill),
    }


# ---------------------------------------------------------------- the table


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    same, sizes, aims = result["tokens"], result["sizes"], result["aims"]
    copy, product = result["copy_bytes_per_second"], result["product_flops_per_second"]
    rows = [["", "measured", "of the machine's rate", "aim"]]
    for name, found in result["rounds"].items():
        share = found["decode_bytes_per_second"] / copy
        rows += [
            [
                f"decode round of {sizes['batch']}, {name}",
                f"{found['decode_seconds'] * 1e3:.2f} ms, {found['decode_bytes_per_second'] / 1e9:,.1f} GB/s",
                f"{share:.2f}",
                f"≥ {aims['decode']}",
            ],
            [
                f"prefill round of {sizes['tokens']}, {name}",
                f"{found['prefill_flops_per_second'] / 1e12:,.3f} TFLOP/s",
                f"{found['prefill_flops_per_second'] / product:.2f}",
                f"≥ {aims['prefill']}",
            ],
            [
                f"scheduler and journal, {name}",
                f"{found['scheduler']:.1%} of the time",
                "",
                f"≤ {aims['scheduler']:.0%}",
            ],
        ]
    return [
        f"{result['device']}, torch {result['torch']}"
        + ("" if result["measured_on_a_gpu"] else ": no GPU was measured, the figures say nothing"),
        "requests with the tokens of the float64 run on the CPU: "
        + ", ".join(f"{kind} {count} of {same['of']}" for kind, count in same.items() if kind != "of"),
        f"a copy: {copy / 1e9:,.1f} GB/s read and written; a product: {product / 1e12:,.3f} TFLOP/s {sizes['dtype']}",
        *timing.columns(rows),
        f"{result['seconds']:.0f} s in all",
    ]


if __name__ == "__main__":
    sys.exit(main())
