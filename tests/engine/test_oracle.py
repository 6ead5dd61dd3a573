"""The engine against an independent simulator (tests/oracle.py), written from the contract alone by someone else.

Equal to the field: every request, every round with its items, pages and queue, the summary. Notes are not compared.
"""

from __future__ import annotations

import json
import random

import pytest

from labkit.scenario import run
from tests import oracle


def cases(first: int, count: int):
    """Random scenarios that both sides read the same way, with the oracle's result."""
    for seed in range(first, first + count):
        scenario = oracle.random_scenario(random.Random(seed))
        budget, policy = scenario["budget"], scenario["policy"]
        if policy.get("preemption", "none") == "none":
            policy.pop("min_run_tokens", None)  # refused by the schema where nobody is preempted
        if "round_seconds" in budget:
            budget["round_seconds"] = budget["round_seconds"] or 0.01
            if policy.get("preemption") in ("swap", "cheapest"):
                # The engine spares a victim whose move to the host would break the round's limit; the oracle moves it.
                continue
        for request in scenario["requests"]:
            reader = request.get("reader", {})
            if (
                reader.get("patience_seconds") == 0
            ):  # at once, or at the next instant: the contract leaves it open
                reader["patience_seconds"] = 0.01
        yield seed, scenario


def differences(first: int, count: int) -> list[str]:
    compared, found = 0, []
    for seed, scenario in cases(first, count):
        mine = json.loads(json.dumps(run(scenario).result))
        world, want = oracle.simulated(scenario)
        if world.read_otherwise:
            # The engine plans on one state: hits are safe from the plan's own takings, and the credit that a request
            # leaves behind when it fails for want of pages is shared out afterwards. The oracle does both as it goes.
            continue
        for round_ in mine["rounds"]:
            round_["notes"] = []
        compared += 1
        if mine != want:
            first_off = next(
                (r["index"] for r, w in zip(mine["rounds"], want["rounds"], strict=False) if r != w), None
            )
            found.append(f"seed {seed}, first in round {first_off}")
    assert compared > count / 2, f"only {compared} of {count} scenarios could be compared"
    return found


@pytest.mark.parametrize("part", range(4))
def test_equal_to_the_oracle(part):
    assert differences(part * 100, 100) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_equal_to_the_oracle_on_many(part):
    assert differences(1000 + part * 1000, 1000) == []


def test_the_contracts_example():
    """scenario.md prints this result; the notes are empty there because nobody waits."""
    scenario = {
        "schema": "labkit.scenario/1",
        "title": "one request",
        "budget": {
            "tokens": 512,
            "seats": 2,
            "kv_bytes": 67108864,
            "page_tokens": 16,
            "bytes_per_token": 65536,
        },
        "policy": {"batching": "continuous", "admission": "reserve"},
        "cost": {"kind": "table", "seconds": {"1": 0.006, "2": 0.010}},
        "requests": [
            {"id": "A", "arrival": 0.0, "prompt_tokens": 64, "output_tokens": 2, "max_output_tokens": 4},
        ],
    }
    wanted = (
        '{"schema":"labkit.result/1","requests":[{"id":"A","outcome":"finished","reason":null,"arrival":0.0,'
        '"first_execution":0.0,"token_times":[0.006,0.012],"delivered_times":[0.006,0.012],"end":0.012,"ttft":0.006,'
        '"wait":0.0,"waits_total":0.0,"tpot":0.006,"itl_max":0.006,"computed_tokens":65,"cached_tokens":0,'
        '"recomputed_tokens":0,"preemptions":0}],"rounds":[{"index":0,"start":0.0,"seconds":0.006,"waiting":0,'
        '"pages_in_use":4,"pages_reserved":5,"items":[{"id":"A","phase":"prefill","new_tokens":64,"context":0}],'
        '"notes":[]},{"index":1,"start":0.006,"seconds":0.006,"waiting":0,"pages_in_use":5,"pages_reserved":5,'
        '"items":[{"id":"A","phase":"decode","new_tokens":1,"context":64}],"notes":[]}],"summary":{"submitted":1,'
        '"finished":1,"rejected":0,"cancelled":0,"expired":0,"failed":0,"unfinished":0,"seconds":0.012,'
        '"busy_seconds":0.012,"recompute_ratio":0.0}}'
    )
    assert json.dumps(run(scenario).result, separators=(",", ":")) == wanted
