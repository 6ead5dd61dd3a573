"""The torch executor round by round: in-flight inputs, stale results, the clock, swap copies, running out of memory."""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from labkit.core.errors import InputError
from labkit.core.plan import Plan, PlanItem
from labkit.core.types import Job, Request
from labkit.executors import torch_model
from labkit.executors.model import memory
from labkit.executors.model.sampling import Sampling
from labkit.executors.out_of_memory import OutOfMemory
from labkit.executors.torch_model import Ask, TorchExecutor
from tests.executors.plain_decoder import PlainDecoder, small
from tests.executors.torch_runs import bytes_of, events, outputs, pool, scenario, torch_run

LOADED = small()
PLAIN = PlainDecoder(LOADED)
PROMPTS = {"A": [3, 1, 4, 1, 5, 9], "B": [2, 7, 1]}
WANTED = {name: PLAIN.greedy(prompt, 6) for name, prompt in PROMPTS.items()}


class Driven:
    """An executor moved by hand, without a scheduler: each request has the pages that it will ever need."""

    def __init__(self) -> None:
        asks = {name: Ask(prompt, Sampling(), 6) for name, prompt in PROMPTS.items()}
        self.executor = TorchExecutor(LOADED, pages=8, page_tokens=4, asks=asks)
        for place, name in enumerate(PROMPTS):
            self.executor.submit(Job(Request(name, place, 0, len(PROMPTS[name]), 6)))
            self.admit(name, 0)
        self.served = dict.fromkeys(PROMPTS, 0)

    def admit(self, name, epoch):
        first = 4 * list(PROMPTS).index(name)
        record = {"event": "admit", "id": name, "epoch": epoch, "context": 0, "cached": 0, "shared": []}
        self.executor.follow(record)
        pages = [[page, 0] for page in range(first, first + 4)]
        self.executor.follow({"event": "pages", "id": name, "epoch": epoch, "pages": pages})

    def launch(self, *items):
        self.executor.launch(Plan(0, 0, tuple(PlanItem(*item) for item in items)))

    def step(self, *names):
        """Prompts whole in a request's first round, then decodes, whether or not the one before was collected."""
        items = []
        for name in names:
            length, done = len(PROMPTS[name]), self.served[name]
            new, context = (1, length + done - 1) if done else (length, 0)
            items.append((name, 0, new, context, not done, True))
            self.served[name] += 1
        self.launch(*items)

    def accept(self):
        result = self.executor.collect()
        for name, token in result.tokens.items():
            self.executor.follow({"event": "token", "id": name, "epoch": 0, "token": token.id, "index": 0})
        return {name: token.id for name, token in result.tokens.items()}, result


def test_inputs_in_flight_come_from_the_device():
    """Depth 2: round k + 1 is launched before round k is collected, with items in another order, and one more joins."""
    driven = Driven()
    got = {"A": [], "B": []}
    driven.step("A")
    for names in (("A",), ("B", "A"), ("A", "B"), ("B", "A"), ("B", "A"), ("B",), ("B",)):
        driven.step(*names)
        for name, token in driven.accept()[0].items():
            got[name].append(token)
    last, result = driven.accept()
    got["B"].append(last["B"])
    assert got == WANTED
    assert result.last == {"B"}


def test_stale_results_yield_nothing():
    """Law 5: a request preempted or ended while its round ran; the other one never notices."""
    driven = Driven()
    driven.step("A", "B")
    driven.accept()
    driven.step("A", "B")
    driven.step("A", "B")
    driven.executor.follow({"event": "preempt", "id": "A", "epoch": 0, "mode": "recompute", "for": "B"})
    driven.executor.follow({"event": "release", "id": "A", "epoch": 0, "pages": []})
    assert driven.accept()[0] == {"B": WANTED["B"][1]}
    driven.admit("A", 1)
    driven.launch(("A", 1, 7, 0, True, True), ("B", 0, 1, 5, False, True))
    assert driven.accept()[0] == {"B": WANTED["B"][2]}
    driven.executor.forget("B")
    assert driven.accept()[0] == {"A": WANTED["A"][1]}


