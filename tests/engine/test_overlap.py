"""Runs whose rounds overlap (pipeline depth 2): times by hand, an independent simulation, random faults.

Unless it says otherwise a round takes 10 ms.
"""

from __future__ import annotations

import copy
import random

import pytest

import labkit
from labkit.core.errors import InputError
from labkit.executors.costs import TableCost
from labkit.executors.virtual import VirtualExecutor
from labkit.measure.result import ResultFold
from labkit.scenario import run
from tests.engine.test_journal import audited
from tests.engine.test_oracle import cases

MS = 1_000_000
TIMED = ("deadline", "cancel_at", "fail_at", "reader")  # what makes the outcome depend on time


def scenario(faults: list[dict], **policy: object) -> dict:
    """A with five tokens; B, of two, comes at 5 ms and can join round 2 (0 and 1 are launched at 0)."""
    return {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 64, "seats": 2, "page_tokens": 4},
        "policy": {"pipeline_depth": 2, "lease_seconds": 0.05, **policy},
        "cost": {"kind": "table", "seconds": {"1": 0.01, "2": 0.01}},
        "requests": [
            {"id": "A", "arrival": 0, "prompt_tokens": 8, "output_tokens": 5},
            {"id": "B", "arrival": 0.005, "prompt_tokens": 8, "output_tokens": 2},
        ],
        "faults": faults,
    }


def times(result: dict) -> dict[str, list[float]]:
    return {row["id"]: row["token_times"] for row in result["requests"]}


