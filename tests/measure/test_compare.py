"""C31's fairness checker: what may stand side by side, and what is named where it may not."""

import copy

import pytest

import labkit
from labkit.measure.compare import Entrant, compared, shorter, unfair
from tests.measure.lines import HEADER, end, in_order, submit, tokens
from tests.measure.scenarios import COSTS

BASE = {
    "schema": "labkit.scenario/1",
    "budget": {"tokens": 64, "seats": 2},
    "policy": {},
    "cost": COSTS[0],
    "requests": [
        {"id": "A", "arrival": 0, "prompt_tokens": 4, "output_tokens": 3},
        {"id": "B", "arrival": 0.001, "prompt_tokens": 8, "output_tokens": 2, "prefix": [["s", 4]]},
    ],
}


def entrant(name, journal):
    out = Entrant(name)
    for event in journal:
        out.feed(event)
    return out


def ran(**changes):
    return entrant("x", labkit.run(copy.deepcopy(BASE) | changes).journal)


def request(place, **changes):
    requests = copy.deepcopy(BASE["requests"])
    requests[place] |= changes
    return {"requests": requests}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"policy": {"batching": "static"}}, []),
        ({"budget": {"tokens": 64, "seats": 1}}, []),
        ({"estimate": COSTS[1]}, []),
        ({"tenants": {"default": {"weight": 2}}}, []),
        ({"title": "another name"}, []),
        ({"cost": COSTS[0] | {"fixed": 0.005}}, ["cost.fixed"]),
        (request(0, arrival=0.002), ["requests[A].t"]),
        (request(0, prompt_tokens=5), ["requests[A].prompt_tokens"]),
        (request(1, max_output_tokens=3), ["requests[B].max_output_tokens"]),
        (request(0, tenant="red"), ["requests[A].tenant"]),
        (request(0, deadline=9), ["requests[A].deadline"]),
        (request(1, prefix=[["s", 2]]), ["requests[B].prefix"]),
        (request(0, network_seconds=0.1), ["requests[A].network_seconds"]),
        ({"until": 1}, ["until"]),
        ({"requests": BASE["requests"][:1]}, ["requests[B].submitted"]),
    ],
)
def test_what_differs_is_named(changes, fields):
    """C31: model and cost, arrivals, bounds and clients have to be the same; policy and budget are the subject."""
    found = [d.field for d in unfair(ran(), ran(**changes))]
    assert found == fields
    assert [d.field for d in unfair(ran(**changes), ran())] == fields


def test_lengths_that_a_file_sets_have_to_be_the_same():
    """C31: A answers 3 tokens or 2 under one bound of 3: named as a field and by the answers that came of it."""
    one, two = ran(**request(0, max_output_tokens=3)), ran(**request(0, max_output_tokens=3, output_tokens=2))
    assert [(d.field, d.first, d.second) for d in unfair(one, two)] == [
        ("requests[A].output_tokens", "3", "2"),
        ("requests[A].answer_tokens", "3", "2"),
    ]
    assert shorter(one, two) == (1, 1) and shorter(two, one) == (0, 0)


def test_a_cost_table_may_go_further_for_more_seats():
    """More seats need more sizes in the table; sizes that both have must cost the same."""

    def table(*seconds):
        sizes = {str(i): s for i, s in enumerate(seconds, 1)}
        return {"cost": {"kind": "table", "seconds": sizes}, "budget": {"tokens": 64, "seats": len(seconds)}}

    assert unfair(ran(**table(0.01, 0.012)), ran(**table(0.01, 0.012, 0.013))) == []
    found = unfair(ran(**table(0.01, 0.012)), ran(**table(0.01, 0.011, 0.013)))
    assert [d.field for d in found] == ["cost.seconds.2"]


def test_what_the_comparison_is_about():
    one, two = ran(), ran(policy={"batching": "static"}, budget={"tokens": 64, "seats": 1})
    assert [(d.field, d.first, d.second) for d in compared(one, two)] == [
        ("budget.seats", "2", "1"),
        ("policy.batching", "continuous", "static"),
    ]


def test_many_requests_that_differ_are_counted_not_listed():
    requests = [r | {"arrival": r["arrival"] + 1} for r in BASE["requests"]]
    [found] = unfair(ran(), ran(requests=requests))
    assert (found.field, found.more) == ("requests[A].t", 1)


def real(version, length, seed=1):
    header = HEADER | {
        "executor": {"kind": "torch", "model": {"name": "tiny"}, "dtype": version},
        "seed": seed,
    }
    out = [submit("A", 0), *tokens("A", *range(5, 5 + length)), end("finish", "A", 4 + length)]
    return entrant("x", [header, *in_order(out)])


def test_a_model_that_answers_shorter_is_no_speed_up():
    """C31: lengths that a model chose do not forbid the comparison: shorter answers are named."""
    assert unfair(real("float32", 6), real("float32", 2)) == []
    assert shorter(real("float32", 6), real("float32", 2)) == (1, 4)
    assert [d.field for d in unfair(real("float32", 6), real("bfloat16", 6))] == ["executor.dtype"]
    assert [d.field for d in unfair(real("float32", 6), real("float32", 6, seed=2))] == ["seed"]


def test_pages_of_a_real_model_are_a_budget():
    one, two = real("float32", 2), real("float32", 2)
    two.header = two.header | {"executor": two.header["executor"] | {"pages": 7}}
    assert unfair(one, two) == []


def test_a_closed_loop_sets_its_own_times():
    """C30: under one closed loop arrivals follow completions, so their times are a result, not a condition."""
    loop = {"users": 2, "think_seconds": 0, "count": 6, "seed": 3}
    lengths = {"prompt": {"kind": "fixed", "value": 4}, "output": {"kind": "fixed", "value": 3}}
    base = {key: value for key, value in BASE.items() if key != "requests"} | {"closed_loop": loop | lengths}
    runs = [labkit.run(base | {"budget": {"tokens": 64, "seats": seats}}).journal for seats in (1, 2)]
    one, two = (entrant("x", journal) for journal in runs)
    assert {a[0] for a in one.arrivals.values()} != {b[0] for b in two.arrivals.values()}
    assert unfair(one, two) == []
    assert one.planned == 6


def test_everyone_is_counted():
    """C31, Q31.12: planned, submitted, admitted and every outcome; who has not ended is unfinished, not gone."""
    run = labkit.run(BASE | request(1, cancel_at=0.002) | {"until": 0.006})
    counts = entrant("x", run.journal).counts
    assert (counts["planned"], counts["submitted"]) == (2, 2)
    summary = run.result["summary"]
    assert {k: counts[k] for k in ("finished", "cancelled", "unfinished", "failed")} == {
        k: summary[k] for k in ("finished", "cancelled", "unfinished", "failed")
    }
    assert counts["admitted"] == sum(r["first_execution"] is not None for r in run.result["requests"])


def test_a_trace_that_lies_elsewhere_is_the_same_load():
    one = labkit.run("small_trace").journal
    scenario = copy.deepcopy(one[0]["scenario"])
    scenario["trace"]["path"] = "elsewhere.csv"
    moved = [one[0] | {"scenario": scenario}, *one[1:]]
    assert unfair(entrant("x", one), entrant("y", moved)) == []
    scenario["trace"]["scale"] = 2
    assert [d.field for d in unfair(entrant("x", one), entrant("y", moved))] == ["trace.scale"]
