"""Every order of events of a small world, none left out: three requests, three pages, eight events.

An event is an arrival, a cancel, a reader's pause or resume, or the end of a round with any subset of its yielding
requests having had their last token. Between events, whenever no round is in flight, the next one may start or not yet
(so that several events can fall on one instant). States that can no longer be told apart are visited once.

Where rounds overlap, a second one may be fixed while one runs, a round or a swap-out may be lost, and a swap-out may be
complete at any time after the round that carried it.

At every state, and not only at the last ones: if nothing else happens and all readers read, everything ends within the
number of rounds that law 9 allows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations, permutations
from math import comb

import pytest

from labkit.core.plan import PlanItem
from labkit.core.types import Budget, Policy, Tenant
from tests.core.world import World, freeze, thaw

SHORT, FULL, FOREVER = 5, 8, 1000
PAGES = Budget(tokens=6, seats=3, pages=3, page_tokens=2, page_bytes=2)
# name: (prompt, bound, the rest). Alone, each fits into the three pages of two positions; no two do to the end.
REQUESTS: dict[str, tuple[int, int, dict]] = {
    "A": (3, 3, {"priority": 0, "tenant": "one", "prefix": (("s", 3),)}),
    "B": (3, 2, {"priority": 1, "tenant": "one", "prefix": (("s", 2), ("t", 1))}),
    "C": (1, 3, {"priority": 2, "tenant": "two", "prefix": (("s", 1),)}),
}
TENANTS = {"one": Tenant(Fraction(1), Fraction(4)), "two": Tenant(Fraction(2), Fraction(4))}


def budget(**changes: int) -> Budget:
    fields = {name: getattr(PAGES, name) for name in Budget.__dataclass_fields__}
    return Budget(**fields | changes)


# name: (budget, policy, what has to have happened somewhere in eight events, what may not happen at all)
Case = tuple[Budget, Policy, set[str], set[str]]
POLICIES: dict[str, Case] = {
    # Two prompts of 3 take 2 + 2 of 3 pages, so A's or B's growth finds none free: somebody gives way.
    "grow, recompute": (
        PAGES,
        Policy(admission="grow", preemption="recompute", max_bypass=1),
        {"recompute"},
        {"swap", "fail", "share"},
    ),
    "grow, swap": (
        budget(host_pages=2),
        Policy(admission="grow", preemption="swap", min_run_tokens=2),
        {"swap", "swap in"},
        {"fail", "share"},
    ),
    "grow, none": (
        PAGES,
        Policy(admission="grow", preemption="none"),
        {"fail"},
        {"recompute", "swap", "share"},
    ),
    # A holds the whole pool by its promise: B and C wait, nobody ever gives way.
    "reserve": (
        budget(seats=2),
        Policy(admission="reserve", max_bypass=0),
        {"wait for pages"},
        {"recompute", "swap", "fail", "share"},
    ),
    # C outranks A and B; once one of them has gained a position it has to give way.
    "reserve, priority": (
        budget(seats=2),
        Policy(admission="reserve", order="priority", preemption="recompute"),
        {"recompute"},
        {"swap", "fail", "share"},
    ),
    "chunked": (
        budget(tokens=2),
        Policy(admission="grow", preemption="recompute", prefill_chunk=1, phase="prefill_first"),
        {"recompute", "chunk"},
        {"swap", "fail", "share"},
    ),
    "shared prefix": (
        PAGES,
        Policy(admission="grow", preemption="recompute", prefix_sharing=True),
        {"share", "recompute"},
        {"swap", "fail"},
    ),
    "static": (
        budget(seats=2),
        Policy(batching="static", admission="grow", preemption="recompute", static_finished="compute"),
        {"wait for the batch"},
        {"swap", "fail", "share"},
    ),
    "credit": (
        budget(seats=2),
        Policy(admission="grow", preemption="recompute", order="credit"),
        {"recompute"},
        {"swap", "fail", "share"},
    ),
    "overlap, recompute": (
        PAGES,
        Policy(admission="grow", preemption="recompute", prefix_sharing=True, pipeline_depth=2),
        {"recompute", "hold", "quarantine", "lose"},
        {"swap", "fail"},
    ),
    "overlap, swap": (
        budget(host_pages=2),
        Policy(admission="grow", preemption="swap", pipeline_depth=2),
        {"swap", "hold", "quarantine", "lose"},
        {"fail", "share"},
    ),
    "overlap, priority": (
        budget(seats=2, host_pages=3),
        Policy(admission="reserve", order="priority", preemption="swap", pipeline_depth=2),
        {"hold", "quarantine", "lose"},
        {"fail", "share"},
    ),
    "overlap, none": (
        PAGES,
        Policy(admission="grow", preemption="none", pipeline_depth=2),
        {"fail", "hold", "quarantine", "lose"},
        {"recompute", "swap", "share"},
    ),
}


def rounds_at_most(policy: Policy) -> int:
    """Law 9: between two preemptions of it a request gains a position, and no round is empty.

    A request has W = P + bound − 1 positions to compute, so it is preempted at most W times, and computes at most W
    positions before each of them and after the last. Where rounds overlap, each swap-out may take a round of its own,
    and two more may run for nothing for each request: after its end, and after it was lost before.
    """
    work = [prompt + bound - 1 for prompt, bound, _ in REQUESTS.values()]
    extra = sum(work) + 2 * len(work) if policy.pipeline_depth > 1 else 0
    return sum(w * (w + 1) for w in work) + extra


# ------------------------------------------------------------------------------------------------ what a state is


def fingerprint(world: World) -> bytes:
    """Equal for worlds that no future event can tell apart: times, versions and page numbers are left out."""
    state = world.state
    pool = state.pool
    live = sorted(state.live.values(), key=lambda seq: (seq.request.arrival_ns, seq.request.place))
    served = {turn: rank for rank, turn in enumerate(sorted({seq.last_served for seq in live} - {-1}))} | {
        -1: -1
    }
    names: dict[int, object] = {}  # a page is its prefix, or else the n-th that is held

    def page(number: int) -> object:
        return pool._key_of.get(number) or names.setdefault(number, len(names))

    current = {seq.id: seq.epoch for seq in live}
    flight = [
        [(i.id, i.new_tokens, i.context, i.prefill, i.epoch == current.get(i.id)) for i in plan.items]
        for plan in state.in_flight.values()
    ]
    first = state.rounds - len(state.in_flight)
    told = (
        [
            (
                seq.id, str(seq.status), seq.computed, seq.total, seq.emitted, min(seq.preemptions, 1),
                seq.mark, world.mark.get(seq.id), [page(ref.id) for ref in seq.table], seq.host_pages, seq.published,
                seq.bypassed, seq.paused, str(seq.doom), served[seq.last_served],
                seq.scheduled, seq.wanted, seq.last_served - first if seq.last_served in state.in_flight else None,
            )
            for seq in live
        ],
        sorted(set(REQUESTS) - set(state.live) - set(world.ends)),  # who has not come yet
        flight,
        [(number - first, [page(ref.id) for ref in refs]) for number, refs in state.fences.items()],
        [
            (
                name, current.get(name) == epoch + 1, [page(ref.id) for ref in move.pages],
                world.carried[name, epoch] - first,
            )
            for (name, epoch), move in state.transfers.items()
        ],
        list(pool._cached.values()),
        state.owed,
        sorted(state.batch), state.batch_ended,
        [seq.id for seq in state.doomed],
        sorted(state.accounts.balances.items()) if state.ordering.moving else None,
    )  # fmt: skip
    return hashlib.blake2b(repr(told).encode(), digest_size=16).digest()


# ------------------------------------------------------------------------------------------------ what can happen

Event = tuple[str, object]


def subsets(names: list[str]) -> Iterator[frozenset[str]]:
    return map(frozenset, chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)))


def events(world: World) -> Iterator[Event]:
    """All that may happen next, apart from the start of a round."""
    state = world.state
    for name in REQUESTS:
        seq = state.live.get(name)
        if seq is not None:
            if seq.doom is None:
                yield "cancel", name
            yield ("resume" if seq.paused else "pause"), name
        elif name not in world.ends:
            yield "arrive", name
    if world.plan is not None:
        yielding = [item.id for item in world.plan.items if item.yields and counts(world, item)]
        for last in subsets(yielding):
            yield "end", last
        if world.depth > 1:
            yield "lose", None
    for name, _ in world.swaps:
        yield "swap done", name
        yield "swap lost", name


def counts(world: World, item: PlanItem) -> bool:
    """What the round computes for this request will come to something, as far as is known."""
    seq = world.state.live.get(item.id)
    return seq is not None and seq.epoch == item.epoch and seq.doom is None


def happen(world: World, event: Event, seen: Counter[str]) -> None:
    kind, what = event
    seen[kind] += 1
    if kind == "arrive":
        prompt, bound, more = REQUESTS[what]
        world.arrive(what, prompt, bound, **more)
    elif kind == "cancel":
        world.end(what)
    elif kind == "end":
        seen["wasted"] += not all(counts(world, item) for item in world.plan.items)
        world.end_round(what)
    elif kind == "lose":
        world.end_round(lost=True)
    elif kind in ("swap done", "swap lost"):
        world.end_swap(next(swap for swap in world.swaps if swap[0] == what), kind == "swap lost")
    elif kind == "plan":
        plan = world.plan_round()
        waits = [plan.why(seq.id).value for seq in world.state.waiting]
        seen.update(f"wait for {'the batch' if why == 'batch' else why}" for why in waits)
        seen.update(victim.mode for victim in plan.victims)
        seen["share"] += sum(1 for entry in plan.entries if entry.hits)
        seen["swap in"] += sum(1 for entry in plan.entries if entry.from_swap)
        seen["chunk"] += sum(1 for item in plan.items if item.prefill and not item.yields)
        seen["round"] += bool(plan.items)
        seen["hold"] += plan.holds
    else:
        world.pause(what, kind == "pause")
    seen["quarantine"] += world.state.pool.quarantined > 0


class Walk:
    """Breadth first over all states that `depth` events can reach; a round's start is no event of its own."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.seen: Counter[str] = Counter()
        self.transitions = 0
        self.known: set[bytes] = set()
        self.rounds_left: dict[bytes, int] = {}  # until all has ended, if nothing else happens
        self.samples: dict[bytes, bytes] = {}  # states to compare with others of the same print
        self.compared = 0

    def run(self, depth: int) -> None:
        layer: list[bytes] = []  # what `at` events can reach
        self._reach(World(self.case[0], self.case[1], TENANTS), layer)
        for at in range(depth + 1):
            for frozen in layer:  # which grows: a round's start is no event
                if thaw(frozen).may_plan:
                    self._step(frozen, ("plan", None), layer)
            later: list[bytes] = []
            for frozen in layer:
                world = thaw(frozen)
                for event in events(world) if at < depth else ():
                    self._step(frozen, event, later)
                self._late_cancels(world)
                self._ends_by_itself(world)
            layer = later
            if not layer:
                return

    def _step(self, frozen: bytes, event: Event, waiting: list[bytes]) -> None:
        self.transitions += 1
        world = thaw(frozen)
        happen(world, event, self.seen)
        self._reach(world, waiting)

    def _reach(self, world: World, waiting: list[bytes]) -> None:
        now = fingerprint(world)
        if now not in self.known:
            self.known.add(now)
            waiting.append(freeze(world))
            if len(self.known) % 25 == 0:
                self.samples[now] = waiting[-1]
        elif now in self.samples:
            self._compare(world, thaw(self.samples.pop(now)))

    def _late_cancels(self, world: World) -> None:
        """A cancel of one that has ended, or is about to, changes nothing (law 6)."""
        version = world.state.version
        for name in REQUESTS:
            if name in world.ends or (name in world.state.live and world.state.live[name].doom):
                world.end(name)
                self.seen["late cancel"] += 1
        assert world.state.version == version, "law 6: a cancel of an ended request changed something"

    def _ends_by_itself(self, world: World) -> None:
        """All read on and nobody comes or leaves: every request ends, within the rounds that law 9 allows."""
        for name in list(world.state.live):
            world.pause(name, False)
        path: dict[bytes, int] = {}  # state: rounds that ended in the step after it
        left = 0
        while world.state.live:
            now = fingerprint(world)
            if now in self.rounds_left:
                left = self.rounds_left[now]
                break
            assert now not in path, "law 9: the same state again, for ever"
            path[now] = self._goes_on(world)
        for at, ended in reversed(path.items()):
            left += ended
            self.rounds_left[at] = left
        assert left <= rounds_at_most(self.case[1]), "law 9: more rounds than all the work has positions"

    def _goes_on(self, world: World) -> bool:
        """What happens next if nothing comes from outside: planning as long as it can, then the end of a round."""
        if world.may_plan:
            plan = world.plan_round()
            happened = {victim.mode for victim in plan.victims}
            assert not happened & self.case[3], f"{happened} under a policy that has none"
            if plan.items or plan.victims:
                return False
        if world.plan is not None:
            world.end_round()
            return True
        assert world.swaps, f"law 9: {list(world.state.live)} wait and nothing can happen"
        world.end_swaps()
        return False

    def _compare(self, one: World, other: World) -> None:
        """The print leaves out nothing that matters: two states of one print stay so whatever happens next."""
        self.compared += 1
        one_frozen, other_frozen = freeze(one), freeze(other)
        assert list(events(one)) == list(events(other))
        for event in [*events(one), *([("plan", None)] if one.may_plan else [])]:
            first, second = thaw(one_frozen), thaw(other_frozen)
            happen(first, event, Counter())
            happen(second, event, Counter())
            assert fingerprint(first) == fingerprint(second), f"states taken for one differ after {event}"


