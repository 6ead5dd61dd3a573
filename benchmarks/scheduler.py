"""Sequence-slots a second at 8, 32, 128 and 256 running requests, in four steps that show where the time goes.

A slot is one request in one round. All four steps do the same rounds, and that is checked before anything is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import breakdown, timing
from benchmarks.plain import Count, plain
from benchmarks.population import Case, Replacements, make_case
from labkit.core.decide import decide
from labkit.core.scheduler import State, commit, finish_round, settle, submit
from labkit.engine import journal
from labkit.engine.loop import Engine
from labkit.executors.virtual import VirtualExecutor
from labkit.measure.result import ResultFold

SEATS = (8, 32, 128, 256)
SLOTS = 200_000
AIM = 200_000  # slots a second with the journal
STEPS = ("plain loop", "core", "engine, fold", "engine, fold, journal")


def core(case: Case) -> Count:
    """The core's verbs and the virtual executor in the shortest loop that drives them; what they record is dropped."""
    source = Replacements(case)
    state, executor = State(case.setup(), case.cost()), VirtualExecutor(case.cost())
    count = Count()
    while count.slots < case.slots:
        now = count.end_ns
        while source.peek() is not None:
            job = source.take()
            executor.submit(job)
            submit(state, job.request, now)
        plan = decide(state, now)
        commit(state, plan)
        executor.launch(plan)
        result = executor.collect()
        count.end_ns += result.seconds_ns
        count.slots += len(plan.items)
        finish_round(state, count.end_ns, result.seconds_ns, result.last)
        for record in settle(state, count.end_ns):
            if record["event"] == "finish":
                executor.forget(record["id"])
                source.notify_end(record["id"], record["t"])
                count.ends[record["id"]] = record["t"]
    count.rounds = state.rounds
    return count


def engine(case: Case, until_ns: int, sink: Callable[[dict[str, Any]], None]) -> Engine:
    """The engine on the same case, about to run until `until_ns`."""
    executor, source = VirtualExecutor(case.cost()), Replacements(case)
    return Engine(case.setup(), executor, source, estimate=case.cost(), until_ns=until_ns, sink=sink)


def engine_count(case: Case, until_ns: int) -> Count:
    """What the engine did, counted from its journal's events alone."""
    count = Count()

    def sink(event: dict[str, Any]) -> None:
        if event["event"] == "plan":
            count.slots += len(event["items"])
        elif event["event"] == "round":
            count.rounds += 1
            count.end_ns = event["t"]
        elif event["event"] == "finish":
            count.ends[event["id"]] = event["t"]

    engine(case, until_ns, sink).run()
    return count


def check_equal(case: Case) -> Count:
    """Run a case in every way and return what all did.

    Raises:
        RuntimeError: they did not do the same.
    """
    expected = plain(case)
    for name, found in (("core", core(case)), ("engine", engine_count(case, expected.end_ns))):
        if found != expected:
            raise RuntimeError(f"the {name} and the plain loop do not do the same rounds: nothing to compare")
    return expected


def _with_fold(case: Case, until_ns: int) -> None:
    engine(case, until_ns, ResultFold(full=False).feed).run()


def _with_journal(case: Case, until_ns: int, path: Path) -> None:
    feed = ResultFold(full=False).feed
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        write = journal.writer(stream)

        def sink(event: dict[str, Any]) -> None:
            write(event)
            feed(event)

        engine(case, until_ns, sink).run()


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def measure(repeats: int, seats: Sequence[int] = SEATS, slots: int = SLOTS) -> dict[str, Any]:
    """All steps at each number of running requests."""
    return {"aim_slots_per_second": AIM, "rows": [_row(make_case(count, slots), repeats) for count in seats]}


def _row(case: Case, repeats: int) -> dict[str, Any]:
    done = check_equal(case)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        actions: tuple[Callable[[], object], ...] = (
            partial(plain, case),
            partial(core, case),
            partial(_with_fold, case, done.end_ns),
            partial(_with_journal, case, done.end_ns, path),
        )
        steps = {name: partial(_seconds, action) for name, action in zip(STEPS, actions, strict=True)}
        seconds = timing.interleaved(steps, repeats)
        journal_bytes = path.stat().st_size
        parts = breakdown.measure(lambda sink: engine(case, done.end_ns, sink), path, repeats)
    return {
        "running": case.seats,
        "slots": done.slots,
        "rounds": done.rounds,
        "mean_slots_a_round": done.slots / done.rounds,
        "journal_bytes_per_slot": journal_bytes / done.slots,
        "steps": {
            name: {
                "slots_per_second": timing.spread(done.slots / t for t in times),
                "of_plain": timing.ratios(seconds[STEPS[0]], times),
            }
            for name, times in seconds.items()
        },
        "microseconds_per_slot": {
            name: timing.spread(1e6 * t / done.slots for t in times) for name, times in parts.items()
        },
    }


def lines(result: dict[str, Any]) -> list[str]:
    """The result as text."""
    rows = [["running, step", "slots/s (least to greatest)", "of the plain loop"]]
    for row in result["rows"]:
        for name, step in row["steps"].items():
            speed, share = step["slots_per_second"], step["of_plain"]
            rows.append(
                [f"{row['running']:>3} {name}", timing.between(speed, ",.0f"), timing.between(share, ".1%")]
            )
    text = [*timing.columns(rows), f"aim: {result['aim_slots_per_second']:,} slots/s with the journal", ""]
    parts = list(result["rows"][0]["microseconds_per_slot"])
    rows = [["µs a slot (median), running:", *(str(row["running"]) for row in result["rows"])]]
    for part in parts:
        rows.append([part])
        for row in result["rows"]:
            found = row["microseconds_per_slot"]
            whole = sum(spent["median"] for spent in found.values())
            rows[-1].append(f"{found[part]['median']:.2f} ({found[part]['median'] / whole:4.0%})")
    sizes = [f"{row['journal_bytes_per_slot']:.0f}" for row in result["rows"]]
    return [*text, *timing.columns([*rows, ["journal bytes a slot", *sizes]])]
