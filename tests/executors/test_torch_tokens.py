"""C12 on the real model: the same tokens whatever the schedule, against one whole forward a token without a cache."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.executors.model.sampling import Sampling, sample
from tests.executors.plain_decoder import SMALL, PlainDecoder, small
from tests.executors.torch_runs import bytes_of, events, outputs, pool, scenario, torch_run

DEPTHS = [1, 2]
LOADED = small()
PLAIN = PlainDecoder(LOADED)
PROMPTS = {"A": list(range(3, 40)), "B": [90, 4, 4, 7, 61], "C": [5] * 18, "D": list(range(80, 59, -1))}
COUNTS = {"A": 9, "B": 14, "C": 6, "D": 11}
WANTED = {name: PLAIN.greedy(prompt, COUNTS[name]) for name, prompt in PROMPTS.items()}


def requests(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": name, "arrival": 0, "prompt": prompt, "output_tokens": COUNTS[name]} | changes.get(name, {})
        for name, prompt in PROMPTS.items()
    ]


def test_the_plain_decoder_tells_requests_apart():
    """The reference would hide faults if all requests said the same, or one token for ever."""
    assert len({tuple(tokens[:5]) for tokens in WANTED.values()}) == 4
    assert all(len(set(tokens)) > 3 for tokens in WANTED.values())


def test_alone():
    for request in requests():
        assert outputs(torch_run(scenario([request], {}), LOADED)) == {request["id"]: WANTED[request["id"]]}


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("chunk", [None, 1, 3, 16, 17])
def test_batched_in_chunks(chunk, depth):
    """All four at once; A's prompt of 37 takes ⌈37/chunk⌉ rounds."""
    done = torch_run(scenario(requests(), {"tokens": 96}, prefill_chunk=chunk, pipeline_depth=depth), LOADED)
    assert outputs(done) == WANTED
    mine = [item for event in events(done, "plan") for item in event["items"] if item[0] == "A"]
    assert sum(item[3] == "prefill" for item in mine) == -(-37 // (chunk or 37))
    assert max(len(event["items"]) for event in events(done, "plan")) == 4


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("mode", ["recompute", "swap"])
def test_preempted_and_back(mode, depth):
    """17 pages of 4 for four requests that would need 12 + 5 + 6 + 8: someone has to give way."""
    policy = {"admission": "grow", "preemption": mode, "prefill_chunk": 5, "pipeline_depth": depth}
    if mode == "swap":
        policy["host_bytes"] = bytes_of(LOADED, 64)
    done = torch_run(scenario(requests(), pool(LOADED, 17), **policy), LOADED)
    assert outputs(done) == WANTED
    assert {event["mode"] for event in events(done, "preempt")} == {mode}
    swaps = len(events(done, "preempt")) if mode == "swap" else 0
    assert len(events(done, "swap_in")) == len(events(done, "swap_out")) == swaps


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("mode", ["recompute", "swap"])
def test_preempted_in_the_middle_of_a_prompt(mode, depth):
    """A of priority 0 has computed a part of its 37 positions when B to D of priority 1 arrive and take both seats."""
    late = {"arrival": 0.0025, "priority": 1}
    policy: dict[str, Any] = {
        "order": "priority",
        "preemption": mode,
        "prefill_chunk": 5,
        "pipeline_depth": depth,
    }
    if mode == "swap":
        policy["host_bytes"] = bytes_of(LOADED, 64)
    done = torch_run(scenario(requests(B=late, C=late, D=late), {"seats": 2}, **policy), LOADED)
    assert outputs(done) == WANTED
    (first, *_) = events(done, "preempt")
    assert (first["id"], first["mode"]) == ("A", mode)
    seen = [e for e in events(done, "token") if e["id"] == "A" and e["t"] <= first["t"]]
    ran = [item for event in events(done, "plan") for item in event["items"] if item[0] == "A"]
    assert not seen and ran[0][1] == 5


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("preemption", ["none", "recompute"])
def test_a_shared_prefix(preemption, depth):
    """E and F begin with the same 24 tokens, whose pages F finds in the cache; G has another tenant and finds none."""
    system = PROMPTS["A"][:24]
    asked = [
        {"id": name, "arrival": at, "prompt": system + rest, "output_tokens": 8, "tenant": who}
        | {"prefix": [["system", 24]]}
        for name, at, rest, who in (("E", 0, [1, 2], "x"), ("F", 0.003, [9], "x"), ("G", 0.003, [1, 2], "y"))
    ]
    policy = {"prefix_sharing": True, "admission": "grow", "preemption": preemption, "pipeline_depth": depth}
    pages = {"none": 40, "recompute": 16}[preemption]
    done = torch_run(scenario(asked, pool(LOADED, pages), **policy), LOADED)
    assert outputs(done) == {r["id"]: PLAIN.greedy(r["prompt"], 8) for r in asked}
    cached = {row["id"]: row["cached_tokens"] for row in done.result["requests"]}
    assert cached == {"E": 0, "F": 24, "G": 0}
    if preemption == "recompute":
        assert events(done, "preempt")


@pytest.mark.parametrize("order", ["fcfs", "sjf", "edf", "priority", "credit"])
@pytest.mark.parametrize("phase", ["decode_first", "prefill_first", "shared"])
def test_every_order(order, phase):
    late = {"priority": 3, "arrival": 0.002}
    asked = requests(A={"tenant": "x", "deadline": 9}, B=late, C={"priority": 1, "deadline": 5})
    shares = {"min_prefill_share": 0.5, "min_decode_share": 0.25} if phase == "shared" else {}
    budget = {"tokens": 11, "seats": 3}
    done = torch_run(scenario(asked, budget, order=order, phase=phase, prefill_chunk=7, **shares), LOADED)
    assert outputs(done) == WANTED


@pytest.mark.parametrize("batching", ["static", "continuous"])
def test_static_batches(batching):
    done = torch_run(scenario(requests(), {"seats": 2}, batching=batching), LOADED)
    assert outputs(done) == WANTED


def test_a_prefilled_prompt():
    """Its prompt costs no round; the first decode's input is the token that followed the prompt, which is no output."""
    done = torch_run(scenario(requests(A={"prefilled": True}, C={"prefilled": True}), {"seats": 3}), LOADED)
    longer = {name: PLAIN.greedy(PROMPTS[name], COUNTS[name] + 1)[1:] for name in ("A", "C")}
    assert outputs(done) == WANTED | longer
    computed = {row["id"]: row["computed_tokens"] for row in done.result["requests"]}
    assert computed == {"A": 9, "B": 5 + 13, "C": 6, "D": 21 + 10}


def test_a_prefilled_prompt_is_computed_again_after_a_preemption():
    late = {"arrival": 0.0025, "priority": 1}
    asked = requests(A={"prefilled": True}, B=late, C=late, D=late)
    done = torch_run(scenario(asked, {"seats": 1}, order="priority", preemption="recompute"), LOADED)
    assert outputs(done) == WANTED | {"A": PLAIN.greedy(PROMPTS["A"], 10)[1:]}
    assert events(done, "preempt")[0]["id"] == "A"


def test_a_prefilled_prompt_is_written_after_its_pages_have_left_for_the_host():
    """B takes the very pages that A is swapped out of: 5 are all there are, and each needs 5 for 18 positions."""
    asked = requests(C={"output_tokens": 2}, D={})[1:3]
    asked[0] |= {"prompt": PROMPTS["D"][:9], "output_tokens": 9}
    asked[1] |= {"arrival": 0.0035, "priority": 1, "prefilled": True}
    policy = {"order": "priority", "preemption": "swap", "host_bytes": bytes_of(LOADED, 5)}
    done = torch_run(scenario(asked, pool(LOADED, 5) | {"seats": 1}, **policy), LOADED)
    assert [event["id"] for event in events(done, "swap_in")] == ["B"]
    wanted = {"B": PLAIN.greedy(PROMPTS["D"][:9], 9), "C": PLAIN.greedy(PROMPTS["C"], 3)[1:]}
    assert outputs(done) == wanted


# ------------------------------------------------------------------------------------------------ sampling, ends


SAMPLINGS = [
    {"temperature": 1.5, "seed": 3},
    {"temperature": 0.8, "top_k": 5, "seed": 4},
    {"temperature": 2, "top_p": 0.7, "seed": 5},
    {"temperature": 1, "top_k": 20, "top_p": 0.9, "seed": 6},
]


def drawn(prompt: list[int], given: dict[str, Any], count: int) -> list[int]:
    """One request alone, from whole forwards."""
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(sample(PLAIN.logits(ids)[None], [Sampling(**given)], [len(ids)])))
    return ids[len(prompt) :]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("preemption", ["none", "recompute", "swap"])
