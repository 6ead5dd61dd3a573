"""The risk test at the door, its two kinds of error, and what else can refuse (E31.14, N01).

The engine lets a request in if Ŵ + Ŝ + Δ ≤ d − a (E31.14), both estimates from what it can know: bounds, not true
lengths, and rounds as long as a request alone would make them. Two errors follow:

false admit    let in, and not done by its deadline. This is seen in the run itself.
false reject   turned away, though it would have been done by its deadline. This is not seen in any run, so it is
               made: the same run again, with everybody who was let in let in, and this one besides. Whether *that* one
               then meets its deadline is the truth about it; what its presence does to the others is its price, not
               its truth. One run for each request turned away.

A cheaper twin lets everybody in at once and looks who meets the deadline there. It answers another question: in a
rush hour where all are let in nearly all are late, and a door judged by it seems never to refuse wrongly.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from labkit.core.types import Outcome
from labkit.measure.fold import Measures
from labkit.scenario.build import ns
from labkit.scenario.load import Scenario, load
from labkit.scenario.run import stream

Document = dict[str, Any]


def rush(seed: int = 5, count: int = 150, rate: float = 6.0, patience: float = 3.0) -> Document:
    """A seeded load with something for both errors: four seats, and estimates that are wrong in both directions.

    A round takes 10 ms and 5 ms more for each busy seat, so that company makes everyone slower than alone (Ŝ too
    small); answers have 32 tokens in the mean (geometric) and are declared as the next power of two, at least 32 (Ŵ
    and Ŝ too large).
    """
    luck = random.Random(seed)
    now, requests = 0.0, []
    for place in range(count):
        now += luck.expovariate(rate)
        output = 1 + int(math.log(1 - luck.random()) / math.log(1 - 1 / 32))
        requests.append(
            {
                "id": f"r{place}",
                "arrival": round(now, 6),
                "prompt_tokens": 16,
                "output_tokens": output,
                "max_output_tokens": max(32, 1 << (output - 1).bit_length()),
                "deadline": round(now + patience, 6),
            }
        )
    return {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 256, "seats": 4},
        "cost": {"kind": "linear", "fixed": 0.01, "per_seat": 0.005},
        "requests": requests,
    }


@dataclass(frozen=True)
class Margin:
    """The door at one Δ (seconds): who was let in and met the deadline or not, who was turned away, rightly or not.

    `twin_rejects`: how many of those turned away meet their deadline where everybody is let in.
    """

    margin: float
    submitted: int
    met: int
    false_admits: int
    refused: int
    false_rejects: int
    twin_rejects: int

    @property
    def admitted(self) -> int:
        """Let in: `met` + `false_admits`."""
        return self.met + self.false_admits


def risk_test(document: Document, margins: Iterable[float]) -> list[Margin]:
    """The door's errors at each Δ, every counterfactual by a run of its own (see the module).

    `document` holds requests with deadlines. Larger Δ turns false admits into right refusals and right admits into
    false rejects; neither count need move in step, because every refusal changes the queue that the next one finds.
    """
    opened = copy.deepcopy(document)
    links = opened.setdefault("policy", {}).get("backpressure", ["output", "active", "queue", "entry"])
    opened["policy"]["backpressure"] = [link for link in links if link != "entry"]
    nobody_refused = load(opened)
    everybody = _met(nobody_refused)
    return [_margin(document, margin, nobody_refused, everybody) for margin in margins]


def _margin(document: Document, margin: float, opened: Scenario, everybody: frozenset[str]) -> Margin:
    judged = copy.deepcopy(document)
    judged.setdefault("policy", {})["margin_seconds"] = margin
    rows = _run(load(judged)).requests
    refused = [row.id for row in rows if row.outcome is Outcome.REJECTED and row.reason == "deadline"]
    let_in = {row.id for row in rows} - set(refused)
    met = {row.id for row in rows if row.outcome is Outcome.FINISHED}
    wrongly = [name for name in refused if name in _met(_with(opened, let_in, name))]
    return Margin(
        margin=margin,
        submitted=len(rows),
        met=len(met),
        false_admits=len(let_in) - len(met),
        refused=len(refused),
        false_rejects=len(wrongly),
        twin_rejects=len(everybody & set(refused)),
    )


def _with(opened: Scenario, let_in: set[str], name: str) -> Scenario:
    """The run that decides about `name`: those let in and it, up to its deadline; what comes later changes nothing."""
    requests = opened.raw["requests"]
    deadline = next(one["deadline"] for one in requests if one["id"] == name)
    kept = [one for one in requests if one["id"] in let_in | {name} and one["arrival"] <= deadline]
    return dataclasses.replace(opened, raw={**opened.raw, "requests": kept}, until_ns=ns(deadline))


def _run(scenario: Scenario) -> Measures:
    fold = Measures()
    stream(scenario, fold.feed)
    return fold.close()


def _met(scenario: Scenario) -> frozenset[str]:
    """Who finishes: the engine ends everyone else at the deadline."""
    return frozenset(row.id for row in _run(scenario).requests if row.outcome is Outcome.FINISHED)


# ------------------------------------------------------------------------------------------------ the checklist


@dataclass(frozen=True)
class Check:
    """One item of the admission checklist (N01). `reason` is what the engine's refusal says; None: no such check.

    `refused` names who was turned away in a run where only `limit` is tightened, and `before` who was without it.
    """

    item: str
    reason: str | None
    limit: str
    refused: tuple[str, ...]
    before: tuple[str, ...]


_BASE: Document = {
    "schema": "labkit.scenario/1",
    "budget": {"tokens": 512, "seats": 1, "kv_bytes": 64 << 20},
    "policy": {},
    "cost": {"kind": "table", "seconds": {"1": 0.01}},
    "requests": [
        {"id": name, "arrival": at, "prompt_tokens": prompt, "output_tokens": 20, "deadline": deadline}
        for name, at, prompt, deadline in (("A", 0, 64, 5), ("B", 0.001, 400, 5), ("C", 0.002, 64, 5))
    ],
}
_TIGHTER: tuple[tuple[str, str | None, str, tuple[str, ...], object], ...] = (
    ("length", "capacity", "budget.tokens", ("budget", "tokens"), 256),
    ("cache growth", "capacity", "budget.kv_bytes", ("budget", "kv_bytes"), 20 << 20),
    ("queue room", "queue_full", "policy.max_queue", ("policy", "max_queue"), 1),
    ("deadline", "deadline", "policy.margin_seconds", ("policy", "margin_seconds"), 4.5),
)


def checklist() -> list[Check]:
    """Three requests that are all let in, and one limit at a time tightened until it alone refuses (N01).

    The chapter's list also has the model, the tenant's quota and the size of the body. A scenario runs one model and
    knows tenants only by weight (they are ordered, never refused); a body's size is its prompt's length here. What the
    engine lacks is in the list with no reason.
    """
    before = _refused(_BASE)
    checks = []
    for item, reason, limit, (room, field), value in _TIGHTER:
        tighter = copy.deepcopy(_BASE)
        tighter[room][field] = value
        refused = _refused(tighter)
        assert {why for _, why in refused} <= {reason}
        checks.append(
            Check(item, reason, limit, tuple(name for name, _ in refused), tuple(n for n, _ in before))
        )
    return checks + [Check(item, None, "", (), ()) for item in ("model", "tenant quota", "body")]


def _refused(document: Document) -> list[tuple[str, str | None]]:
    rows = _run(load(document)).requests
    return [(row.id, row.reason) for row in rows if row.outcome is Outcome.REJECTED]
