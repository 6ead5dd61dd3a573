"""The engine's commands: `run`, `replay`, `check`, `sweep`. Exit 0 done, 2 wrong input, 3 a broken invariant.

On wrong input there is one line a problem on standard error and nothing on standard output: everything is
checked before anything is written.
"""

from __future__ import annotations

import argparse
import io
import itertools
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from labkit.core.errors import InputError, escaped, quoted
from labkit.core.invariants import InvariantError
from labkit.engine import journal
from labkit.measure.result import ResultFold
from labkit.scenario.load import Scenario, load, load_stream
from labkit.scenario.run import RunsRounds, stream
from labkit.scenario.strict_json import dumps
from labkit.scenario.table import Table

Event = dict[str, Any]
ENDS = frozenset({"finish", "reject", "cancel", "expire", "fail"})


class _Parser(argparse.ArgumentParser):
    """argparse that says what is wrong in one line, as an InputError."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {escaped(message)}")


def _seed(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 16 and int(text) < 2**53:
        return int(text)
    raise argparse.ArgumentTypeError(f"given {quoted(text)}, expected an integer from 0 to 2^53 - 1")


def _count(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"given {quoted(text)}, expected an integer from {least} to {most}")

    return read


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = _Parser(prog="labkit", description="The engine's commands.", allow_abbrev=False)
    commands = top.add_subparsers(dest="command", required=True, metavar="run|replay|check|sweep")
    run = commands.add_parser("run", help="run scenarios", allow_abbrev=False)
    run.add_argument(
        "scenarios", nargs="+", metavar="SCENARIO", help="a file, a library name, or - for standard input"
    )
    run.add_argument("--json", action="store_true", help="the result object, one a line, instead of a table")
    run.add_argument(
        "--journal", metavar="OUT.jsonl", help="write what happens as JSON Lines; for one scenario"
    )
    run.add_argument("--executor", choices=["virtual", "torch"], default="virtual", help="default: virtual")
    run.add_argument("--device", choices=["auto", "cpu", "cuda"], help="for --executor torch")
    run.add_argument("--model", metavar="tiny|smollm2|DIR", help="for --executor torch")
    run.add_argument("--dtype", choices=["float64", "float32", "bfloat16"], help="for --executor torch")
    run.add_argument("--seed", type=_seed, metavar="N", help="instead of every seed in the files")
    run.add_argument(
        "--repeat",
        type=_count(2, 10_000),
        metavar="N",
        help="N runs with seeds derived from the scenario's: mean and 95 %% interval of each headline metric",
    )
    run.set_defaults(act=_run)
    replay = commands.add_parser("replay", help="the same result from a journal alone", allow_abbrev=False)
    replay.add_argument("journal", metavar="JOURNAL")
    form = replay.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the result object instead of a table")
    form.add_argument("--text", action="store_true", help="told round by round in sentences")
    replay.set_defaults(act=_replay)
    check = commands.add_parser("check", help="print every problem of scenarios", allow_abbrev=False)
    check.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="a file, a library name, or -")
    check.set_defaults(act=_check)
    sweep = commands.add_parser("sweep", help="one scenario at many values of its fields", allow_abbrev=False)
    sweep.add_argument("scenario", metavar="SCENARIO", help="a file, a library name, or -")
    sweep.add_argument(
        "--over",
        action="append",
        metavar="FIELD=V1,V2,…|START:STOP:STEP",
        help="a field, such as budget.tokens, and its values; several: their product",
    )
    sweep.add_argument(
        "--metric", action="append", metavar="NAME", help="may be given again; default: headline ones"
    )
    sweep.add_argument(
        "--repeat", type=_count(1, 10_000), default=1, metavar="N", help="runs a point; default 1"
    )
    sweep.add_argument(
        "--jobs", type=_count(1, 1000), metavar="N", help="processes; default: as many as processors"
    )
    sweep.add_argument(
        "--out", metavar="OUT.csv|OUT.jsonl", help="a row a run; one that is there is continued"
    )
    sweep.add_argument("--target", metavar="METRIC<=NUMBER", help="for --largest: what is asked of a metric")
    sweep.add_argument(
        "--largest", metavar="FIELD=LOW:HIGH", help="the largest value of a field that meets --target"
    )
    sweep.add_argument("--step", metavar="STEP", help="for --largest: how finely values are told apart")
    sweep.set_defaults(act=_sweep)
    return top


def main(argv: list[str]) -> int:
    """Run one command; `argv` begins with its name. Returns the exit status."""
    for standard in (sys.stdout, sys.stderr):
        if isinstance(standard, io.TextIOWrapper):
            standard.reconfigure(errors="backslashreplace", newline="\n")
    try:
        options = parser().parse_args(argv)
        status: int = options.act(options)
        return status
    except InputError as error:
        for line in error.problems:
            print(line, file=sys.stderr)
        return 2
    except InvariantError as error:
        print(f"labkit: the engine broke its own rules, please report it: {error}", file=sys.stderr)
        return 3
    except SystemExit as end:  # --help
        return end.code if isinstance(end.code, int) else 2


# ---------------------------------------------------------------------------------------------------- run


def _run(options: argparse.Namespace) -> int:
    real = options.executor == "torch"
    for name in ("device", "model", "dtype"):
        if getattr(options, name) is not None and not real:
            raise InputError(f"labkit run: given --{name}, expected it with --executor torch alone")
    if options.journal is not None and len(options.scenarios) > 1:
        raise InputError(
            "labkit run: given --journal with several scenarios, expected one scenario a journal"
        )
    if options.repeat is not None and (real or options.journal is not None):
        other = "--executor torch" if real else "--journal"
        raise InputError(f"labkit run: given --repeat with {other}, expected one of the two")
    scenarios = [scenario.with_seed(options.seed) for scenario in _loaded(options.scenarios)]
    if options.repeat is not None:
        return _repeat(options, [scenario for scenario, _ in _virtual(scenarios)])
    for scenario, executor in _with_model(scenarios, options) if real else _virtual(scenarios):
        with ExitStack() as stack:
            out = _journal(options.journal, scenario, options.scenarios[0])
            if out is not None:
                stack.callback(_let_go, out)
            text = _one(scenario, executor, options.json, out, stack)
        _say(text)
    return 0


def _repeat(options: argparse.Namespace, scenarios: list[Scenario]) -> int:
    from tqdm import tqdm

    from labkit.scenario import repeats

    quiet = not sys.stderr.isatty()
    for scenario in scenarios:
        runs = options.repeat if repeats.is_random(scenario) else 1
        with tqdm(total=runs, delay=2, unit=" runs", file=sys.stderr, leave=False, disable=quiet) as bar:
            told = repeats.Repeated.of(scenario, runs, bar.update)
        _say(journal.encode(told.document()) + "\n" if options.json else told.text())
        if runs == 1:
            print(
                f"{scenario.label}: nothing in it is random: {options.repeat} runs would be one",
                file=sys.stderr,
            )
    return 0


def _virtual(scenarios: list[Scenario]) -> list[tuple[Scenario, None]]:
    for scenario in scenarios:
        scenario.check_virtual()
    return [(scenario, None) for scenario in scenarios]


def _with_model(
    scenarios: list[Scenario], options: argparse.Namespace
) -> Iterator[tuple[Scenario, RunsRounds]]:
    """Each scenario as the model runs it, all of them checked first; pages are taken for one at a time."""
    from labkit.scenario.real import Joined, open_model

    loaded = open_model(options.model or "tiny", options.device or "auto", options.dtype or "float32")
    for joined in [Joined(scenario, loaded) for scenario in scenarios]:
        yield joined.executor()


def _say(text: str) -> None:
    """All of `text` on standard output, or an OSError: an unbuffered stream may take a part of it and not tell."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper):
        out.write(text)
        return
    out.flush()
    rest = memoryview(text.encode(out.encoding, out.errors or "strict"))
    while rest:
        rest = rest[out.buffer.write(rest) :]
    out.buffer.flush()


