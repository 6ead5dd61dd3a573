"""`python -m benchmarks`: run benches, print what they measured beside what was aimed at. Nothing asserts a time."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import timing
from labkit.core.errors import InputError

NAMES = (
    "scheduler",
    "trace",
    "startup",
    "stepper",
    "panels",
    "queueing",
    "derivations",
    "serving",
    "grading",
)
REPEATS = 5
SERVING_REPEATS = 3  # one turn of all its peers takes minutes
NEEDS_TRACE = "it needs a trace: --trace FILE, a CSV in the form of Azure's LLM inference traces"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m labkit bench", description=__doc__, allow_abbrev=False)
    made.add_argument("names", nargs="*", metavar="BENCH", help=f"which of {', '.join(NAMES)}; default: all")
    made.add_argument(
        "--repeats", type=_positive, metavar="N", help=f"default: {REPEATS}; of `serving` {SERVING_REPEATS}"
    )
    made.add_argument("--slots", type=_positive, metavar="N", help="sequence-slots of a run of `scheduler`")
    made.add_argument("--trace", type=Path, metavar="FILE", help="an Azure CSV trace, for `trace`")
    made.add_argument(
        "--students", type=_positive, metavar="N", help="of the class of `grading`; default 200"
    )
    made.add_argument("--quick", action="store_true", help="`serving` on a minute model: does it work?")
    made.add_argument("--vllm", type=Path, metavar="PYTHON", help="for `serving`: a Python that has vLLM")
    made.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to a file too")
    return made


def _positive(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"given {text!r}, expected a whole number of at least 1")


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    names = options.names or NAMES
    for name in names:
        if name not in NAMES:
            parser().error(f"there is no bench {name!r}; the benches are {', '.join(NAMES)}")
    if options.trace is not None and not options.trace.is_file():
        parser().error(f"--trace: {options.trace} is not a file")
    if options.vllm is not None and not options.vllm.is_file():
        parser().error(f"--vllm: {options.vllm} is not a file")
    if options.json is not None and not options.json.absolute().parent.is_dir():
        parser().error(f"--json: {options.json.parent} is not a folder")
    results: dict[str, Any] = {}
    for name in dict.fromkeys(names):
        print(f"== {name}", flush=True)
        if name == "trace" and options.trace is None:
            print(f"left out: {NEEDS_TRACE}\n")
            continue
        try:
            results[name], text = _bench(name, options)
        except InputError as error:
            print("\n".join(error.problems), file=sys.stderr)
            return 2
        print("\n".join(text) + "\n", flush=True)
    if options.json is not None:
        whole = {"machine": timing.machine(), "repeats": options.repeats or REPEATS, "results": results}
        options.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8", newline="\n")
    return 0


def _bench(name: str, options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """One bench's result and the same as text; each is imported when it is wanted."""
    repeats = options.repeats or (SERVING_REPEATS if name == "serving" else REPEATS)
    if name == "scheduler":
        from benchmarks import scheduler

        result = scheduler.measure(repeats, slots=options.slots or scheduler.SLOTS)
        return result, scheduler.lines(result)
    if name == "grading":
        from benchmarks import grading

        result = grading.measure(options.students or grading.STUDENTS)
        return result, grading.lines(result)
    if name == "trace":
        from benchmarks import trace

        result = trace.measure(repeats, options.trace)
        return result, trace.lines(result)
    if name == "stepper":
        from benchmarks import stepper

        result = stepper.measure(repeats)
        return result, stepper.lines(result)
    if name == "panels":
        from benchmarks import panels

        result = panels.measure(repeats)
        return result, panels.lines(result)
    if name == "queueing":
        from benchmarks import queueing

        result = queueing.measure(repeats)
        return result, queueing.lines(result)
    if name == "derivations":
        from benchmarks import derivations

        result = derivations.measure(repeats)
        return result, derivations.lines(result)
    if name == "serving":
        from benchmarks import serving

        vllm = None if options.vllm is None else str(options.vllm.absolute())
        result = serving.measure(repeats, quick=options.quick, vllm=vllm)
        return result, serving.lines(result)
    from benchmarks import startup

    result = startup.measure(repeats)
    return result, startup.lines(result)


if __name__ == "__main__":
    sys.exit(main())
