"""`python -m labkit calibrate`: fit a cost model to this machine and write it as a file for `"kind": "calibrated"`."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.core.errors import InputError, escaped, quoted
from labkit.scenario.real import DTYPES, open_model

if TYPE_CHECKING:
    from labkit.executors.calibrate import Fit, Limits, Sample

AIM = 0.10  # median relative error on rounds that the fit has not seen
BUSY = 0.5  # repeats of one round that differ by more than this share of it say nothing of the round
HELD_OUT = 40
PAGE_TOKENS = 16


@dataclass(frozen=True)
class Calibration:
    """A fitted cost model with all that led to it. `document` is the cost file's content (`labkit.cost/1`)."""

    document: dict[str, Any]
    fit: Fit
    samples: list[Sample]
    held_out: list[Sample]


def calibrate(
    model: str = "tiny",
    *,
    device: str = "auto",
    dtype: str = "float32",
    tokens: int = 256,
    seats: int = 32,
    positions: int = 512,
    repeats: int = 5,
    seed: int = 0,
    progress: bool = False,
) -> Calibration:
    """Measure rounds of up to `tokens` new positions of `seats` requests up to `positions` long, and fit (C13, N08).

    Raises:
        InputError: the model cannot be loaded, has a shorter context, or such rounds do not fit in memory (N10).
    """
    loaded = open_model(model, device, dtype)
    from tqdm import tqdm

    from labkit.executors import calibrate as fitting
    from labkit.executors.model.memory import Largest, room
    from labkit.executors.torch_model import TorchExecutor

    most = loaded.config.max_positions
    own = loaded.config.bytes_per_token(next(loaded.model.parameters()).dtype)
    if positions + 1 > most:
        raise InputError(
            f"labkit calibrate: given {positions} positions, expected at most {most - 1}: the model's context"
        )
    if not positions >= 2 or not 1 <= seats <= tokens:
        raise InputError(
            f"labkit calibrate: given {tokens} tokens, {seats} seats, {positions} positions, expected 1 <= seats <= "
            "tokens and at least 2 positions"
        )
    largest = Largest(tokens, seats, min(tokens, positions), positions)
    if -(-positions // PAGE_TOKENS) * PAGE_TOKENS * own > room(loaded, largest, PAGE_TOKENS):
        raise InputError(
            f"labkit calibrate: given {positions} positions, expected fewer: their pages do not fit"
        )
    executor = TorchExecutor(loaded, pages=-(-positions // PAGE_TOKENS), page_tokens=PAGE_TOKENS)
    limits: Limits = fitting.Limits(tokens, seats, positions)
    seen, others = fitting.designed(limits), fitting.mixes(limits, HELD_OUT, seed)
    total = (len(seen) + len(others)) * (repeats + 1)
    with tqdm(total=total, unit=" rounds", file=sys.stderr, leave=False, disable=not progress) as bar:
        # One run over both: neither has the quieter machine.
        every = fitting.measure(executor, [*seen, *others], repeats, seed, bar.update)
    samples, held_out = every[: len(seen)], every[len(seen) :]
    found = fitting.fit(samples, held_out)
    about = {
        **executor.about,
        "limits": limits._asdict(),
        "rounds": len(samples),
        "held_out": len(held_out),
        "repeats": repeats,
        "median_error": float(f"{found.median_error:.3g}"),
        "worst_error": float(f"{max(found.errors):.3g}"),
    }
    document = fitting.cost_file(found, fitting.measure_transfers(executor), about)
    return Calibration(document, found, samples, held_out)


def main(argv: list[str]) -> int:
    """Run the command; `argv` begins with its name. Returns the exit status: 0 done, 2 the input is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m labkit calibrate",
        description="Measure rounds of a real model on this machine and fit a cost model to them.",
        allow_abbrev=False,
    )
    parser.add_argument("--out", required=True, metavar="COST.json", help="the cost file to write")
    parser.add_argument("--model", default="tiny", metavar="tiny|smollm2|DIR")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--dtype", default="float32", choices=DTYPES)
    for name, value, what in (
        ("tokens", 256, "most new positions of a round (B)"),
        ("seats", 32, "most requests of a round (K)"),
        ("positions", 512, "most positions of a request"),
        ("repeats", 5, "times that each round is measured"),
        ("seed", 0, "of the held-out rounds"),
    ):
        parser.add_argument(
            f"--{name}", type=_count, default=value, metavar="N", help=f"{what}; default {value}"
        )
    options = parser.parse_args(argv[1:])
    try:
        if options.repeats < 1:
            raise InputError(f"labkit calibrate: --repeats: given {options.repeats}, expected 1 or more")
        out = _writable(options.out)
        found = calibrate(
            options.model,
            device=options.device,
            dtype=options.dtype,
            tokens=options.tokens,
            seats=options.seats,
            positions=options.positions,
            repeats=options.repeats,
            seed=options.seed,
            progress=sys.stderr.isatty(),
        )
        out.write_text(json.dumps(found.document, indent=1) + "\n", encoding="utf-8", newline="\n")
    except InputError as error:
        for line in error.problems:
            print(line, file=sys.stderr)
        return 2
    print(report(found))
    print(f'written: {escaped(options.out)}; use it: "cost": {{"kind": "calibrated", "path": …}}')
    return 0


def report(found: Calibration) -> str:
    """The coefficients, the spread of the measurements and the error on the held-out rounds, as lines of text."""
    from labkit.executors.calibrate import COEFFICIENTS

    document, about = found.document, found.document["fitted"]
    errors = sorted(found.fit.errors)
    units = ("a round", "a new token", "a key-query pair", "a cached position read", "a busy seat")
    lines = [
        f"{about['model']['name']} in {about['dtype']} on {about['device']}: {about['rounds']} rounds measured"
    ]
    lines += [
        f"  {name:12} {document[name] * 1e6:12.4f} µs {unit}"
        for name, unit in zip(COEFFICIENTS, units, strict=True)
    ]
    if document["swap_bytes_per_second"] is not None:
        speed = document["swap_bytes_per_second"] / 1e9
        lines.append(f"  swap         {document['swap_fixed'] * 1e6:12.4f} µs a transfer, {speed:.2f} GB/s")
    spread = statistics.median((sample.most - sample.least) / sample.ns for sample in found.samples)
    aim = "met" if found.fit.median_error <= AIM else "not met"
    busy = (
        " (the machine was busy with something else: measure again when it is quiet)" if spread > BUSY else ""
    )
    lines.append(f"spread of one round's repeats, median: {spread:.1%}{busy}")
    lines.append(
        f"error on {len(errors)} other rounds: median {found.fit.median_error:.1%} (aim {AIM:.0%}: {aim}), "
        f"9 of 10 within {errors[-(-9 * len(errors) // 10) - 1]:.1%}, worst {errors[-1]:.1%}"
    )
    return "\n".join(lines)


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 6:
        return int(text)
    raise argparse.ArgumentTypeError(f"given {quoted(text)}, expected an integer from 0 to 999999")


def _writable(name: str) -> Path:
    """The path, once it is certain that it can be written: nobody measures for minutes to lose it."""
    path = Path(name)
    try:
        existed = path.exists()
        with open(path, "a", encoding="utf-8", newline="\n"):
            pass
        if not existed:
            path.unlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"labkit calibrate: --out: given {quoted(name)} ({reason}), expected a file that can be written"
        ) from None
    return path