def _loaded(names: list[str]) -> list[Scenario]:
    """All scenarios, or every problem of all of them."""
    loaded: list[Scenario] = []
    problems: list[str] = []
    if names.count("-") > 1:
        raise InputError("labkit: given - more than once, expected one scenario on standard input")
    for name in names:
        try:
            scenario = load_stream(sys.stdin.buffer) if name == "-" else load(name)
            scenario.check_load()
            loaded.append(scenario)
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return loaded


def _one(
    scenario: Scenario, executor: RunsRounds | None, as_json: bool, out: IO[str] | None, stack: ExitStack
) -> str:
    """Run one scenario; what to print of it. The journal goes to `out` as it happens."""
    table = Table(_heading(scenario))
    fold = ResultFold(full=True)
    feed = fold.feed if as_json else table.feed
    ticks = _progress(scenario, stack)
    write = None if out is None else journal.writer(out)

    def sink(event: Event) -> None:
        if write is not None:
            write(event)
        feed(event)
        if ticks is not None and event["event"] in ENDS:
            ticks()

    def begin(header: Event) -> None:
        fold.begin(header)
        if out is not None:  # decimals exactly as they were given, which a float may not be
            out.write(dumps({**header, "scenario": scenario.raw}) + "\n")

    try:
        stream(scenario, feed if write is None and ticks is None else sink, begin=begin, executor=executor)
        if out is not None:
            out.close()
    except OSError as error:
        raise InputError(f"labkit run: --journal: cannot be written any further ({error.strerror})") from None
    return journal.encode(fold.result()) + "\n" if as_json else table.text()


