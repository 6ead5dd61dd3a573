"""`sweep`: one scenario at many values of its fields, spread over processes; or the largest value that still does.

Everything is checked before anything runs. The file of a sweep holds one row a run in the order of the plan: the
fields' product, the last one fastest, and each point's runs together. A sweep that was stopped goes on where its
file ends.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from labkit import __version__
from labkit.core.errors import InputError, escaped, quoted
from labkit.measure.metrics import METRICS
from labkit.scenario import fields, largest, repeats
from labkit.scenario.load import Scenario, load
from labkit.scenario.sheet import Sheet
from labkit.scenario.strict_json import dumps
from labkit.scenario.workers import Task, Workers, cores

MOST_POINTS = 100_000
MOST_PROBLEMS = 20
Values = tuple[fields.Value, ...]


@dataclass(frozen=True)
class Plan:
    """What is swept: the scenario, the fields, how often each point is run, and what is asked of each run."""

    scenario: Scenario
    names: tuple[str, ...]
    steps: tuple[fields.Steps, ...]
    runs: int
    metrics: tuple[str, ...]

    def label(self, values: Values) -> str:
        """What errors call the scenario at these values."""
        at = ", ".join(f"{name}={_said(value)}" for name, value in zip(self.names, values, strict=True))
        return f"{self.scenario.label} with {at}"

    def document(self, values: Values) -> dict[str, Any]:
        """The scenario as given, with these values."""
        settings = dict(zip(self.steps, values, strict=True))
        return fields.changed(self.scenario.given, settings, self.label(values))

    def point(self, values: Values) -> Scenario:
        """The scenario at these values.

        Raises:
            InputError: it is none that can be run, with the values in every line.
        """
        return load(self.document(values), base=self.scenario.base, label=self.label(values))

    def sheet(self, path: str | None) -> Sheet:
        """The file of its rows."""
        known = ["scenario_hash", *self.names, "run", "run_seed"]
        return Sheet(path, [*known, *self.metrics], len(known))


def run(options: argparse.Namespace, scenario: Scenario) -> int:
    """The command, its arguments parsed and its scenario checked. Exit 0 done, 130 stopped by Ctrl-C.

    Raises:
        InputError: anything given is wrong; nothing has been run then.
    """
    if bool(options.over) == bool(options.largest) or bool(options.target) != bool(options.largest):
        raise InputError(
            "labkit sweep: expected --over FIELD=…, or --target METRIC<=NUMBER with --largest FIELD=LOW:HIGH"
        )
    if options.over and options.out is None:
        raise InputError("labkit sweep: given no --out, expected --out OUT.csv or OUT.jsonl")
    if options.step is not None and not options.largest:
        raise InputError("labkit sweep: given --step, expected it with --largest alone")
    return _search(options, scenario) if options.largest else _product(options, scenario)


# ------------------------------------------------------------------------------------------------ every point


def _product(options: argparse.Namespace, scenario: Scenario) -> int:
    axes = [fields.axis(text) for text in options.over]
    names = tuple(axis.name for axis in axes)
    if len(set(names)) < len(names):
        raise InputError("labkit sweep: --over: given a field twice, expected each once")
    count = math.prod(len(axis.values) for axis in axes)
    if count > MOST_POINTS:
        raise InputError(f"labkit sweep: given {count} points, expected at most {MOST_POINTS}")
    metrics = _metrics(options.metric)
    plan = Plan(scenario, names, tuple(axis.steps for axis in axes), options.repeat, metrics)
    points: list[Values] = list(itertools.product(*(axis.values for axis in axes)))
    plan = _as_often(plan, _checked(plan, points))
    table: list[list[str]] = [[*names, *metrics]]
    runner = Runner(plan, options, len(points) * plan.runs)
    try:
        with runner:
            for values, rows in runner.rows(points):
                sums = [repeats.summary(column) for column in zip(*rows, strict=True)]
                table.append([*map(_said, values), *map(repeats.said, sums)])
    except KeyboardInterrupt:
        return runner.stopped()
    print("\n".join(repeats.columns(table, len(names))))
    print(_units(metrics, plan.runs))
    return 0


def _checked(plan: Plan, points: Sequence[Values]) -> bool:
    """Every point loads and its trace can be read; whether any of them is random."""
    problems: list[str] = []
    read: set[str] = set()
    random = False
    for values in points:
        try:
            scenario = plan.point(values)
            trace = dumps(scenario.raw.get("trace"))
            if trace not in read:
                read.add(trace)
                scenario.check_load()
            scenario.check_virtual()
            random = random or repeats.is_random(scenario)
        except InputError as error:
            problems += error.problems
            if len(problems) >= MOST_PROBLEMS:
                break
    if problems:
        raise InputError(problems[:MOST_PROBLEMS])
    return random


def _as_often(plan: Plan, random: bool) -> Plan:
    """The plan; with one run a point where others would be the same run again, which is told."""
    if plan.runs > 1 and not random:
        print("labkit sweep: nothing in this scenario is random: each point is run once", file=sys.stderr)
        return replace(plan, runs=1)
    return plan


class Runner:
    """The runs of a plan, in order: those that the file holds are read, the others are run and written.

    A context: entered, it holds the file, the processes and a bar; left by Ctrl-C or an error, it ends the processes.
    """

    def __init__(self, plan: Plan, options: argparse.Namespace, total: int | None) -> None:
        self.plan = plan
        self.out = options.out
        self.hash = digest(plan.scenario)
        self.sheet = plan.sheet(options.out)
        self.workers = Workers(options.jobs or min(cores(), total or plan.runs))
        self.total = total
        self.place = 0
        self._held = ExitStack()

    def __enter__(self) -> Runner:
        from tqdm import tqdm

        with ExitStack() as stack:
            stack.callback(self.sheet.close)
            self.sheet.open()
            quiet = not sys.stderr.isatty()
            self.bar = stack.enter_context(
                tqdm(total=self.total, unit=" runs", file=sys.stderr, disable=quiet, leave=False)
            )
            stack.enter_context(self.workers)
            self._held = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._held.__exit__(*error)

    def rows(self, points: Sequence[Values]) -> Iterator[tuple[Values, list[list[Fraction | None]]]]:
        """Each point with what its runs measured."""
        found: list[tuple[list[Any], list[str] | None]] = []
        tasks: list[tuple[Values, int]] = []
        for values in points:
            scenario = self.plan.point(values)
            for k in range(self.plan.runs):
                known = [self.hash, *values, k, repeats.seed_of(scenario, k)]
                old = self.sheet.found(self.place + len(found), known)
                found.append((known, old))
                if old is None:
                    tasks.append((values, k))
        fresh = self.workers.results(self._task(values, k) for values, k in tasks)
        places = iter(found)
        for values in points:
            cells: list[list[Fraction | None]] = []
            for _ in range(self.plan.runs):
                known, old = next(places)
                if old is None:
                    row = next(fresh)
                    self.sheet.add([*known, *row])
                    cells.append([None if one is None else Fraction(one) for one in row])
                else:
                    cells.append([None if one == "" else Fraction(float(one)) for one in old])
                self.place += 1
                self.bar.update()
            yield values, cells

    def _task(self, values: Values, k: int) -> Task:
        plan = self.plan
        return Task(plan.document(values), plan.scenario.base, plan.label(values), k, plan.metrics)

    def stopped(self) -> int:
        """Say where it was stopped."""
        of = "" if self.total is None else f" of {self.total}"
        kept = "nothing is kept without --out" if self.out is None else "the same command goes on from there"
        print(f"labkit sweep: stopped after {self.place}{of} runs; {kept}", file=sys.stderr)
        return 130


def digest(scenario: Scenario) -> str:
    """16 hex digits of SHA-256 over what was given, the files that it names, and the version of labkit."""
    said = hashlib.sha256(f"{__version__}\n{dumps(scenario.given)}".encode("utf-8", "surrogatepass"))
    for part in ("trace", "cost", "estimate"):
        inner = scenario.raw.get(part)
        if isinstance(inner, dict) and "path" in inner:
            try:
                said.update((scenario.base / inner["path"]).read_bytes())
            except OSError as error:
                raise InputError(
                    f"{scenario.label}: {part}.path: cannot be read ({error.strerror})"
                ) from None
    return said.hexdigest()[:16]


# ------------------------------------------------------------------------------------------------ the largest


def _search(options: argparse.Namespace, scenario: Scenario) -> int:
    target = largest.target(options.target)
    (metric,) = _metrics([target.metric])
    name, steps, values = largest.span(options.largest, options.step)
    extra = tuple(one for one in _metrics(options.metric or [metric]) if one != metric)
    plan = Plan(scenario, (name,), (steps,), options.repeat, (metric, *extra))
    some = (values[0], values[len(values) // 2], values[-1])
    random = sum(_checked(plan, [(value,)]) for value in some) > 0  # the first that is wrong says it for all
    plan = _as_often(plan, random)
    runner = Runner(plan, options, None)

    def probe(value: fields.Value) -> largest.Probe:
        ((_, rows),) = runner.rows([(value,)])
        one = repeats.summary([row[0] for row in rows])
        mean = None if one.mean is None else float(one.mean)
        return largest.Probe(value, mean, one.half, *target.verdict(mean, one.half))

    try:
        with runner:
            found = largest.search(values, probe)
    except KeyboardInterrupt:
        return runner.stopped()
    print("\n".join(_answer(name, target, values, found, plan.runs)))
    return 0


def _answer(
    name: str,
    target: largest.Target,
    values: Sequence[fields.Value],
    found: largest.Found,
    runs: int,
) -> Iterator[str]:
    unit = METRICS[target.metric].unit
    doubt = f"95 % by Student's t, each value by itself; {runs} runs, the same seeds at every value"
    best = "none" if found.best is None else _said(found.best.value)
    yield f"largest {name} with {target} {unit}: {best}"
    yield f"  tried: {len(found.probes)} of {len(values)} values from {_said(values[0])} to {_said(values[-1])}"
    for what, one in (("at", found.best), ("the next value tried,", found.next)):
        if one is not None:
            sure = "" if runs == 1 else ", surely" if one.sure else ", not surely"
            verdict = ("met" if one.met else "missed") + sure
            yield f"  {what} {_said(one.value)}: {target.metric} {_figure(one)} {unit}, {verdict}"
    if found.best is not None and found.next is None:
        yield "  the whole range meets it: the largest may lie above"
    if runs > 1:
        met, missed = found.surely_met, found.surely_missed
        yield (
            f"  surely met up to {'-' if met is None else _said(met.value)}, "
            f"surely missed from {'-' if missed is None else _said(missed.value)} on ({doubt})"
        )
    else:
        yield "  one run a value: no interval (--repeat N gives one where the load is random)"
    if found.best is None:
        yield "  order: all values tried miss the target; between them none was run"
        if any(one.mean is None for one in found.probes):
            yield "  -: undefined in a run, which counts as missed"
    elif found.orderly:
        yield "  order: all values tried up to it meet the target, all above miss it; between them none was run"
    else:
        odd = [_said(one.value) for one in found.probes if not one.met and _below(one, found.best)]
        yield f"  order: broken, the target is missed below it too, at {', '.join(odd)}"


def _below(one: largest.Probe, other: largest.Probe) -> bool:
    return Fraction(str(one.value)) < Fraction(str(other.value))


def _figure(one: largest.Probe) -> str:
    mean = None if one.mean is None else Fraction(one.mean)
    return repeats.said(repeats.Summary(mean, one.half, 1, 1))


# ------------------------------------------------------------------------------------------------ words


def _metrics(names: Sequence[str] | None) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(names or repeats.HEADLINE))
    for name in chosen:
        if name not in METRICS:
            close = difflib.get_close_matches(name[:100], METRICS, 1)
            hint = f"did you mean {close[0]}?" if close else f"such as {', '.join(repeats.HEADLINE[:4])}"
            raise InputError(
                f"labkit sweep: given the metric {quoted(name)}, expected one that is measured; {hint}"
            )
    return chosen


def _said(value: fields.Value) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return escaped(str(value))


def _units(metrics: Sequence[str], runs: int) -> str:
    units = ", ".join(f"{name} {METRICS[name].unit}" for name in metrics if METRICS[name].unit != "1")
    how = f"mean ± 95 % of {runs} runs, Student's t" if runs > 1 else "one run a point"
    return f"{how}; {units}" if units else how
