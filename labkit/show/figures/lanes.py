"""Who sits where: seats derived from a result's rounds.

A result says who ran in each round, not on which chair. A drawing needs chairs, so: a request takes the
lowest free lane when it first runs and keeps it until its last round. One that came back from a preemption
and finds its lane taken gets a new one in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from labkit.show.exact import ms


@dataclass(frozen=True)
class Cell:
    """One request in one round: `lane` from 0, `start` and `end` in ms; `tokens` new positions."""

    id: str
    lane: int
    round: int
    start: Fraction
    end: Fraction
    phase: str
    tokens: int


@dataclass(frozen=True)
class Stretch:
    """Adjacent cells of one request in one lane, or emptiness (`id` None); `waited`: while others waited."""

    id: str | None
    lane: int
    start: Fraction
    end: Fraction
    rounds: int
    waited: bool = False


def cells(result: Mapping[str, Any], seats: int) -> list[Cell]:
    """Every (request, round) of a result with the lane that it sits in, in order of rounds."""
    rounds = result["rounds"]
    last = {item["id"]: r["index"] for r in rounds for item in r["items"]}
    holds: dict[str, int] = {}
    out: list[Cell] = []
    for r in rounds:
        holds = {id_: lane for id_, lane in holds.items() if last[id_] >= r["index"]}
        running = {item["id"] for item in r["items"]}
        start, end = ms(r["start"]), ms(r["start"]) + ms(r["seconds"])
        for item in r["items"]:
            id_ = item["id"]
            if id_ not in holds:
                holds[id_] = _take_lane(holds, running, seats)
            out.append(Cell(id_, holds[id_], r["index"], start, end, item["phase"], item["new_tokens"]))
    return out


def _take_lane(holds: dict[str, int], running: set[str], seats: int) -> int:
    """The lowest lane that nobody holds; where all are held, the lowest whose holder does not run now."""
    taken = set(holds.values())
    free = next(lane for lane in range(len(taken) + 1) if lane not in taken)
    away = sorted((lane, id_) for id_, lane in holds.items() if id_ not in running)
    if free < seats or not away:
        return free
    lane, id_ = away[0]
    del holds[id_]
    return lane


def stretches(result: Mapping[str, Any], seats: int) -> list[Stretch]:
    """The cells of each lane joined where they touch, with the emptiness between them made visible.

    Empty stretches cover the rounds in which a lane has no cell; time in which no round runs belongs to
    nobody.
    """
    at = {(cell.lane, cell.round): cell.id for cell in cells(result, seats)}
    lanes = max([seats, *(lane + 1 for lane, _ in at)])
    out: list[Stretch] = []
    for lane in range(lanes):
        for r in result["rounds"]:
            who = at.get((lane, r["index"]))
            waited = who is None and r["waiting"] > 0
            start, end = ms(r["start"]), ms(r["start"]) + ms(r["seconds"])
            before = out[-1] if out else None
            if before and (before.lane, before.id, before.waited, before.end) == (lane, who, waited, start):
                out[-1] = replace(before, end=end, rounds=before.rounds + 1)
            else:
                out.append(Stretch(who, lane, start, end, 1, waited))
    return out
