"""Run a scenario: loader, executor, engine and fold joined."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from labkit.core.errors import InputError
from labkit.engine.loop import Executor
from labkit.scenario import build
from labkit.scenario.load import Scenario, load

Event = dict[str, Any]


class RunsRounds(Executor, Protocol):
    """An executor that can say what it is in the journal's first line."""

    @property
    def about(self) -> dict[str, object]:
        """`kind`, and of the real model: device, dtype, model, library versions."""
        ...


@dataclass(frozen=True)
class Run:
    """What came of a run: `result` exactly as `--json` prints it, `journal` with its header first, the
    scenario.
    """

    scenario: Scenario
    result: dict[str, Any]
    journal: list[Event]


def run(
    scenario: Scenario | str | os.PathLike[str] | bytes | Mapping[str, Any],
    *,
    seed: int | None = None,
    check: bool = True,
    executor: RunsRounds | None = None,
) -> Run:
    """Run a scenario and keep everything. `seed` replaces every seed in it.

    `executor`: who spends the time; None: the virtual clock, by the scenario's `cost`. `check`: verify the
    engine's invariants after every round, not just now and then.

    Raises:
        InputError: the scenario or its trace is wrong.
        InvariantError: the engine broke one of its laws.
    """
    from labkit.measure.result import ResultFold

    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    scenario = scenario.with_seed(seed)
    journal: list[Event] = []
    fold = ResultFold(full=True)

    def sink(event: Event) -> None:
        journal.append(event)
        fold.feed(event)

    every = 1 if check else 256
    header = stream(scenario, sink, begin=fold.begin, check_every=every, executor=executor)
    return Run(scenario, fold.result(), [header, *journal])


def stream(
    scenario: Scenario,
    sink: Callable[[Event], None],
    *,
    begin: Callable[[Event], None] = lambda header: None,
    check_every: int = 256,
    executor: RunsRounds | None = None,
) -> Event:
    """Run a scenario, handing each journal event to `sink` as it happens; keep nothing.

    On the virtual clock, unless another `executor` is given. `begin` gets the journal's header before the first
    event; it is returned too. The invariants are checked in full every `check_every` rounds.
    """
    from labkit.engine import journal
    from labkit.engine.loop import Engine
    from labkit.executors.virtual import VirtualExecutor

    if executor is None:
        scenario.check_virtual()
        executor = VirtualExecutor(scenario.cost, build.faults(scenario.raw["faults"]))
    elif scenario.raw["faults"]:
        given = f"{scenario.label}: faults: given {len(scenario.raw['faults'])} of them"
        raise InputError(f"{given}, expected none: only the virtual executor can fail on purpose")
    header = journal.header(scenario.document(), executor.about, scenario.seed)
    begin(header)
    engine = Engine(
        scenario.setup,
        executor,
        scenario.source(),
        estimate=scenario.estimate,
        capacity_changes=scenario.capacity_changes,
        until_ns=scenario.until_ns,
        sink=sink,
        check_every=check_every,
    )
    engine.run()
    return header