# ------------------------------------------------------------------------------------------------ the clock


class Clock:
    """1 µs a position computed, in place of the real clock; the model itself makes it go on."""

    def __init__(self, model):
        self.model, self.now = model, 10**9
        self.parameters = model.parameters

    def __call__(self, batch, cache):
        self.now += 1000 * len(batch.tokens)
        return self.model(batch, cache)


@pytest.fixture
def clocked(monkeypatch):
    clock = Clock(LOADED.model)
    monkeypatch.setattr(torch_model, "time", SimpleNamespace(perf_counter_ns=lambda: clock.now))
    return dataclasses.replace(LOADED, model=clock)


def test_time_goes_on_by_what_rounds_take_and_idle_time_is_skipped(clocked):
    asked = [
        {"id": "A", "arrival": 0, "prompt": [1] * 7, "output_tokens": 2},
        {"id": "B", "arrival": 5, "prompt": [2] * 9, "output_tokens": 2, "prefilled": True},
        {"id": "C", "arrival": 5, "prompt": [3] * 5, "output_tokens": 1},
    ]
    from labkit.scenario import load, run
    from labkit.scenario.real import Joined

    started = time.monotonic()
    joined, executor = Joined(load(scenario(asked, {})), clocked).executor()
    done = run(joined, executor=executor)
    assert time.monotonic() - started < 5
    rounds = [(event["start"], event["t"] - event["start"]) for event in events(done, "round")]
    s = 5 * 10**9
    # B's prompt of 9 is computed, but not in a round's time: its first round is its decode and C's 5 positions.
    assert rounds == [(0, 7000), (7000, 1000), (s, 6000), (s + 6000, 1000)]


def test_rounds_launched_ahead_have_their_own_time(clocked, monkeypatch):
    monkeypatch.setattr(f"{__name__}.LOADED", clocked)
    driven = Driven()
    driven.step("A", "B")  # 9 positions
    driven.step("A", "B")
    assert driven.accept()[1].seconds_ns == 9000
    driven.step("B")
    assert driven.accept()[1].seconds_ns == 2000
    assert driven.accept()[1].seconds_ns == 1000


def test_a_round_in_flight_counts_from_the_end_of_the_one_before(clocked, monkeypatch):
    """As on a GPU: launching returns at once, and a round is over when its event says so."""
    monkeypatch.setattr(f"{__name__}.LOADED", clocked)
    driven = Driven()
    for started, ended in ((1000, 10_000), (2000, 13_000)):
        driven.step("A", "B")
        launched = driven.executor._running[-1]
        launched.started, launched.ended = started, None
        synchronize = partial(setattr, clocked.model, "now", ended)
        launched.event = SimpleNamespace(synchronize=synchronize)
    assert [driven.accept()[1].seconds_ns for _ in range(2)] == [9000, 3000]


# ------------------------------------------------------------------------------------------------ swap, memory


def executors(monkeypatch):
    """Every executor that a run makes."""
    made = []
    init = TorchExecutor.__init__

    def remembered(self, *arguments, **named):
        init(self, *arguments, **named)
        made.append(self)

    monkeypatch.setattr(TorchExecutor, "__init__", remembered)
    return made


@pytest.mark.parametrize("cancel_at", [None, 0.006])
def test_swapped_pages_are_let_go(monkeypatch, cancel_at):
    """A moves to the host for B; it comes back, or is cancelled there: either way nothing is left behind."""
    made = executors(monkeypatch)
    asked = [
        {"id": "A", "arrival": 0, "prompt": [1] * 9, "output_tokens": 8, "cancel_at": cancel_at},
        {"id": "B", "arrival": 0.0025, "priority": 1, "prompt": [2] * 9, "output_tokens": 8},
    ]
    policy = {"order": "priority", "preemption": "swap", "host_bytes": bytes_of(LOADED, 9)}
    done = torch_run(scenario(asked, {"seats": 1}, **policy), LOADED)
    assert [event["id"] for event in events(done, "swap_out")] == ["A"]
    assert len(events(done, "swap_in")) == (cancel_at is None)
    (executor,) = made
    assert (executor._swap.copies, executor._requests, executor.pages.moves) == ({}, {}, [])
    assert outputs(done)["A"] == PLAIN.greedy([1] * 9, 8)[: None if cancel_at is None else 3]