def test_sampled_tokens_depend_on_nobody_else(preemption, depth):
    asked = requests(**{name: {"sampling": given} for name, given in zip("ABCD", SAMPLINGS, strict=True)})
    policy = {"admission": "grow", "preemption": preemption, "prefill_chunk": 3, "pipeline_depth": depth}
    if preemption == "swap":
        policy["host_bytes"] = bytes_of(LOADED, 64)
    pages = 64 if preemption == "none" else 17
    done = torch_run(scenario(asked, pool(LOADED, pages), **policy), LOADED)
    wanted = {r["id"]: drawn(r["prompt"], r["sampling"], r["output_tokens"]) for r in asked}
    assert outputs(done) == wanted
    assert wanted != WANTED
    assert bool(events(done, "preempt")) == (preemption != "none")


def test_a_request_without_a_seed_has_one_of_its_own():
    same = {"arrival": 0, "prompt": [7, 8, 9], "output_tokens": 12, "sampling": {"temperature": 3}}
    asked = [{"id": name} | same for name in "PQ"]
    one = outputs(torch_run(scenario(asked, {}), LOADED))
    two = outputs(torch_run(scenario(asked[::-1], {"seats": 1}), LOADED))
    assert one == two
    assert one["P"] != one["Q"]
    assert outputs(torch_run(scenario(asked, {}) | {"seed": 1}, LOADED)) != one