# ------------------------------------------------------------------------------------------------ the tests


def arrivals_and_pauses(depth: int) -> int:
    """How many states there are at least: an order of arrivals, and who of them is paused, before anything runs."""
    found = 0
    for count in range(len(REQUESTS) + 1):
        orders = len(list(permutations(REQUESTS, count)))
        found += orders * sum(comb(count, paused) for paused in range(min(count, depth - count) + 1))
    return found


def walk(name: str, depth: int) -> None:
    case = POLICIES[name]
    found = Walk(case)
    found.run(depth)
    states, most = len(found.known), max(found.rounds_left.values())
    counts = f"{states} states, {found.transitions} transitions"
    print(
        f"\n{name}: {'any' if depth == FOREVER else depth} events, {counts}, at most {most} rounds to the end"
    )
    assert states >= arrivals_and_pauses(depth)
    assert found.transitions >= states - 1 + found.compared
    assert found.compared, "no two ways led to one sampled state"
    happened = {what for what, count in found.seen.items() if count}
    always = {"arrive", "cancel", "late cancel", "pause", "resume", "end", "plan", "round"}
    assert always | case[2] <= happened, "the walk leaves out what it is for"
    assert not case[3] & happened, "what the policy rules out"
    assert 3 <= most <= rounds_at_most(case[1])  # A alone: its prompt's round, then two decodes


@pytest.mark.parametrize("name", POLICIES)
def test_all_orders_of_a_few_events(name: str) -> None:
    walk(name, SHORT)


@pytest.mark.long
@pytest.mark.parametrize("name", POLICIES)
def test_all_orders_of_eight_events(name: str) -> None:
    walk(name, FULL)


@pytest.mark.long
@pytest.mark.parametrize("name", ["grow, recompute", "reserve", "reserve, priority", "static"])
def test_all_orders_of_any_number_of_events(name: str) -> None:
    """Three requests have an end: the walk comes to where nothing new can happen."""
    walk(name, FOREVER)
