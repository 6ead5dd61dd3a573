"""Every scenario of the library gives the figures that were worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

import labkit.scenario
from labkit.scenario import run
from labkit.scenario.strict_json import dumps
from tests.scenario.expected import EXPECTED, Ms

NAMES = labkit.scenario.names()


def seconds(ms: Ms) -> float:
    """Milliseconds as the correctly rounded double of the exact seconds."""
    return float(Fraction(ms) / 1000)


def test_every_scenario_has_its_figures():
    assert sorted([*EXPECTED, "small_trace"]) == NAMES


@pytest.mark.parametrize("name", EXPECTED)
def test_figures(name: str):
    wanted = EXPECTED[name]
    result = run(name).result
    rows = {row["id"]: row for row in result["requests"]}
    assert {row["id"]: row["end"] for row in result["requests"]} == {
        k: seconds(v) for k, v in wanted.ends.items()
    }
    assert list(rows) == list(wanted.ends)
    for request_id, row in rows.items():
        assert (row["outcome"], row["reason"]) == wanted.outcomes.get(request_id, ("finished", None))
    if wanted.rounds is not None:
        assert [r["seconds"] for r in result["rounds"]] == [seconds(ms) for ms in wanted.rounds]
    if wanted.pages is not None:
        assert [r["pages_in_use"] for r in result["rounds"]] == wanted.pages
    if wanted.reserved is not None:
        assert [r["pages_reserved"] for r in result["rounds"]] == wanted.reserved
    for request_id, times in wanted.tokens.items():
        assert rows[request_id]["token_times"] == [seconds(ms) for ms in times]
    for field, values in {
        "computed_tokens": wanted.computed,
        "cached_tokens": wanted.cached,
        "recomputed_tokens": wanted.recomputed,
        "preemptions": wanted.preemptions,
    }.items():
        assert {k: rows[k][field] for k in values} == values
    assert {k: rows[k]["itl_max"] for k in wanted.gap} == {k: seconds(v) for k, v in wanted.gap.items()}
    if wanted.ratio is not None:
        assert result["summary"]["recompute_ratio"] == float(wanted.ratio)


@pytest.mark.parametrize("name", [name for name, wanted in EXPECTED.items() if wanted.mean is not None])
def test_means_are_exact_fractions(name: str):
    """100/3, 70/3, 62/3 ms: from the journal's integers, before anything is rounded."""
    ends = [event["t"] for event in run(name).journal[1:] if event["event"] == "finish"]
    assert Fraction(sum(ends), 1_000_000 * len(ends)) == EXPECTED[name].mean


def test_one_token_has_no_tpot():
    (row,) = run("case22_one_token").result["requests"]
    assert (row["tpot"], row["itl_max"], row["ttft"]) == (None, None, 0.01)


def test_no_token_is_delivered_after_a_cancellation():
    (slow, _) = run("case20_impatient").result["requests"]
    assert slow["delivered_times"] == []
    (a, _) = run("case11_cancel_after_last_chunk").result["requests"]
    assert a["token_times"] == a["delivered_times"] == []


def test_deliveries_of_the_slow_reader():
    (slow, fast) = run("case20_slow_reader").result["requests"]
    assert slow["delivered_times"] == [0.11, 0.21, 0.31, 0.41, 0.51, 0.61]
    assert fast["delivered_times"] == fast["token_times"]


def test_padded_members_are_priced_as_busy_seats():
    journal = run("x1_static_padded").journal
    assert [e["idle_seats"] for e in journal[1:] if e["event"] == "round"] == [0, 1, 1, 1, 0]


def test_the_swapped_one_holds_back_the_new_one():
    notes = {
        (note["id"], note["reason"]) for r in run("case05_swap_full").result["rounds"] for note in r["notes"]
    }
    assert ("D", "swapped") in notes


def test_small_trace_ends_every_request():
    result = run("small_trace").result
    summary = result["summary"]
    assert summary["submitted"] == summary["finished"] == 200
    assert [row["id"] for row in result["requests"]] == [f"r{i}" for i in range(200)]
    assert result["requests"][0]["arrival"] == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_raw_is_complete_and_loads_to_itself(name: str):
    scenario = labkit.scenario.load(name)
    again = labkit.scenario.load(dumps(scenario.raw).encode(), base=scenario.base)
    assert dumps(again.raw) == dumps(scenario.raw)
    assert scenario.title


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_are_equal(name: str):
    first, second = run(name), run(name, check=False)
    assert (first.journal, first.result) == (second.journal, second.result)