@pytest.mark.parametrize("depth", DEPTHS)
def test_ends(depth):
    """A stop id ends an answer with itself, wherever it first comes; at once, where it comes first."""
    asked, wanted = [], {}
    for name, at in (("A", 4), ("B", 0), ("C", 2)):
        stop = WANTED[name][at]
        free = {"max_output_tokens": COUNTS[name], "sampling": {"stop": [stop, 96]}}
        asked.append({"id": name, "arrival": 0, "prompt": PROMPTS[name]} | free)
        wanted[name] = WANTED[name][: WANTED[name].index(stop) + 1]
    asked.append({"id": "D", "arrival": 0, "prompt": PROMPTS["D"], "max_output_tokens": COUNTS["D"]})
    done = torch_run(scenario(asked, {"seats": 2}, pipeline_depth=depth), LOADED)
    assert outputs(done) == wanted | {"D": WANTED["D"]}
    assert len(wanted["B"]) == 1
    assert {row["outcome"] for row in done.result["requests"]} == {"finished"}


def test_end_of_sequence_ends_what_has_no_length():
    """The same end of sequence is just a token where `output_tokens` fixes the length."""
    ending = WANTED["A"][3]
    loaded = dataclasses.replace(LOADED, config=dataclasses.replace(SMALL, eos_ids=(ending,)))
    free = {"id": "free", "arrival": 0, "prompt": PROMPTS["A"], "max_output_tokens": 9}
    fixed = {"id": "fixed", "arrival": 0, "prompt": PROMPTS["A"], "output_tokens": 9, "max_output_tokens": 7}
    tokens = outputs(torch_run(scenario([free, fixed], {}), loaded))
    assert tokens["free"] == WANTED["A"][: WANTED["A"].index(ending) + 1]
    assert tokens["fixed"] == WANTED["A"][:7]


# ------------------------------------------------------------------------------------------------ float32


def test_float32_agrees_wherever_the_top_two_are_apart():
    """Two logits that differ by more than twice the largest error of either cannot change places (C12).

    The error is measured, float32 against float64 over the very positions, and doubled for the ways in which another
    batch may add up. From the first position that may differ on, a request is no longer compared.
    """
    single = small(torch.float32)
    plain = PlainDecoder(LOADED, torch.float32)
    error, gaps = 0.0, {}
    for name, prompt in PROMPTS.items():
        for step in range(COUNTS[name]):
            ids = prompt + WANTED[name][:step]
            exact = PLAIN.logits(ids)
            error = max(error, float((plain.logits(ids).double() - exact).abs().max()))
            top = exact.topk(2).values
            gaps[name, step] = float(top[0] - top[1])
    bound = 2 * 2 * error
    apart = [place for place, gap in gaps.items() if gap > bound]
    print(f"error {error:.2e}, bound {bound:.2e}: {len(apart)} of {len(gaps)} positions qualify")
    assert 0 < error < 1e-4
    assert len(apart) > 0.9 * len(gaps)
    schedules = ((None, "none", 64), (3, "recompute", 17), (17, "none", 64), (1, "recompute", 17))
    for chunk, preemption, pages in schedules:
        policy = {"admission": "grow", "preemption": preemption, "prefill_chunk": chunk}
        tokens = outputs(torch_run(scenario(requests(), pool(single, pages), **policy), single))
        for name, wanted in WANTED.items():
            for step, token in enumerate(wanted):
                if gaps[name, step] <= bound and tokens[name][step] != token:
                    break
                assert tokens[name][step] == token, (name, step)