def test_the_next_round_is_fixed_while_one_runs():
    found = run(scenario([]))
    assert times(found.result) == {"A": [0.01, 0.02, 0.03, 0.04, 0.05], "B": [0.03, 0.04]}
    planned = [(e["round"], e["t"] // MS) for e in found.journal[1:] if e["event"] == "plan" and e["items"]]
    assert planned == [(0, 0), (1, 0), (2, 10), (3, 20), (4, 30)]


def test_signals_that_come_in_another_order_settle_in_order():
    """Round 1 ends at 20 and says so at 45; round 2, fixed at 10, ends at 30 and waits for it. Then rounds 3 and 4."""
    found = run(scenario([{"round": 1, "late_seconds": 0.025}]))
    assert times(found.result) == {"A": [0.01, 0.045, 0.045, 0.055, 0.065], "B": [0.045, 0.055]}
    rounds = [e for e in found.journal[1:] if e["event"] == "round"]
    assert [(e["round"], e["start"] // MS, e.get("end", e["t"]) // MS, e["t"] // MS) for e in rounds] == [
        (0, 0, 10, 10), (1, 10, 20, 45), (2, 20, 30, 45), (3, 45, 55, 55), (4, 55, 65, 65),
    ]  # fmt: skip
    assert found.result["summary"]["busy_seconds"] == 0.05


@pytest.mark.parametrize("fault", [{"lost": True}, {"late_seconds": 0.051}])
def test_a_round_that_never_signals_is_computed_again_after_its_lease(fault: dict):
    """Round 1 is due at 20 and lost at 20 + 50 = 70. A has 1 token: it computes 9 positions again and yields token 2.

    Round 2, fixed at 10, holds A's next decode (stale now) and B's prompt: B's first token is at 70. Planned at 70, in
    rounds of 10: A's 9 positions beside B's decode, 80; then A's three decodes, 90, 100, 110.
    """
    found = run(scenario([{"round": 1, **fault}]))
    assert times(found.result) == {"A": [0.01, 0.08, 0.09, 0.1, 0.11], "B": [0.07, 0.08]}
    rows = {row["id"]: row for row in found.result["requests"]}
    assert (rows["A"]["preemptions"], rows["B"]["preemptions"]) == (1, 0)
    # 8 + 1 + 1 at first, 9 + 3 later; of the later 12, the 9 and the next were computed before.
    assert (rows["A"]["computed_tokens"], rows["A"]["recomputed_tokens"]) == (22, 10)
    assert [e["round"] for e in found.journal[1:] if e.get("lost")] == [1]


def test_faults_are_the_virtual_executor_s_alone():
    with pytest.raises(InputError, match="only the virtual executor can fail on purpose"):
        run(scenario([{"round": 0, "lost": True}]), executor=VirtualExecutor(TableCost({1: 1, 2: 1})))


def test_until_lets_what_is_launched_complete():
    """At 25 no more rounds are launched: 2, launched at 10, and 3, launched at 20, complete."""
    result = run(scenario([]) | {"until": 0.025}).result
    assert [row["index"] for row in result["rounds"]] == [0, 1, 2, 3]
    assert [row["outcome"] for row in result["requests"]] == ["unfinished", "finished"]


# ------------------------------------------------------------------------------------------------ faults at random


def faults(luck: random.Random, document: dict) -> list[dict]:
    """Some rounds and some first swap-outs, late within the lease, later than that, or never."""

    def fate() -> dict:
        return {"lost": True} if luck.random() < 0.5 else {"late_seconds": luck.choice([0.001, 0.05, 1])}

    found = [{"round": number} | fate() for number in sorted(luck.sample(range(12), luck.randint(1, 4)))]
    if document["policy"].get("preemption") in ("swap", "cheapest"):
        found += [{"swap": request["id"]} | fate() for request in document["requests"] if luck.random() < 0.6]
    return found


@pytest.mark.parametrize("part", range(4))
def test_random_scenarios_with_faults_keep_every_law_and_every_output(part: int):
    """All invariants after each round; the journal audited by itself; the same answers as at depth 1.

    Outputs are compared where nothing depends on time: no deadline, cancel, reader, full queue, end of observation, and
    nobody fails for want of pages.
    """
    compared = lost = retired = 0
    for seed, document in cases(part * 60, 60):
        luck = random.Random(seed)
        document.setdefault("policy", {})["pipeline_depth"] = 1
        alone = copy.deepcopy(document)
        document["policy"] |= {"pipeline_depth": 2, "lease_seconds": luck.choice([0.001, 0.02, 0.3])}
        document["faults"] = faults(luck, document) if luck.random() < 0.7 else []
        found = run(document)
        audited(found.journal)
        assert ResultFold().feed_all(found.journal[1:]).result() == found.result
        lost += sum("lost" in event for event in found.journal)
        retired += sum(event.get("event") == "retire" for event in found.journal)
        free = document["policy"].get("max_queue") is None and document.get("until") is None
        stays = document["policy"].get("preemption", "none") != "none"
        if free and stays and not any(r.get(k) is not None for r in document["requests"] for k in TIMED):
            one, two = run(alone).result, found.result
            answers = [
                [(r["id"], r["outcome"], len(r["token_times"])) for r in x["requests"]] for x in (one, two)
            ]
            assert answers[0] == answers[1], seed
            compared += 1
    assert min(compared, lost, retired) > 5


# ------------------------------------------------------------------------------------------------ another simulator


def simulated(document: dict) -> dict[str, tuple[int, list[int]]]:
    """End and token times in ms by the rules of depth 2 alone: fcfs, reserve, decodes first, no preemption, no faults.

    A round of n items takes `seconds[n]`. Whoever doesn't fit keeps all behind it out (`max_bypass` 0).
    """
    budget, cost = document["budget"], document["cost"]["seconds"]
    size, chunk = budget["page_tokens"], document["policy"]["prefill_chunk"]
    free = budget["kv_bytes"] // (size * budget["bytes_per_token"])
    asked = {r["id"]: r for r in document["requests"]}
    come_at = {name: round(request["arrival"] * 1000) for name, request in asked.items()}
    come = sorted(asked, key=come_at.__getitem__)
    waiting, active = [], []  # in order of arrival
    at, tokens, ends = dict.fromkeys(asked, 0), {name: [] for name in asked}, {}  # positions fixed so far
    pending = dict.fromkeys(asked, 0)  # tokens of rounds in flight
    flight: list[tuple[int, list[tuple[str, int, bool]]]] = []  # (planned at, items), oldest first
    returned = {}  # pages that come back with a round, by what it holds
    end_of_first = None
    now = 0

    def bound_pages(name: str) -> int:
        return -(-(asked[name]["prompt_tokens"] + asked[name]["max_output_tokens"]) // size)

    def plan() -> list[tuple[str, int, bool]]:
        nonlocal free
        left, items = budget["tokens"], []
        for name in active:
            prompt, told = asked[name]["prompt_tokens"], len(tokens[name]) + pending[name]
            if at[name] >= prompt and told < asked[name]["max_output_tokens"] and left:
                items.append((name, 1, True))
                left -= 1
        for name in [*active, *waiting]:
            prompt = asked[name]["prompt_tokens"]
            if at[name] >= prompt or not left:
                continue
            if name not in active:
                if len(active) == budget["seats"] or bound_pages(name) > free:
                    break
                free -= bound_pages(name)
                active.append(name)
            step = min(prompt - at[name], chunk, left)
            items.append((name, step, at[name] + step == prompt))
            left -= step
        waiting[:] = [name for name in waiting if name not in active]
        for name, step, yields in items:
            at[name] += step
            pending[name] += yields
        return items

    while len(ends) < len(asked):
        if flight and end_of_first == now:
            _, items = flight.pop(0)
            free += returned.pop(id(items), 0)
            for name, _, yields in items:
                if yields and name not in ends:
                    tokens[name].append(now)
                    pending[name] -= 1
                    if len(tokens[name]) == asked[name]["output_tokens"]:
                        ends[name] = now
                        active.remove(name)
                        held = -(-at[name] // size)
                        free += bound_pages(name)
                        for _, later in flight:  # at most one
                            if any(other == name for other, _, _ in later):
                                free -= held
                                returned[id(later)] = returned.get(id(later), 0) + held
            end_of_first = None
        waiting += [name for name in come if come_at[name] == now]
        while len(flight) < 2 and (items := plan()):
            flight.append((now, items))
        if flight and end_of_first is None:
            end_of_first = now + round(cost[str(len(flight[0][1]))] * 1000)
        coming = [at_ms for at_ms in come_at.values() if at_ms > now]
        now = min([*coming, *([end_of_first] if flight else [])], default=now)
    return {name: (ends[name], tokens[name]) for name in asked}


@pytest.mark.parametrize("part", range(3))
def test_equal_to_another_simulation(part: int):
    wasted = 0
    for seed in range(part * 100, part * 100 + 100):
        luck = random.Random(seed)
        seats = luck.randint(1, 4)
        lengths = [
            (luck.randint(1, 14), luck.randint(1, 5), luck.randint(0, 3)) for _ in range(luck.randint(1, 7))
        ]
        document = {
            "schema": "labkit.scenario/1",
            "budget": {
                "tokens": luck.randint(4, 16), "seats": seats, "kv_bytes": luck.randint(6, 12) * 4096,
                "page_tokens": 4, "bytes_per_token": 1024,
            },
            "policy": {"pipeline_depth": 2, "max_bypass": 0, "prefill_chunk": luck.randint(1, 8)},
            "cost": {"kind": "table", "seconds": {str(n): (5 + 2 * n) / 1000 for n in range(1, seats + 1)}},
            "requests": [
                {
                    "id": f"r{place}", "arrival": place * luck.choice([0, 3, 12]) / 1000, "prompt_tokens": prompt,
                    "output_tokens": output, "max_output_tokens": output + more,
                }
                for place, (prompt, output, more) in enumerate(lengths)
            ],
        }  # fmt: skip
        found = run(document)
        got = {
            row["id"]: (round(row["end"] * 1000), [round(t * 1000) for t in row["token_times"]])
            for row in found.result["requests"]
        }
        assert got == simulated(document), seed
        wasted += sum(event.get("event") == "retire" for event in found.journal)
    assert wasted > 100, "pages were held back"


def test_the_library_s_depth_1_scenarios_give_the_same_answers_at_depth_2():
    """Who finishes and with how many tokens, wherever time decides nothing."""
    for name in (
        "x1_continuous",
        "x2_pair",
        "case03_half_prompts",
        "case05_swap_full",
        "case08_recompute_is_no_hit",
    ):
        document = labkit.load(name).document()
        one = run(document).result
        document["policy"]["pipeline_depth"] = 2
        two = run(document).result
        assert [(r["id"], r["outcome"], len(r["token_times"])) for r in one["requests"]] == [
            (r["id"], r["outcome"], len(r["token_times"])) for r in two["requests"]
        ]