class FailsOnce(TorchExecutor):
    """The third round finds no memory the first time; what it leaves behind is looked at, then it is run again."""

    caught: OutOfMemory | None = None

    def launch(self, plan):
        if self.rounds != 2 or self.caught:
            super().launch(plan)
            return
        loaded, tables = self.loaded, {name: list(t) for name, t in self.pages.tables.items()}
        ids = {name: list(r.ids) for name, r in self._requests.items()}

        def no_memory(batch, cache):
            cache.kv[0].flatten(0, 1)[batch.slots] = 7.0  # it got as far as the first layer
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has …")

        self.loaded = SimpleNamespace(model=no_memory, config=loaded.config, tokenizer=None)
        with pytest.raises(OutOfMemory) as caught:
            super().launch(plan)
        FailsOnce.caught = caught.value
        self.loaded = loaded
        assert caught.value.plan is plan
        assert self.pages.tables == tables
        assert {name: list(r.ids) for name, r in self._requests.items()} == ids
        assert self.rounds == 2
        super().launch(plan)


def test_out_of_memory_is_one_line_with_the_plan_and_the_pool_intact(monkeypatch):
    monkeypatch.setattr(torch_model, "TorchExecutor", FailsOnce)
    FailsOnce.caught = None
    asked = [
        {"id": name, "arrival": 0, "prompt": prompt, "output_tokens": 6} for name, prompt in PROMPTS.items()
    ]
    policy = {"prefill_chunk": 2, "admission": "grow", "preemption": "recompute"}
    assert outputs(torch_run(scenario(asked, pool(LOADED, 6), **policy), LOADED)) == WANTED
    assert FailsOnce.caught is not None
    (line,) = FailsOnce.caught.problems
    for part in ("round 2 ", "2 items", "A 2 new after 4", "B 1 new after 3", "20.00 MiB", "budget.kv_bytes"):
        assert part in line, line


@pytest.mark.parametrize(
    "error",
    [RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried to "
                  "allocate 4096 bytes. Error code 12"), MemoryError()],
)  # fmt: skip
def test_memory_errors_of_a_cpu(error):
    driven = Driven()

    def no_memory(batch, cache):
        raise error

    driven.executor.loaded = SimpleNamespace(model=no_memory, config=LOADED.config, tokenizer=None)
    with pytest.raises(OutOfMemory, match="its tensors" if isinstance(error, MemoryError) else "4096 bytes"):
        driven.step("A")


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    driven = Driven()

    def broken(batch, cache):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    driven.executor.loaded = SimpleNamespace(model=broken, config=LOADED.config, tokenizer=None)
    with pytest.raises(RuntimeError, match="mat1"):
        driven.step("A")


def test_room_is_what_is_free_less_the_largest_round(monkeypatch):
    """N10 on a CPU: half of what is available, less an estimate that covers the tensors which a round holds at once."""
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    small_round = memory.Largest(tokens=8, seats=2, chunk=8, longest=32)
    large_round = memory.Largest(tokens=4096, seats=64, chunk=128, longest=128)
    left = {largest: memory.room(LOADED, largest, 16) for largest in (small_round, large_round)}
    assert left[large_round] < left[small_round] < 5 * 10**8
    config = LOADED.config
    logits, mlp = 64 * config.vocab * 8, 4096 * 3 * config.intermediate * 8
    assert 5 * 10**8 - left[large_round] > logits + mlp
    monkeypatch.setattr(memory, "available_memory", lambda: 10**6)
    with pytest.raises(InputError, match="4096 tokens in 64 seats"):
        memory.room(LOADED, large_round, 16)


def test_available_memory_is_this_machines():
    import os

    if hasattr(os, "sysconf"):
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert 0 < memory.available_memory() <= whole
