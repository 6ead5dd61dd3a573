"""Fields of the loads: what goes together, what is refused by name, and what a stall and a late device do."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest

from labkit.scenario import InputError, load, run
from tests.scenario.documents import CLOSED, REQUESTS, SEGMENTS

ONE = {"kind": "fixed", "value": 1}


def arrivals(**fields: Any) -> dict[str, Any]:
    document = copy.deepcopy(SEGMENTS)
    document["arrivals"] = {"process": "fixed", "count": 10, "prompt": ONE, "output": ONE, **fields}
    return document


def refusal(document: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        load(document, label="F")
    (line,) = caught.value.problems
    return line


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "F: arrivals.rate: given nothing, expected exactly one of rate, segments"),
        ({"rate": None}, "F: arrivals.rate: given nothing, expected exactly one of rate, segments"),
        (
            {"rate": 1, "segments": [{"for_seconds": 1, "rate": 1}]},
            "F: arrivals.rate: given rate and segments, expected exactly one of rate, segments",
        ),
        (
            {"rate": 1, "repeat": True},
            "F: arrivals.repeat: given true, expected false, because it needs segments",
        ),
        (
            {"segments": [{"for_seconds": 1, "rate": 0}, {"for_seconds": 5, "rate": 0}]},
            "F: arrivals.segments: given rates of 0 alone, expected a rate over 0 in one segment",
        ),
        (
            {"segments": [{"for_seconds": 1e9, "rate": 1e-12}], "repeat": True},
            "F: arrivals.segments: given less than one request in 1e9 seconds, expected more, because they repeat",
        ),
    ],
)
def test_rate_and_segments(fields, line):
    assert refusal(arrivals(**fields)) == line


def test_connections_do_not_go_with_users_or_with_giving_up():
    line = refusal({**CLOSED, "connections": 2})
    assert (
        line == "F: connections: given 2, expected null: each user of a closed loop has one request under way"
    )
    asked = {**REQUESTS, "connections": 2}
    asked["requests"] = [{**asked["requests"][0], "fail_at": None}]
    assert "requests[0].cancel_at: given 3.5, expected null, because connections may hold" in refusal(asked)


def test_an_end_of_a_ramp_follows_the_rate_that_was_given():
    raw = load(SEGMENTS).raw["arrivals"]["segments"]
    assert [(part["rate"], part["rate_to"]) for part in raw] == [(2, Fraction("4.5")), (0, 0)]
    flat = load(arrivals(segments=[{"for_seconds": 2, "rate": 3}]))
    assert flat.raw["arrivals"]["segments"][0]["rate_to"] == 3
    # Whoever changes the rate of what was given changes the end with it; of a filled document he would not.
    assert flat.given["arrivals"]["segments"] == [{"for_seconds": 2, "rate": 3}]


def test_deadlines_of_a_load_count_from_each_arrival():
    scenario = load(arrivals(rate=2, deadline_seconds=0.25))
    source = scenario.source()
    requests = [source.take().request for _ in range(3)]
    assert [r.deadline_ns - r.arrival_ns for r in requests] == [250_000_000] * 3


@pytest.mark.parametrize("order", ["fcfs", "sjf", "edf", "priority", "credit"])
@pytest.mark.parametrize("batching", ["continuous", "static"])
def test_without_a_seat_nothing_runs_and_nothing_breaks(order, batching):
    """Seats go to 0 and come back (C22, C30): no round in between, whoever came then is served afterwards."""
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 4, "seats": 2},
        "policy": {"order": order, "batching": batching},
        "cost": {"kind": "table", "seconds": {"1": 0.01, "2": 0.01}},
        "capacity_changes": [{"at": 0.035, "seats": 0}, {"at": 0.105, "live_at": 0.205, "seats": 2}],
        "arrivals": {
            "process": "fixed", "rate": 50, "count": 20, "prompt": ONE, "output": {"kind": "fixed", "value": 3},
            "deadline_seconds": 5,
        },
    }  # fmt: skip
    result = run(document).result
    assert result["summary"]["finished"] == 20
    starts = [r["start"] for r in result["rounds"]]
    # The round in progress at 35 ms ends at 40; the next starts when the seats are live.
    assert [at for at in starts if 0.035 <= at < 0.205] == []
    assert 0.205 in starts


def test_while_nothing_serves_a_deadline_is_judged_as_with_one_seat():
    """One waits (30 ms of rounds alone), so Ŵ + Ŝ = 60 ms: 50 ms of patience are refused, 70 are let in (E31.14)."""
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 4, "seats": 1},
        "cost": {"kind": "table", "seconds": {"1": 0.01}},
        "capacity_changes": [{"at": 0, "seats": 0}, {"at": 0.02, "seats": 1}],
        "requests": [
            {"id": name, "arrival": at, "prompt_tokens": 1, "output_tokens": 3, "deadline": deadline}
            for name, at, deadline in (("A", 0.001, None), ("B", 0.002, 0.052), ("C", 0.003, 0.073))
        ],
    }
    rows = {row["id"]: row for row in run(document).result["requests"]}
    assert (rows["B"]["outcome"], rows["B"]["reason"]) == ("rejected", "deadline")
    assert rows["C"]["outcome"] != "rejected"


def test_no_seat_to_the_end_of_the_observation_leaves_the_waiting_unfinished():
    """50 a second from 0, 10 ms each, no seat from 1 s on: those of the first second are done, the others wait."""
    found = run(
        {
            "schema": "labkit.scenario/1",
            "budget": {"tokens": 4, "seats": 1},
            "cost": {"kind": "table", "seconds": {"1": 0.01}},
            "capacity_changes": [{"at": 1, "live_at": 1, "seats": 0}],
            "until": 5,
            "arrivals": {
                "process": "fixed",
                "rate": 50,
                "count": 100,
                "prompt": {"kind": "fixed", "value": 1},
                "output": {"kind": "fixed", "value": 1},
            },
        }
    )
    summary = found.result["summary"]
    assert (summary["finished"], summary["unfinished"], summary["seconds"]) == (50, 50, 5.0)
