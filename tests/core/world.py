"""A scheduler under a test's hands: every event of its life by a call, every law checked after each.

The checks here that are not `invariants.check` are written from the laws' text, not from the code.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections import Counter
from fractions import Fraction

from labkit.core import invariants
from labkit.core.decide import decide
from labkit.core.lifecycle import Status
from labkit.core.plan import Plan, Reason
from labkit.core.scheduler import (
    State,
    commit,
    end_early,
    finish_round,
    finish_swap,
    lose_round,
    pause,
    refresh_ages,
    set_seats,
    settle,
    shed,
    submit,
)
from labkit.core.types import Budget, Outcome, Policy, Request, Setup, Tenant
from labkit.executors.costs import LinearCost

MS = 1_000_000
_constant: dict[int, object] = {}  # what never changes stands in a frozen world by its identity
TERMINAL = {"finish", "reject", "cancel", "expire", "fail"}


def _thaw_constant(identity: int) -> object:
    return _constant[identity]


def _freeze_constant(value: object) -> tuple:
    _constant[id(value)] = value
    return _thaw_constant, (id(value),)


_by_identity = dict.fromkeys((Setup, Budget, Policy, Request, Tenant, LinearCost), _freeze_constant)


def freeze(value: object) -> bytes:
    """`value` and all that can change in it, as bytes: equal bytes mean that nothing has changed."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = copyreg.dispatch_table | _by_identity
    pickler.dump(value)
    return stream.getvalue()


def thaw(frozen: bytes) -> World:
    """A world of its own, as it was when it was frozen."""
    return pickle.loads(frozen)


def cost(**coefficients: int) -> LinearCost:
    """A linear cost in whole ms."""
    given = {"fixed": 2, "per_token": 1} | coefficients
    return LinearCost(**{name: Fraction(value * MS) for name, value in given.items()})