# ------------------------------------------------------------------------------------------------ random scenarios


@st.composite
def documents(draw) -> dict[str, Any]:
    """Any policy over a few short requests: prefixes, priorities, deadlines, cancellations, failures, readers."""
    batching = draw(st.sampled_from(["continuous", "continuous", "static"]))
    preemption = draw(st.sampled_from(["none", "recompute", "swap", "cheapest"]))
    policy: dict[str, Any] = {
        "batching": batching,
        "admission": draw(st.sampled_from(["reserve", "grow"])),
        "preemption": preemption,
        "order": draw(st.sampled_from(["fcfs", "sjf", "edf", "priority", "credit"])),
        "phase": draw(st.sampled_from(["decode_first", "prefill_first"])),
        "prefill_chunk": draw(st.sampled_from([None, 1, 2, 3, 5, 16])),
        "prefix_sharing": draw(st.booleans()),
        "pipeline_depth": draw(st.sampled_from(DEPTHS)),
        "max_queue": draw(st.sampled_from([None, None, 3])),
    }
    page = draw(st.integers(1, 5))
    if preemption in ("swap", "cheapest"):
        policy["host_bytes"] = bytes_of(LOADED, draw(st.integers(1, 20)), page)
    runs = [["s", draw(st.integers(1, 9))], ["t", draw(st.integers(1, 4))]]
    asked = []
    for index in range(draw(st.integers(1, 6))):
        prefix = runs[: draw(st.integers(0, 2))]
        least = sum(length for _, length in prefix)
        at = draw(st.integers(0, 12))
        request: dict[str, Any] = {
            "id": f"r{index}",
            "arrival": at / 1000,
            "prompt_tokens": least + draw(st.integers(1, 10)),
            "max_output_tokens": draw(st.integers(1, 8)),
            "prefix": prefix,
            "priority": draw(st.integers(0, 2)),
            "tenant": draw(st.sampled_from(["x", "y"])),
            "prefilled": draw(st.integers(0, 5)) == 0,
        }
        if draw(st.booleans()):
            request["output_tokens"] = draw(st.integers(1, 8))
        else:
            request["sampling"] = {"stop": draw(st.lists(st.integers(0, 96), max_size=12, unique=True))}
        if draw(st.integers(0, 3)) == 0:
            request["cancel_at"] = (at + draw(st.integers(1, 20))) / 1000
        if draw(st.integers(0, 5)) == 0:
            request["fail_at"] = (at + draw(st.integers(1, 20))) / 1000
        if draw(st.integers(0, 3)) == 0:
            request["deadline"] = (at + draw(st.integers(5, 40))) / 1000
        if draw(st.integers(0, 4)) == 0:
            request["reader"] = {"tokens_per_second": 300, "buffer_tokens": draw(st.integers(1, 3))}
        asked.append(request)
    budget = {
        "tokens": draw(st.integers(1, 24)),
        "seats": draw(st.integers(1, 4)),
        "page_tokens": page,
        **pool(LOADED, draw(st.integers(2, 30)), page),
    }
    return scenario(asked, budget, **policy)


def check_against_the_plain_decoder(document: dict[str, Any]) -> None:
    from labkit.executors.drawn import drawn_prompt

    done = torch_run(document, LOADED)
    tokens = outputs(done)
    rows = {row["id"]: row for row in done.result["requests"]}
    for request in document["requests"]:
        row = rows[request["id"]]
        prompt = drawn_prompt(0, request["id"], request["prefix"], request["prompt_tokens"], SMALL.vocab)
        bound = min(request.get("output_tokens", 99), request["max_output_tokens"])
        skipped = 1 if request["prefilled"] else 0
        wanted = PLAIN.greedy(prompt, bound + skipped)[skipped:]
        stops = request.get("sampling", {}).get("stop", [])
        ends = [at for at, token in enumerate(wanted) if token in stops]
        wanted = wanted[: ends[0] + 1] if ends else wanted
        got = tokens[request["id"]]
        assert got == wanted[: len(got)]
        if row["outcome"] == "finished":
            assert got == wanted
        assert len(row["token_times"]) == len(got)


@settings(max_examples=40)
@given(documents())
def test_random_scenarios(document):
    check_against_the_plain_decoder(document)


@pytest.mark.long
@settings(max_examples=1000)
@given(documents())
def test_many_random_scenarios(document):
    check_against_the_plain_decoder(document)
