"""A scenario on the real model beside the same scenario on the virtual clock, by a cost model fitted to the machine.

Two questions, kept apart (C13, N08). Does the model know how long a *given* round takes? Each real round is priced by
its shape, so one wrong price does not spoil the next. And does a virtual *run* tell what a real one will do? There an
error moves an admission, and everything after it.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.core.types import NS_PER_SECOND
from labkit.scenario.build import cost_model
from labkit.scenario.load import Scenario, load
from labkit.scenario.real import torch_executor
from labkit.scenario.run import Run, run


@dataclass(frozen=True)
class Beside:
    """Both runs; `rounds`: (measured, predicted) seconds of each real round; `ends`: the same of each finished request.

    A request that only one of the two finished is in neither.
    """

    real: Run
    virtual: Run
    rounds: tuple[tuple[float, float], ...]
    ends: dict[str, tuple[float, float]]

    @property
    def round_error(self) -> float:
        """Median of |predicted − measured|/measured over the real rounds."""
        return statistics.median(abs(predicted - measured) / measured for measured, predicted in self.rounds)

    @property
    def makespan_error(self) -> float:
        """(virtual − real)/real of the time at which the last request ends."""
        real = self.real.result["summary"]["seconds"]
        return float((self.virtual.result["summary"]["seconds"] - real) / real)


def beside_real(
    scenario: Scenario | str | Mapping[str, Any],
    fitted: Mapping[str, Any],
    *,
    model: str = "tiny",
    device: str = "auto",
    dtype: str = "float32",
) -> Beside:
    """Run `scenario` twice with the cost model `fitted` (the content of a `labkit.cost/1` file).

    Both runs plan by `fitted`. What the virtual executor has to be told, the lengths of answers that end by
    themselves, comes from the real run.

    Raises:
        InputError: the scenario or the cost model is wrong, or the real model cannot run it.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    cost = {key: value for key, value in fitted.items() if key not in ("schema", "fitted")}
    given = {**scenario.given, "cost": cost}
    given.pop("estimate", None)
    joined, executor = torch_executor(
        load(given, base=scenario.base, label=scenario.label), model=model, device=device, dtype=dtype
    )
    real = run(joined, executor=executor)
    virtual = run(_with_lengths(joined, real))
    ends = [
        {row["id"]: row["end"] for row in one.result["requests"] if row["outcome"] == "finished"}
        for one in (real, virtual)
    ]
    both = {name: (end, ends[1][name]) for name, end in ends[0].items() if name in ends[1]}
    return Beside(real, virtual, _priced(real), both)


def _with_lengths(scenario: Scenario, real: Run) -> Scenario:
    """The scenario with the output lengths that the real model came to."""
    if "requests" not in scenario.raw:
        return scenario
    lengths = {row["id"]: len(row["tokens"]) for row in real.result["requests"]}
    requests = [
        {**request, "output_tokens": request.get("output_tokens") or max(1, lengths.get(request["id"], 1))}
        for request in scenario.raw["requests"]
    ]
    return dataclasses.replace(scenario, raw={**scenario.raw, "requests": requests})


def _priced(real: Run) -> tuple[tuple[float, float], ...]:
    """Each round's measured seconds, and those of its shape by the cost model; swap transfers are priced too."""
    cost = cost_model(real.scenario.raw["cost"])
    pairs = []
    # By number: at depth 2 a round is planned while the one before it runs.
    planned: defaultdict[int, Any] = defaultdict(cost.begin)
    newest = 0
    for event in real.journal[1:]:
        if event["event"] == "plan":
            newest = event["round"]
            for _, new_tokens, context, phase in event["items"]:
                planned[newest].add(new_tokens, context, phase == "prefill")
        elif event["event"] in ("swap_out", "swap_in"):
            planned[newest].add_transfer(event["bytes"])
        elif event["event"] == "round":
            measured = (event.get("end", event["t"]) - event["start"]) / NS_PER_SECOND
            pairs.append((measured, planned.pop(event["round"]).ns() / NS_PER_SECOND))
    return tuple(pairs)