class World:
    """One state, its clock, and what a client has seen of it."""

    def __init__(self, budget: Budget, policy: Policy, tenants: dict[str, Tenant] | None = None) -> None:
        setup = Setup(budget, policy, tenants or {}, Fraction(budget.tokens))
        self.state = State(setup, cost())
        self.now = 0
        self.depth = policy.pipeline_depth
        self.touched: dict[
            object, set[tuple[int, int]]
        ] = {}  # pages that a round or swap in flight may touch
        self.carried: dict[tuple[str, int], int] = {}  # swaps, and the rounds that carry them
        self.tokens: Counter[str] = Counter()
        self.ends: dict[str, str] = {}
        self.reached: dict[str, int] = {}  # most positions a request ever had
        self.mark: dict[str, int] = {}  # that number at its last preemption
        self.place = 0
        self.published: set[tuple[int, int]] = set()

    @property
    def plan(self) -> Plan | None:
        """The round that runs."""
        return next(iter(self.state.in_flight.values()), None)

    @property
    def may_plan(self) -> bool:
        return len(self.state.in_flight) < self.depth

    @property
    def swaps(self) -> list[tuple[str, int]]:
        """Swap-outs whose completion may come: the rounds that carry them are over."""
        return [swap for swap, number in self.carried.items() if number not in self.state.in_flight]

    # ------------------------------------------------------------------------------------------------ events

    def arrive(self, name: str, prompt: int, bound: int, **more: object) -> None:
        request = Request(name, self.place, self.now, prompt, bound, **more)  # type: ignore[arg-type]
        self.place += 1
        self._saw(submit(self.state, request, self.now))

    def end(self, name: str, outcome: Outcome = Outcome.CANCELLED) -> None:
        self._saw(end_early(self.state, name, outcome, None, self.now))

    def pause(self, name: str, paused: bool) -> None:
        pause(self.state, name, paused)
        self._check()

    def seats(self, seats: int) -> None:
        set_seats(self.state, seats)
        self._check()

    def plan_round(self) -> Plan:
        """Decide and commit, unless the plan holds; fewer rounds than `pipeline_depth` may be in flight."""
        refresh_ages(self.state, self.now)
        before = freeze(self.state)
        plan = decide(self.state, self.now)
        assert freeze(self.state) == before, "law 3: decide changed the state"
        if plan.holds:
            assert self.plan is not None, "a plan holds, and there is nothing to wait for"
            self._saw(shed(self.state, self.now))
            return plan
        self._check_plan(plan)
        victims = {victim.id: self.state.live[victim.id] for victim in plan.victims}
        for name, seq in victims.items():
            self.mark[name] = max(self.mark.get(name, 0), seq.computed)
        number = self.state.rounds
        for victim in plan.victims:
            if victim.mode == "swap" and self.depth > 1:
                seq = victims[victim.id]
                self.carried[seq.id, seq.epoch] = number
                self.touched[seq.id, seq.epoch] = set(seq.table)
        leaving = [ref for name, refs in self.touched.items() if name in self.carried for ref in refs]
        self._saw(commit(self.state, plan))
        if number in self.state.in_flight:
            tables = (self.state.live[item.id].table for item in plan.items if item.id in self.state.live)
            self.touched[number] = {ref for table in tables for ref in table} | set(leaving)
        invariants.check_plan(self.state, plan)
        self._saw(shed(self.state, self.now))
        return plan

    def end_round(self, last: frozenset[str] = frozenset(), lost: bool = False) -> None:
        """The oldest round in flight ends; `last`: whose token was the last. `lost`: its signal never came."""
        assert self.plan is not None
        self.now += 10 * MS
        number = next(iter(self.state.in_flight))
        emitted = dict(self.tokens)
        if lost:
            records = lose_round(self.state, self.now)
            assert self.tokens == emitted, "N02: a lost round takes or gives no token"
        else:
            for item in self.plan.items:
                self.reached[item.id] = max(self.reached.get(item.id, 0), item.context + item.new_tokens)
            records = finish_round(self.state, self.now, 10 * MS, last)
        del self.touched[number]
        self._saw(records, check=False)
        self._saw(settle(self.state, self.now))

    def end_swap(self, swap: tuple[str, int], lost: bool = False) -> None:
        """A swap-out is complete, or its lease has run out; a second signal of it is ignored (law 5)."""
        del self.touched[swap], self.carried[swap]
        self._saw(finish_swap(self.state, *swap, self.now, lost))
        assert finish_swap(self.state, *swap, self.now) == [], "a late signal changed something"
        assert finish_swap(self.state, *swap, self.now, lost=True) == [], "a swap has two ends"
        seq = self.state.live.get(swap[0])
        fallen = seq is not None and (seq.status, seq.computed) == (Status.WAITING, 0)
        assert seq is None or fallen == lost, (
            "N02: what never got to the host is computed again, and only that"
        )

    def end_swaps(self) -> None:
        """All swap-outs whose rounds are over are complete."""
        for swap in self.swaps:
            self.end_swap(swap)

    # ------------------------------------------------------------------------------------------------ what must hold

    def _check(self) -> None:
        invariants.check(self.state)

    def _saw(self, records: list[dict], check: bool = True) -> None:
        for record in records:
            name = record.get("id")
            if record["event"] == "token":
                assert name not in self.ends, f"law 6: a token of {name} after its end"
                assert record["epoch"] == self.state.live[name].epoch, f"law 5: a stale token of {name}"
                self.tokens[name] += 1
                assert record["index"] == self.tokens[name], "law 7: each token once, in order"
            elif record["event"] in TERMINAL:
                assert name not in self.ends, f"law 6: {name} ends twice"
                self.ends[name] = record["event"]
            elif record["event"] == "pages":
                for ref in record["pages"]:
                    held = [
                        step for step, refs in self.touched.items() if ref[0] in {page for page, _ in refs}
                    ]
                    assert not held, f"law 5: page {ref[0]} is handed on while {held} may touch it"
            elif record["event"] == "admit":
                assert not [key for key in self.carried if key[0] == name], (
                    f"{name} is back before its pages left"
                )
                assert name not in self.ends, f"law 6: {name} comes back to life"
                for ref in record["shared"]:
                    assert tuple(ref) in self.published, (
                        "law 10: a page is shared that no committed round has filled"
                    )
        index = self.state.pool._index
        self.published |= {(page, self.state.pool.generations[page]) for page in index.values()}
        if check:
            self._check()

    def _check_plan(self, plan: Plan) -> None:
        state, budget, policy = self.state, self.state.budget, self.state.policy
        assert sum(item.new_tokens for item in plan.items) <= budget.tokens, "E31.5: tokens"
        assert len(plan.items) <= state.seats, "E31.5: seats"
        names = [item.id for item in plan.items]
        assert len(set(names)) == len(names), "a request runs twice in one round"
        victims = {victim.id for victim in plan.victims}
        assert not victims & set(names), "a victim runs"
        entering = {entry.id for entry in plan.entries}
        assert not victims & entering, "a victim is readmitted in the same round"
        self._check_victims(plan)
        for item in plan.items:
            seq = state.live[item.id]
            assert not seq.paused, "a paused request runs"
            pending = sum(
                1 for other in state.in_flight.values() for i in other.items
                if i.yields and (i.id, i.epoch) == (item.id, item.epoch)
            )  # fmt: skip
            assert seq.emitted + pending < seq.request.max_output_tokens, "its bound is reached already"
            wanted = seq.total + pending
            assert item.context + item.new_tokens <= wanted, "law 2: more than is wanted"
            assert item.yields == (item.context + item.new_tokens == wanted)
            limit = policy.prefill_chunk
            assert limit is None or not item.prefill or item.new_tokens <= limit, "chunk limit"
        for entry in plan.entries:
            prompt = state.live[entry.id].request.prompt_tokens
            assert len(entry.hits) * budget.page_tokens < max(prompt, 1), "law 10: nothing left to compute"
        stays = [seq for seq in state.active if seq.id not in victims]
        runnable = [seq for seq in stays if not seq.paused and seq.scheduled < seq.wanted]
        # Who may not run because pages are still on their way out runs as soon as those are there.
        waits = state.pool.quarantined or state.runs(plan)
        if policy.batching == "continuous" or state.batch:
            assert plan.items or not runnable or waits, (
                "law 9: active requests could run and the round is empty"
            )
        alone = policy.batching == "continuous" and not stays and not len(state.swapped)
        if alone and any(not seq.paused for seq in state.waiting):
            assert plan.items or waits, "law 9: a waiting request could run and the round is empty"
        self._check_reasons(plan, entering, victims)

    def _check_victims(self, plan: Plan) -> None:
        state, policy = self.state, self.state.policy
        for victim in plan.victims:
            seq, other = state.live[victim.id], state.live[victim.to]
            assert seq.status is Status.ACTIVE
            assert seq is other or state.ordering.outranks(other, seq), (
                "law 8: a victim outranks whom it makes room for"
            )
            if victim.mode == "fail":
                assert policy.preemption == "none"
                continue
            assert policy.preemption != "none"
            assert not state.in_flight, "N02: somebody gives way while a round is in flight"
            gained = seq.computed - self.mark.get(victim.id, 0)
            # The one exception (scenario.md, Pages): all would skip, so the lowest-ranked gives way whatever it gained.
            lowest = all(o is seq or state.ordering.outranks(o, seq) for o in state.active)
            assert victim.id not in self.mark or gained >= policy.min_run_tokens or lowest, (
                "law 9: min_run_tokens"
            )

    def _check_reasons(self, plan: Plan, entering: set[str], victims: set[str]) -> None:
        """Law 11: each reason is true of the state that the plan leaves."""
        state, budget = self.state, self.state.budget
        used = sum(item.new_tokens for item in plan.items)
        seated = list(state.active)  # victims too: a seat that comes free in this round is filled in the next
        lends = "active" not in state.policy.backpressure
        busy = sum(1 for seq in seated if not (lends and seq.paused)) + len(entering)
        for seq in [*state.waiting, *state.swapped]:
            if seq.id in entering:
                assert seq.id not in plan.notes, "law 11: a reason to wait for one who runs"
                continue
            reason = plan.why(seq.id)
            if reason is Reason.SEATS:
                assert busy >= state.seats or len(plan.items) >= state.seats
            elif reason is Reason.TOKENS and state.policy.phase != "shared":
                assert used == budget.tokens or state.first_prefill(seq), "tokens were left"
            elif reason is Reason.PAGES:
                assert budget.pages is not None, "no page budget, yet pages stop it"
            elif reason is Reason.READER:
                assert seq.paused
            elif reason is Reason.SECONDS:
                assert budget.round_ns is not None
            elif reason is Reason.PREEMPTED:
                assert seq.id in victims or seq.id in {name for name, _ in self.carried}