def _heading(scenario: Scenario) -> str:
    title = scenario.title or scenario.label
    if (
        "trace" in scenario.raw
        and scenario.setup.policy.order == "sjf"
        and scenario.raw["trace"]["bound"] == 1
    ):
        title += " (bound 1: sjf is told the true lengths, an oracle)"
    return title


def _progress(scenario: Scenario, stack: ExitStack) -> Callable[[], object] | None:
    """A bar on a terminal once a run takes 2 s; nothing in a pipe."""
    if not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    raw = scenario.raw
    load_of = raw.get("arrivals") or raw.get("closed_loop") or {}
    total = (
        len(raw["requests"]) if "requests" in raw else load_of.get("count", raw.get("trace", {}).get("limit"))
    )
    bar = stack.enter_context(tqdm(total=total, delay=2, unit=" requests", file=sys.stderr, leave=False))
    update: Callable[[], object] = bar.update
    return update


def _journal(path: str | None, scenario: Scenario, given: str) -> IO[str] | None:
    """The open journal. It is written as the run goes: a killed run leaves what it has done."""
    if path is None:
        return None
    used = [Path(given)] if given != "-" else []
    parts = [scenario.raw.get(part) or {} for part in ("trace", "cost", "estimate")]
    used += [scenario.base / part["path"] for part in parts if "path" in part]
    try:
        if any(other.exists() and Path(path).exists() and other.samefile(path) for other in used):
            raise InputError(
                f"labkit run: --journal: given {quoted(path)}, which is read, expected another file"
            )
        return open(path, "w", encoding="utf-8", newline="\n")
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"labkit run: --journal: given {quoted(path)} ({reason}), expected a file that can be written"
        ) from None


def _let_go(out: IO[str]) -> None:
    """Close a journal that may hold lines which its disk has no room for; that was said already."""
    with suppress(OSError):
        out.close()


# ---------------------------------------------------------------------------------------------------- replay,
# check


def _replay(options: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", journal.CutShort)
        if options.text:
            _tell(options.journal)
        else:
            _show(options.journal, options.json)
    for warning in caught:
        print(f"warning: {escaped(str(warning.message))}", file=sys.stderr)
    return 0


def _show(path: str, as_json: bool) -> None:
    fold = ResultFold(full=True)
    events = _events(path)
    header = next(events)
    fold.begin(header)
    table = Table(str(header["scenario"].get("title") or path))
    journal.follow(itertools.chain([header], events), escaped(path), fold.feed if as_json else table.feed)
    _say(journal.encode(fold.result()) + "\n" if as_json else table.text())


def _events(path: str) -> Iterator[Event]:
    if path == "-":
        return journal.parse(sys.stdin.buffer, "standard input")
    return journal.read(path)


def _tell(path: str) -> None:
    """Tell into a file first: a journal that turns out wrong leaves nothing on standard output."""
    from labkit.show.replay.sentences import Narrator  # the sentences that the stepper says too

    with tempfile.SpooledTemporaryFile(max_size=1 << 24, mode="w+", encoding="utf-8", newline="\n") as told:
        events = _events(path)
        header = next(events)
        narrator, fold = Narrator(header), ResultFold(full=False)

        def feed(event: Event) -> None:
            fold.feed(event)
            told.writelines(line + "\n" for line in narrator.feed(event))

        journal.follow(itertools.chain([header], events), escaped(path), feed)
        told.writelines(line + "\n" for line in narrator.close())
        told.seek(0)
        for part in iter(lambda: told.read(1 << 20), ""):
            _say(part)


def _sweep(options: argparse.Namespace) -> int:
    from labkit.scenario import sweep  # its processes and the measures take time to import

    (scenario,) = _loaded([options.scenario])
    return sweep.run(options, scenario)


def _check(options: argparse.Namespace) -> int:
    for scenario in _loaded(options.scenarios):
        print(f"{scenario.label}: ok")
    return 0
