"""Random lives of random schedulers: after every event all laws hold (tests/core/world.py says which)."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from labkit.core.types import Budget, Outcome, Policy, Tenant
from tests.core.world import MS, World

BUDGETS = st.builds(
    Budget,
    tokens=st.integers(1, 24),
    seats=st.integers(1, 4),
    pages=st.none() | st.integers(2, 9),
    page_tokens=st.sampled_from([1, 2, 4]),
    page_bytes=st.just(1024),
    host_pages=st.integers(0, 6),
    round_ns=st.none() | st.integers(3, 20).map(lambda ms: ms * MS),
)
CHAINS = ("output", "active", "queue", "entry")


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Any policy that the scenario schema lets through."""
    return Policy(
        batching=draw(st.sampled_from(["continuous", "continuous", "static"])),
        batch_window_ns=draw(st.sampled_from([0, 15 * MS])),
        static_finished=draw(st.sampled_from(["stop", "compute"])),
        order=draw(st.sampled_from(["fcfs", "sjf", "edf", "priority", "credit"])),
        aging_ns=draw(st.none() | st.sampled_from([0, 25 * MS])),
        charge=draw(st.sampled_from(["tokens", "requests", "cost"])),
        phase=draw(st.sampled_from(["decode_first", "prefill_first", "shared"])),
        min_prefill_share=draw(st.sampled_from([Fraction(0), Fraction(1, 4)])),
        min_decode_share=draw(st.sampled_from([Fraction(0), Fraction(1, 2)])),
        prefill_chunk=draw(st.none() | st.integers(1, 8)),
        max_bypass=draw(st.none() | st.integers(0, 3)),
        admission=draw(st.sampled_from(["reserve", "grow"])),
        preemption=draw(st.sampled_from(["none", "recompute", "swap", "cheapest"])),
        min_run_tokens=draw(st.integers(1, 4)),
        max_queue=draw(st.none() | st.integers(0, 4)),
        prefix_sharing=draw(st.booleans()),
        pipeline_depth=draw(st.sampled_from([1, 2])),
        backpressure=frozenset(draw(st.sets(st.sampled_from(CHAINS))) | {"output"}),
    )


REQUESTS = st.fixed_dictionaries(
    {
        "prompt": st.integers(1, 14),
        "bound": st.integers(1, 8),
        "tenant": st.sampled_from(["a", "b", "c"]),
        "priority": st.integers(0, 2),
        "deadline_ns": st.none() | st.integers(1, 300).map(lambda ms: ms * MS),
        "prefilled": st.booleans(),
        "prefix": st.sampled_from([(), (("s", 4),), (("s", 6), ("t", 2)), (("s", 8),)]),
    }
)
TENANTS = {"a": Tenant(Fraction(1), Fraction(8)), "b": Tenant(Fraction(5, 2), Fraction(8))}


class Scheduler(RuleBasedStateMachine):
    """Arrivals, ends, pauses, changes of capacity and rounds in any order."""

    @initialize(budget=BUDGETS, policy=policies())
    def begin(self, budget: Budget, policy: Policy) -> None:
        self.world = World(budget, policy, TENANTS)
        self.count = 0

    def _pick(self, which: int) -> str | None:
        live = list(self.world.state.live)
        return live[which % len(live)] if live else None

    @rule(request=REQUESTS)
    def arrive(self, request: dict) -> None:
        self.count += 1
        name = f"r{self.count}"
        length = sum(run[1] for run in request["prefix"])
        prompt, bound = max(request.pop("prompt"), length), request.pop("bound")
        self.world.arrive(name, prompt, bound, **request)

    @rule(
        which=st.integers(0, 9), outcome=st.sampled_from([Outcome.CANCELLED, Outcome.EXPIRED, Outcome.FAILED])
    )
    def end(self, which: int, outcome: Outcome) -> None:
        name = self._pick(which)
        if name:
            self.world.end(name, outcome)
            self.world.end(name, outcome)  # a repeated cancel reads what was decided

    @rule(which=st.integers(0, 9), paused=st.booleans())
    def pause(self, which: int, paused: bool) -> None:
        name = self._pick(which)
        if name:
            self.world.pause(name, paused)

    @rule(seats=st.integers(1, 5))
    def capacity(self, seats: int) -> None:
        self.world.seats(seats)

    @precondition(lambda self: self.world.may_plan)
    @rule()
    def plan(self) -> None:
        self.world.plan_round()

    @precondition(lambda self: self.world.plan is not None)
    @rule(last=st.sets(st.integers(0, 3)))
    def end_round(self, last: set[int]) -> None:
        items = self.world.plan.items
        self.world.end_round(
            frozenset(item.id for at, item in enumerate(items) if at in last and item.yields)
        )

    @precondition(lambda self: self.world.plan is not None and self.world.depth > 1)
    @rule()
    def lose_round(self) -> None:
        self.world.end_round(lost=True)

    @precondition(lambda self: self.world.swaps)
    @rule(which=st.integers(0, 3), lost=st.booleans())
    def end_swap(self, which: int, lost: bool) -> None:
        self.world.end_swap(self.world.swaps[which % len(self.world.swaps)], lost)

    @rule(rounds=st.integers(1, 6))
    def several(self, rounds: int) -> None:
        for _ in range(rounds):
            while self.world.may_plan and self.world.state.runs(self.world.plan_round()):
                pass
            if self.world.plan is not None:
                self.world.end_round()
            self.world.end_swaps()


Scheduler.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
TestScheduler = Scheduler.TestCase
