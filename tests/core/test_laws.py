"""Small worlds, one or more for each law, each step of Algorithm 31.1, each policy field, and the known failures.

What is expected is worked out by hand from the contract (the scenario's field meanings and "What happens when").
A round of the world lasts 10 ms; the planning estimate is 2 ms + 1 ms a token. P and O below are prompt and bound.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from labkit.core import invariants
from labkit.core.decide import decide
from labkit.core.invariants import InvariantError
from labkit.core.lifecycle import TRANSITIONS, Sequence, Status
from labkit.core.pages import PagePool, PageRef, prefix_chain
from labkit.core.plan import Plan, Reason
from labkit.core.scheduler import StalePlan, commit, end_early, finish_round
from labkit.core.types import Budget, Outcome, Policy, Request, Tenant
from tests.core.world import MS, World, cost, freeze

BUDGET = {field.name for field in dataclasses.fields(Budget)}
ENDS = (Outcome.FINISHED, Outcome.REJECTED, Outcome.CANCELLED, Outcome.EXPIRED, Outcome.FAILED)


def world(tenants: dict[str, Tenant] | None = None, **fields: object) -> World:
    """A world of 16 tokens, 4 seats, pages of 4 positions without limit; other fields by name."""
    given = {"tokens": 16, "seats": 4, "page_tokens": 4, "page_bytes": 1} | fields
    budget = Budget(**{name: value for name, value in given.items() if name in BUDGET})
    policy = Policy(**{name: value for name, value in given.items() if name not in BUDGET})
    return World(budget, policy, tenants)


def items(plan: Plan) -> list[tuple[str, int, int]]:
    """[(id, new positions, context)], in the order of the plan."""
    return [(item.id, item.new_tokens, item.context) for item in plan.items]


def victims(plan: Plan) -> list[tuple[str, str, str]]:
    return [(victim.id, victim.mode, victim.to) for victim in plan.victims]


def round_of(w: World, last: str = "") -> list[tuple[str, int, int]]:
    """One whole round; `last` names, by letters, whose last token it brings."""
    plan = w.plan_round()
    w.end_round(frozenset(last))
    return items(plan)


def rounds(w: World, count: int) -> list[list[tuple[str, int, int]]]:
    return [round_of(w) for _ in range(count)]


def to_the_end(w: World, most: int = 100) -> int:
    """Rounds until nobody is left."""
    for count in range(most):
        if not w.state.live:
            return count
        while not w.plan_round().items:
            assert w.plan is None
            assert w.state.live
        w.end_round()
    raise AssertionError(f"{list(w.state.live)} are left after {most} rounds")


# ------------------------------------------------------------------------------------------------ law 1: time is data


def test_law_1_waiting_is_a_time_in_the_plan():
    w = world(batching="static", batch_window_ns=15 * MS, seats=2)
    w.now = 3 * MS
    w.arrive("A", 4, 1)
    plan = w.plan_round()
    assert (plan.items, plan.wake_ns, plan.why("A")) == ((), 18 * MS, Reason.WINDOW)
    w.now = 18 * MS - 1
    assert w.plan_round().wake_ns == 18 * MS
    w.now = 18 * MS
    assert items(w.plan_round()) == [("A", 4, 0)]


def test_law_1_without_limits_of_time_the_hour_changes_nothing():
    w = world(seats=2)
    for name in "ABC":
        w.arrive(name, 5, 2)
    early, late = decide(w.state, 0), decide(w.state, 10**18)
    assert dataclasses.replace(late, now=0) == early


# ------------------------------------------------------------------------------------------------ law 2: no phases


def test_law_2_chunks_and_decodes_are_one_case():
    """P + O − 1 positions in all: 10 + 3 − 1 = 12, in steps of at most 4 while they are prompt."""
    w = world(prefill_chunk=4)
    w.arrive("A", 10, 3)
    assert rounds(w, 5) == [[("A", 4, 0)], [("A", 4, 4)], [("A", 2, 8)], [("A", 1, 10)], [("A", 1, 11)]]
    assert (w.tokens["A"], w.ends) == (3, {"A": "finish"})


def test_law_2_only_the_last_chunk_yields():
    w = world(prefill_chunk=4)
    w.arrive("A", 10, 3)
    assert [w.tokens["A"] for _ in range(4) if round_of(w)] == [0, 0, 1, 2]


def test_law_2_without_chunks_the_prompt_runs_at_once():
    w = world()
    w.arrive("A", 10, 2)
    assert rounds(w, 2) == [[("A", 10, 0)], [("A", 1, 10)]]


def test_law_2_prefilled_rounds_are_all_decodes():
    """One position a token, from the first on: P + O = 7 at the end."""
    w = world(pages=2)
    w.arrive("A", 4, 3, prefilled=True)
    plan = w.plan_round()
    assert items(plan) == [("A", 1, 4)]
    assert not plan.items[0].prefill
    w.end_round()
    assert w.tokens["A"] == 1
    assert rounds(w, 2) == [[("A", 1, 5)], [("A", 1, 6)]]
    assert w.ends == {"A": "finish"}


def test_law_2_a_prefix_hit_is_a_later_start():
    w = world(prefix_sharing=True)
    w.arrive("A", 9, 1, prefix=(("s", 9),))
    round_of(w)
    w.arrive("B", 9, 1, prefix=(("s", 9),))
    assert round_of(w) == [("B", 1, 8)]


# --------------------------------------------------------------------------------------- law 3, A5: plan, then commit


def test_law_3_decide_changes_nothing_even_where_it_preempts():
    w = world(order="priority", preemption="recompute", seats=1)
    w.arrive("A", 4, 4)
    round_of(w)
    w.arrive("B", 4, 4, priority=1)
    before = freeze(w.state)
    plan = decide(w.state, w.now)
    assert victims(plan) == [("A", "recompute", "B")]
    assert freeze(w.state) == before


@pytest.mark.parametrize("event", ["arrive", "cancel", "pause", "seats"])
def test_a5_a_plan_of_an_older_state_takes_nothing(event: str):
    w = world(pages=8)
    w.arrive("A", 4, 4)
    w.arrive("B", 4, 4)
    plan = decide(w.state, w.now)
    if event == "arrive":
        w.arrive("C", 4, 4)
    elif event == "cancel":
        w.end("B")
    elif event == "pause":
        w.pause("B", True)
    else:
        w.seats(1)
    before = freeze(w.state)
    with pytest.raises(StalePlan):
        commit(w.state, plan)
    assert freeze(w.state) == before
    assert w.plan_round().items  # decided again, it goes


def test_a5_one_round_at_a_time():
    w = world()
    w.arrive("A", 4, 4)
    w.plan_round()
    before = freeze(w.state)
    with pytest.raises(StalePlan):
        commit(w.state, decide(w.state, w.now))
    assert freeze(w.state) == before


# ------------------------------------------------------------------------------------------------ law 4: oracle


def test_law_4_the_scheduler_is_never_told_the_true_length():
    names = {field.name for field in dataclasses.fields(Request)}
    assert not [name for name in names if "output" in name and name != "max_output_tokens"]
    assert not [name for name in Sequence.__slots__ if "oracle" in name]


def test_law_4_an_early_end_shows_only_in_the_round_after_it():
    """Two worlds that differ in A's true length plan the same until A has ended."""
    one, other = world(pages=8), world(pages=8)
    for w in (one, other):
        w.arrive("A", 4, 4)
        w.arrive("B", 4, 4)
    assert round_of(one, last="A") == round_of(other)
    assert round_of(one) == [("B", 1, 4)]
    assert round_of(other) == [("A", 1, 4), ("B", 1, 4)]


# ------------------------------------------------------------------------------ law 5, A6: epochs and generations


def test_law_5_a_result_of_an_older_epoch_is_dropped():
    w = world()
    w.arrive("A", 4, 4)
    w.plan_round()
    seq = w.state.live["A"]
    seq.epoch += 1  # admitted anew since
    records = finish_round(w.state, 10 * MS, 10 * MS, frozenset({"A"}))
    assert (records, seq.computed, seq.emitted, w.state.done) == ([], 0, 0, [])


def test_law_5_each_preemption_begins_a_new_epoch():
    w = world(order="priority", preemption="recompute", seats=1)
    w.arrive("A", 4, 4)
    assert w.plan_round().items[0].epoch == 0
    w.end_round()
    w.arrive("B", 4, 1, priority=1)
    round_of(w)
    assert w.plan_round().items[0][:2] == ("A", 1)


def test_law_5_a_page_handed_on_makes_older_references_stale():
    pool = PagePool(1)
    (old,) = pool.take(1)
    pool.release([old])
    (new,) = pool.take(1)
    assert (new.id, new.generation) == (old.id, old.generation + 1)
    for use in (pool.release, pool.share):
        with pytest.raises(InvariantError, match="law 5"):
            use([old])
    with pytest.raises(InvariantError, match="law 5"):
        pool.publish(old, b"key")
    pool.release([new])
    pool.audit()


# ------------------------------------------------------------------------------------- law 6, A1: terminal is final


@pytest.mark.parametrize("ended", ENDS)
def test_law_6_no_way_leads_out_of_a_terminal_state(ended: Outcome):
    for target in (*Status, *ENDS):
        seq = Sequence(Request("A", 0, 0, 4, 4), 2)
        seq.status = ended
        with pytest.raises(InvariantError, match="law 6"):
            seq.to(target)


def test_law_6_the_table_of_legal_changes():
    """Only a waiting one may still be rejected, only an active one finishes, a swapped one sits or waits again."""
    early = {Outcome.CANCELLED, Outcome.EXPIRED, Outcome.FAILED}
    assert TRANSITIONS[None] == {Status.WAITING, Outcome.REJECTED}
    assert TRANSITIONS[Status.WAITING] == {Status.ACTIVE, Outcome.REJECTED} | early
    assert TRANSITIONS[Status.ACTIVE] == {Status.WAITING, Status.SWAPPED, Outcome.FINISHED} | early
    assert TRANSITIONS[Status.SWAPPED] == {Status.ACTIVE, Status.WAITING} | early


@pytest.mark.parametrize("in_flight", [False, True])
def test_law_6_the_first_end_counts_and_later_ones_are_nothing(in_flight: bool):
    w = world()
    w.arrive("A", 4, 4)
    round_of(w)
    if in_flight:
        w.plan_round()
    w.end("A", Outcome.CANCELLED)
    version = w.state.version
    for outcome in (Outcome.EXPIRED, Outcome.FAILED, Outcome.CANCELLED):
        assert end_early(w.state, "A", outcome, None, w.now) == []
    assert w.state.version == version
    if in_flight:
        w.end_round()
    assert w.ends == {"A": "cancel"}
    assert not w.state.live


def test_law_6_a_token_that_is_the_last_by_bound_ends_it_without_being_told():
    w = world()
    w.arrive("A", 4, 2)
    rounds(w, 2)
    assert (w.tokens["A"], w.ends) == (2, {"A": "finish"})


def test_a1_what_ends_gives_everything_back():
    w = world(pages=4, seats=1)
    w.arrive("A", 4, 4)
    w.arrive("B", 4, 4)
    rounds(w, 1)
    assert (w.state.pool.owned, w.state.promised) == (1, 1)
    round_of(w, last="A")
    assert (w.state.pool.owned, w.state.promised, len(w.state.active)) == (0, 0, 0)
    assert round_of(w) == [("B", 4, 0)]


# ------------------------------------------------------------------------------------------- law 7: conservation


def test_law_7_reserve_promises_the_whole_bound():
    """4 + 12 positions are 4 pages of 8: one is taken by the prompt, three stay promised, four are for others."""
    w = world(pages=8)
    w.arrive("A", 4, 12)
    w.plan_round()
    state = w.state
    assert (state.pool.owned, state.promised, state.available_pages) == (1, 3, 4)
    w.end_round()
    round_of(w)
    assert (state.pool.owned, state.promised, state.available_pages) == (2, 2, 4)
    w.end("A")
    assert (state.pool.owned, state.promised, state.available_pages) == (0, 0, 8)


def test_law_7_a_promise_is_not_given_twice():
    w = world(pages=7)
    w.arrive("A", 4, 12)
    w.arrive("B", 4, 12)
    plan = w.plan_round()
    assert items(plan) == [("A", 4, 0)]
    assert plan.why("B") is Reason.PAGES


def test_law_7_the_pool_refuses_what_it_does_not_have_and_what_comes_twice():
    pool = PagePool(2)
    taken = pool.take(2)
    with pytest.raises(InvariantError, match="law 7"):
        pool.take(1)
    pool.release(taken)
    with pytest.raises(InvariantError, match="law 7"):
        pool.release(taken[:1])


def test_law_7_a_shared_page_stays_until_its_last_holder_ends():
    """Two pages of prefix, shared by three; A computes 3 pages, B and C one each beside the shared."""
    w = world(prefix_sharing=True, pages=9)
    w.arrive("A", 9, 3, prefix=(("s", 8),))
    round_of(w)
    for name in "BC":
        w.arrive(name, 9, 3, prefix=(("s", 8),))
    round_of(w)
    owned = w.state.pool.owned
    assert owned == 3 + 1 + 1
    w.end("A")
    assert w.state.pool.owned == owned - 1
    w.end("B")
    assert w.state.pool.owned == owned - 2
    w.end("C")
    assert w.state.pool.owned == 0


def test_law_7_every_check_sees_its_own_kind_of_damage():
    """invariants.check is what all random tests rely on: it must notice."""

    def damaged(how):
        w = world(pages=8, order="credit")
        w.arrive("A", 4, 4, tenant="a")
        w.arrive("B", 4, 4, tenant="b")
        round_of(w)
        how(w.state)
        with pytest.raises(InvariantError) as caught:
            invariants.check(w.state)
        return caught.value.law

    def set_(name, value):
        return lambda state: setattr(state, name, value)

    def first(state):
        return state.live["A"]

    assert damaged(set_("promised", 3)) == 7
    assert damaged(set_("host_pages", 1)) == 7
    assert damaged(lambda state: state.pool.references.__setitem__(0, 2)) == 7
    assert damaged(lambda state: state.pool.generations.__setitem__(0, 5)) == 5
    assert damaged(lambda state: setattr(state.pool, "owned", 0)) == 7
    assert damaged(lambda state: state.counts.__setitem__("ended", 1)) == 7
    assert damaged(lambda state: state.work.__setitem__("a", 2)) == 7
    assert damaged(lambda state: state.accounts.balances.__setitem__("a", Fraction(1))) == 7
    assert damaged(lambda state: setattr(first(state), "status", Status.WAITING)) == 6
    assert damaged(lambda state: setattr(first(state), "computed", 9)) == 2
    assert damaged(lambda state: setattr(first(state), "total", 9)) == 2
    assert damaged(lambda state: state.active.items.reverse()) == 8
    assert damaged(lambda state: state.live.pop("A")) == 7


# ------------------------------------------------------------------------------------------- law 8: one order


def order_of(w: World, names: str = "ABC") -> str:
    """In which order they are let in, one seat at a time."""
    let_in = ""
    while w.state.live:
        let_in += "".join(entry.id for entry in w.plan_round().entries)
        w.end_round()
    return let_in


@pytest.mark.parametrize(
    ("order", "requests", "expected"),
    [
        ("fcfs", {"A": {}, "B": {"priority": 9, "deadline_ns": MS}, "C": {}}, "ABC"),
        ("sjf", {"A": {"bound": 3}, "B": {"bound": 1}, "C": {"bound": 2}}, "BCA"),
        ("sjf", {"A": {"bound": 2}, "B": {"bound": 2}, "C": {"bound": 1}}, "CAB"),
        ("edf", {"A": {}, "B": {"deadline_ns": 900 * MS}, "C": {"deadline_ns": 800 * MS}}, "CBA"),
        ("edf", {"A": {}, "B": {}, "C": {"deadline_ns": 900 * MS}}, "CAB"),
        ("priority", {"A": {"priority": -1}, "B": {}, "C": {"priority": 1}}, "CBA"),
        ("priority", {"A": {"priority": 1}, "B": {"priority": 1}, "C": {}}, "ABC"),
    ],
)
def test_law_8_orders_and_their_ties(order: str, requests: dict, expected: str):
    """Ties by arrival, here all at 0, then by place."""
    w = world(order=order, seats=1, backpressure=frozenset({"output"}))
    for name, more in requests.items():
        w.arrive(name, 4, more.pop("bound", 1), **more)
    assert order_of(w) == expected


def test_law_8_arrival_before_place():
    w = world(order="sjf", seats=1)
    w.arrive("X", 4, 1)
    w.place = 9
    w.arrive("A", 4, 2)
    round_of(w)
    w.place = 3
    w.arrive("B", 4, 2)
    assert order_of(w) == "AB"


def growing(count: int, pages: int, **fields: object) -> World:
    """A, B, …, each with a prompt of two on one page of two positions: the third position needs a second page."""
    w = world(**{"admission": "grow", "page_tokens": 2, "pages": pages} | fields)
    for name in "ABCD"[:count]:
        w.arrive(name, 2, min(5, 2 * pages - 2))
    return w


def test_law_8_the_lowest_ranked_gives_way_to_growth():
    """Three pages, one each. A grows: C, the lowest, gives its page. B finds nobody below it and keeps its page."""
    w = growing(3, pages=3, preemption="recompute")
    round_of(w)
    plan = w.plan_round()
    assert victims(plan) == [("C", "recompute", "A")]
    assert items(plan) == [("A", 1, 2)]
    assert plan.why("C") is Reason.PREEMPTED
    assert w.state.live["B"].computed == 2


def test_law_8_who_grows_never_takes_from_those_before_it():
    """Growth round by round: A's third page comes from B, and B's wish for one before that from nobody."""
    w = growing(2, pages=3, preemption="recompute")
    assert rounds(w, 3) == [[("A", 2, 0), ("B", 2, 0)], [("A", 1, 2)], [("A", 1, 3)]]
    plan = w.plan_round()
    assert (items(plan), victims(plan)) == ([("A", 1, 4)], [("B", "recompute", "A")])
    w.end_round()
    assert w.ends == {"A": "finish"}
    # B has emitted one token: it computes 2 + 1 positions again, as a prompt, and goes on.
    assert rounds(w, 3) == [[("B", 3, 0)], [("B", 1, 3)], [("B", 1, 4)]]
    assert w.ends == {"A": "finish", "B": "finish"}


def test_law_8_who_is_in_the_plan_already_gives_no_way():
    """Decodes first: A's prompt, though it ranks before B, takes no page of B, who runs in this round."""
    w = world(
        admission="grow", preemption="recompute", page_tokens=2, pages=3, order="priority", prefill_chunk=2
    )
    w.arrive("B", 1, 3)
    round_of(w)
    w.arrive("A", 5, 1, priority=1)
    assert round_of(w) == [("B", 1, 1), ("A", 2, 0)]
    plan = w.plan_round()
    # B needs a second page at position 2 and takes the third; A, before it in rank, finds none and B planned.
    assert items(plan) == [("B", 1, 2)]
    assert victims(plan) == []
    w.end_round()
    assert (w.ends, round_of(w)) == ({"B": "finish"}, [("A", 2, 2)])


def test_case_16_equals_never_take_turns():
    """B, first in line, waits for pages while A, arrived later, runs: neither ever puts the other out."""
    w = world(order="priority", preemption="recompute", pages=4)
    w.arrive("X", 4, 4)
    w.arrive("B", 4, 12)
    assert round_of(w) == [("X", 4, 0)]
    w.arrive("A", 4, 4)
    assert round_of(w) == [("X", 1, 4), ("A", 4, 0)]
    while w.state.live:
        plan = w.plan_round()
        assert not plan.victims
        assert ("B" in w.state.live and w.state.live["B"].status is Status.ACTIVE) <= ("A" in w.ends)
        w.end_round()
    assert set(w.ends.values()) == {"finish"}


@pytest.mark.parametrize(("priority", "taken"), [(1, True), (0, False), (-1, False)])
def test_case_17_greater_priority_may_preempt_equal_never(priority: int, taken: bool):
    w = world(order="priority", preemption="recompute", seats=1)
    w.arrive("A", 4, 4)
    round_of(w)
    w.arrive("B", 4, 4, priority=priority)
    plan = w.plan_round()
    assert victims(plan) == ([("A", "recompute", "B")] if taken else [])
    assert items(plan) == ([("B", 4, 0)] if taken else [("A", 1, 4)])
    assert plan.why("A" if taken else "B") is (Reason.PREEMPTED if taken else Reason.SEATS)


@pytest.mark.parametrize("policy", [{"preemption": "none"}, {"order": "fcfs"}])
def test_case_17_without_leave_nobody_is_put_out(policy: dict):
    w = world(**{"order": "priority", "preemption": "recompute", "seats": 1} | policy)
    w.arrive("A", 4, 4)
    round_of(w)
    w.arrive("B", 4, 4, priority=5)
    assert items(w.plan_round()) == [("A", 1, 4)]


def test_law_8_priority_takes_only_if_it_suffices_and_lowest_first():
    """H asks for 3 pages of 5. L2, the lowest, holds 2 by promise and 1 is free: L2 goes, L1 stays."""
    w = world(order="priority", preemption="recompute", pages=5)
    w.arrive("L1", 4, 4)
    w.arrive("L2", 4, 4)
    round_of(w)
    w.arrive("H", 4, 8, priority=1)
    plan = w.plan_round()
    assert victims(plan) == [("L2", "recompute", "H")]
    assert sorted(items(plan)) == [("H", 4, 0), ("L1", 1, 4)]


def test_law_8_priority_takes_nothing_if_all_would_not_suffice():
    """H asks for 4 pages; of 5 two belong to a higher one, so 3 is the most that there could be."""
    w = world(order="priority", preemption="recompute", pages=5)
    w.arrive("T", 4, 4, priority=2)
    w.arrive("L", 4, 4)
    round_of(w)
    w.arrive("H", 4, 12, priority=1)
    plan = w.plan_round()
    assert victims(plan) == []
    assert plan.why("H") is Reason.PAGES


# ------------------------------------------------------------------------------------------- law 9: progress


def test_law_9_a_lone_request_that_fits_finishes():
    """P + O = 12 is the whole pool under either admission."""
    for admission in ("reserve", "grow"):
        for preemption in ("none", "recompute"):
            w = world(admission=admission, preemption=preemption, pages=3, prefill_chunk=3)
            w.arrive("A", 8, 4)
            assert to_the_end(w) == 3 + 3
            assert w.ends == {"A": "finish"}


@pytest.mark.parametrize("admission", ["reserve", "grow"])
def test_law_9_a_lone_request_that_can_never_fit_is_refused_at_the_door(admission: str):
    w = world(admission=admission, pages=3)
    w.arrive("A", 8, 5)
    assert w.ends == {"A": "reject"}


def test_case_3_half_prompts_fill_the_pool():
    """Two prompts of 24 in chunks of 8 on 8 pages of 4: after two rounds the pool is full of 16 + 16.

    A's third chunk needs two pages: B gives its four. A ends, B computes its 16 again and the rest: 3 rounds.
    """
    w = world(admission="grow", preemption="recompute", pages=8, prefill_chunk=8)
    w.arrive("A", 24, 1)
    w.arrive("B", 24, 1)
    assert rounds(w, 2) == [[("A", 8, 0), ("B", 8, 0)], [("A", 8, 8), ("B", 8, 8)]]
    assert w.state.pool.free == 0
    plan = w.plan_round()
    assert (items(plan), victims(plan)) == ([("A", 8, 16)], [("B", "recompute", "A")])
    w.end_round()
    assert rounds(w, 3) == [[("B", 8, 0)], [("B", 8, 8)], [("B", 8, 16)]]
    assert w.ends == {"A": "finish", "B": "finish"}


def test_case_3_without_preemption_the_lowest_fails():
    w = world(admission="grow", preemption="none", pages=8, prefill_chunk=8)
    w.arrive("A", 24, 1)
    w.arrive("B", 24, 1)
    rounds(w, 2)
    plan = w.plan_round()
    assert (items(plan), victims(plan)) == ([("A", 8, 16)], [("B", "fail", "A")])
    w.end_round()
    assert w.ends == {"A": "finish", "B": "fail"}


def test_law_9_where_all_would_skip_the_lowest_gives_way_though_protected():
    """Two pages, two requests of one each, both grow, neither has gained four positions: B gives way all the same."""
    w = growing(2, pages=3, preemption="recompute", min_run_tokens=4)
    rounds(w, 3)
    assert w.state.live["B"].computed == 2
    assert victims(w.plan_round()) == [("B", "recompute", "A")]


def test_law_9_min_run_tokens_protects_until_they_are_gained():
    """A gains 2 positions with its prompt, the third in the next round: then, not before, H takes its seat."""
    w = world(order="priority", preemption="recompute", seats=1, min_run_tokens=3)
    w.arrive("A", 2, 10)
    round_of(w)
    w.arrive("H", 1, 1, priority=1)
    assert round_of(w) == [("A", 1, 2)]
    plan = w.plan_round()
    assert (items(plan), victims(plan)) == ([("H", 1, 0)], [("A", "recompute", "H")])
    w.end_round()
    # A had 3 positions. It computes 2 + 2 again (one of them new), then two more: 3 beyond the mark.
    assert round_of(w) == [("A", 4, 0)]
    w.arrive("I", 1, 1, priority=1)
    assert rounds(w, 2) == [[("A", 1, 4)], [("A", 1, 5)]]
    assert victims(w.plan_round()) == [("A", "recompute", "I")]


def test_law_9_the_mark_of_a_prefilled_request_is_where_it_begins():
    """Its prompt is no gain: it is protected until it has computed two positions of its own."""
    w = world(order="priority", preemption="recompute", seats=1, min_run_tokens=2)
    w.arrive("A", 8, 10, prefilled=True)
    round_of(w)
    w.arrive("H", 1, 1, priority=1)
    assert round_of(w) == [("A", 1, 9)]
    assert victims(w.plan_round()) == [("A", "recompute", "H")]


def test_law_9_a_limit_of_seconds_never_stops_everything():
    """2 ms + 1 ms a token. 2.5 ms allow nothing: the first takes its smallest step, one position of a chunk."""
    w = world(round_ns=5 * MS // 2, prefill_chunk=4)
    w.arrive("A", 4, 1)
    w.arrive("B", 4, 1)
    plan = w.plan_round()
    assert items(plan) == [("A", 1, 0)]
    assert plan.why("B") is Reason.SECONDS


def test_law_9_the_smallest_step_of_an_unchunked_prompt_is_all_of_it():
    w = world(round_ns=5 * MS)
    w.arrive("A", 4, 1)
    assert items(w.plan_round()) == [("A", 4, 0)]


# ------------------------------------------------------------------------- law 10: shared pages appear when true


def test_case_7_two_equal_prompts_of_one_round_share_nothing():
    w = world(tokens=32, prefix_sharing=True)
    for name in "AB":
        w.arrive(name, 16, 2, prefix=(("s", 16),))
    plan = w.plan_round()
    assert items(plan) == [("A", 16, 0), ("B", 16, 0)]
    w.arrive("C", 16, 2, prefix=(("s", 16),))
    assert w.state.pool._index == {}  # nothing can be found while the round runs
    w.end_round()
    assert round_of(w)[2] == ("C", 4, 12)  # floor(15/4) = 3 pages of it


@pytest.mark.parametrize(("prompt", "start"), [(8, 4), (9, 8), (4, 0), (5, 4), (12, 8)])
def test_case_6_at_least_one_position_is_computed(prompt: int, start: int):
    """All of it is in the cache: floor((P − 1)/4) pages are hit, the rest is computed and the token comes."""
    w = world(prefix_sharing=True)
    w.arrive("A", 12, 1, prefix=(("s", 12),))
    round_of(w)
    w.arrive("B", prompt, 1, prefix=(("s", prompt),))
    assert round_of(w) == [("B", prompt - start, start)]
    assert w.tokens["B"] == 1


def test_case_9_two_tenants_do_not_share():
    chains = [prefix_chain(tenant, (("s", 12),), 4) for tenant in ("one", "two")]
    assert not set(chains[0]) & set(chains[1])
    w = world(prefix_sharing=True)
    w.arrive("A", 12, 1, tenant="one", prefix=(("s", 12),))
    round_of(w)
    w.arrive("B", 12, 1, tenant="two", prefix=(("s", 12),))
    w.arrive("C", 12, 1, tenant="one", prefix=(("s", 12),))
    assert round_of(w) == [("B", 12, 0), ("C", 4, 8)]


def test_law_10_prefixes_are_compared_position_by_position():
    """["s", 8] and ["s", 12] share 8; a run cut in two is the same run only if it goes on where it stopped."""

    def shared(one, other):
        pairs = zip(prefix_chain("t", one, 4), prefix_chain("t", other, 4), strict=False)
        return sum(1 for a, b in pairs if a == b)

    assert shared((("s", 8),), (("s", 12),)) == 2
    assert shared((("s", 6), ("t", 2)), (("s", 8),)) == 1
    assert shared((("s", 6), ("t", 6)), (("s", 6), ("t", 8))) == 3
    assert shared((("s", 4), ("s", 4)), (("s", 8),)) == 1  # its second run begins at its own position 0
    assert shared((("t", 4), ("s", 4)), (("s", 8),)) == 0
    assert len(prefix_chain("t", (("s", 7),), 4)) == 1  # whole pages only


def test_law_10_without_the_policy_nothing_is_shared():
    w = world(prefix_sharing=False)
    w.arrive("A", 12, 1, prefix=(("s", 12),))
    round_of(w)
    w.arrive("B", 12, 1, prefix=(("s", 12),))
    assert round_of(w) == [("B", 12, 0)]


def test_law_10_cached_pages_count_as_free_and_the_tail_goes_first():
    pool = PagePool(3)
    head, tail = pool.take(2)
    pool.publish(head, b"head")
    pool.publish(tail, b"tail")
    pool.release([head, tail])
    assert pool.free == 3
    fresh = pool.take(1)  # never used before: the cached ones stay
    assert pool.find([b"head", b"tail"]) == [head, tail]
    reused = pool.take(1)
    assert (reused[0].id, reused[0].generation) == (tail.id, tail.generation + 1)
    assert pool.find([b"head", b"tail"]) == [head]
    pool.release(fresh)
    assert pool.take(1)[0].id == fresh[0].id  # a plain page before a cached one
    pool.audit()


def test_law_10_the_oldest_cached_page_is_reused_first_and_a_hit_makes_it_young():
    pool = PagePool(2)
    one, two = pool.take(1), pool.take(1)
    pool.publish(one[0], b"1")
    pool.publish(two[0], b"2")
    pool.release(one)
    pool.release(two)
    pool.share(one)
    pool.release(one)
    assert pool.take(1)[0].id == two[0].id
    assert pool.find([b"1"]) == one


def test_law_10_what_is_not_published_cannot_be_shared_once_it_is_free():
    pool = PagePool(1)
    page = pool.take(1)
    pool.release(page)
    with pytest.raises(InvariantError, match="law 10"):
        pool.share(page)


def test_law_10_a_promise_leaves_out_the_pages_hit():
    """A and B ask for 3 pages each, one of them the same: 5 are enough for both, 4 are not."""
    for pages, enters in ((5, True), (4, False)):
        w = world(prefix_sharing=True, pages=pages)
        w.arrive("A", 8, 4, prefix=(("s", 8),))
        round_of(w)
        w.arrive("B", 8, 4, prefix=(("s", 8),))
        plan = w.plan_round()
        assert ("B" in {item.id for item in plan.items}) is enters


def test_case_8_a_recompute_is_no_hit():
    w = growing(2, pages=3, preemption="recompute")
    rounds(w, 3)
    plan = w.plan_round()
    assert victims(plan) == [("B", "recompute", "A")]
    w.end_round()
    again = w.plan_round()
    assert [(entry.id, entry.hits) for entry in again.entries] == [("B", ())]
    assert items(again) == [("B", 3, 0)]


# ------------------------------------------------------------------------------------------- law 11, A4: explain


def test_law_11_tokens():
    w = world(tokens=6)
    w.arrive("A", 4, 1)
    w.arrive("B", 4, 1)
    w.arrive("C", 2, 1)
    plan = w.plan_round()
    assert items(plan) == [("A", 4, 0), ("C", 2, 0)]  # another one that fits goes by (A4)
    assert plan.why("B") is Reason.TOKENS
    assert dict(plan.passed) == {"B": 1}


def test_law_11_seats():
    w = world(seats=1)
    w.arrive("A", 4, 1)
    w.arrive("B", 4, 1)
    plan = w.plan_round()
    assert (plan.why("B"), dict(plan.passed)) == (Reason.SEATS, {})


def test_law_11_pages_and_bypass():
    """Four pages: X has 3. A (4) waits for pages; B (1) may pass it once, C may not."""
    w = world(pages=4, max_bypass=1)
    w.arrive("X", 4, 8)
    round_of(w)
    w.arrive("A", 4, 12)
    for name in "BC":
        w.arrive(name, 2, 2)
    plan = w.plan_round()
    assert items(plan) == [("X", 1, 4), ("B", 2, 0)]
    assert (plan.why("A"), plan.why("C"), dict(plan.passed)) == (Reason.PAGES, Reason.BYPASS, {"A": 1})


def test_law_11_seconds():
    """A's decode takes 3 of 5 ms: B's prompt of four would make 7."""
    w = world(round_ns=5 * MS)
    w.arrive("A", 3, 4)
    round_of(w)
    w.arrive("B", 4, 1)
    plan = w.plan_round()
    assert items(plan) == [("A", 1, 3)]
    assert plan.why("B") is Reason.SECONDS


@pytest.mark.parametrize(
    ("fields", "step"), [({}, 8), ({"tokens": 5}, 5), ({"round_ns": 8 * MS}, 6), ({"prefill_chunk": 3}, 3)]
)
def test_a4_the_largest_step_that_every_budget_allows(fields: dict, step: int):
    """A prompt of 12 in chunks of at most 8: by chunk, tokens, seconds (2 + 6 ms), chunk again."""
    w = world(**{"prefill_chunk": 8} | fields)
    w.arrive("A", 12, 1)
    assert round_of(w) == [("A", step, 0)]


def test_a4_the_largest_step_that_the_free_pages_allow():
    """X holds two pages of four and takes the third: A's first step is the four positions of the last."""
    w = world(admission="grow", pages=4, prefill_chunk=8)
    w.arrive("X", 12, 1)
    assert round_of(w) == [("X", 8, 0)]
    w.arrive("A", 12, 1)
    assert round_of(w) == [("X", 4, 8), ("A", 4, 0)]


def test_law_11_reader():
    w = world(seats=2, order="priority", preemption="recompute")
    w.arrive("A", 4, 4)
    w.pause("A", True)
    plan = w.plan_round()
    assert (plan.items, plan.why("A")) == ((), Reason.READER)


def test_law_11_batch():
    w = world(batching="static", seats=2)
    for name in "ABC":
        w.arrive(name, 4, 2)
    assert w.plan_round().why("C") in (Reason.SEATS, Reason.BATCH)
    w.end_round(frozenset("A"))
    plan = w.plan_round()
    assert (items(plan), plan.why("C")) == ([("B", 1, 4)], Reason.BATCH)


def test_law_11_swapped_ones_come_first():
    w = growing(3, pages=3, preemption="swap", host_pages=1)
    round_of(w)
    assert victims(w.plan_round()) == [("C", "swap", "A")]
    w.end_round()
    w.arrive("D", 1, 1)
    w.end("B")  # one page is free, C needs two for its next position
    plan = w.plan_round()
    assert (plan.why("C"), plan.why("D")) == (Reason.PAGES, Reason.SWAPPED)


# ------------------------------------------------------------------------------------------- A2, A3, A6, A7


def test_a2_exactly_one_credit_a_committed_round():
    """A planned round that was not committed charges nothing."""
    w = world(order="credit", seats=1)
    w.arrive("A", 4, 4, tenant="a")
    w.arrive("B", 4, 4, tenant="b")
    for _ in range(3):
        decide(w.state, w.now)
    w.plan_round()
    assert dict(w.state.accounts.balances) == {}
    w.end_round()
    assert w.state.accounts.balances == {"a": -2, "b": 2}


def decoders(w: World, count: int) -> None:
    """A, B, …: each with its prompt of one computed."""
    for name in "ABCD"[:count]:
        w.arrive(name, 1, 20)
    round_of(w)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # Decodes, then what is left: 8 − 4.
        ({"phase": "decode_first"}, [("A", 1), ("B", 1), ("C", 1), ("D", 1), ("P", 4)]),
        ({"phase": "prefill_first"}, [("P", 8)]),
        # 2 decodes, 4 prompt tokens, then the last two as decode first.
        (
            {"phase": "shared", "min_decode_share": Fraction(1, 4), "min_prefill_share": Fraction(1, 2)},
            [("A", 1), ("B", 1), ("C", 1), ("D", 1), ("P", 4)],
        ),
        # No decode share, 6 prompt tokens: two decodes get the rest.
        ({"phase": "shared", "min_prefill_share": Fraction(3, 4)}, [("A", 1), ("B", 1), ("P", 6)]),
        # 1 decode of floor(8 · 0.2), no prompt share; the rest decodes first.
        (
            {"phase": "shared", "min_decode_share": Fraction(1, 5)},
            [("A", 1), ("B", 1), ("C", 1), ("D", 1), ("P", 4)],
        ),
    ],
)
def test_a3_the_phases_and_their_shares(fields: dict, expected: list):
    w = world(**{"tokens": 8, "seats": 5, "prefill_chunk": 8} | fields)
    decoders(w, 4)
    w.arrive("P", 20, 1)
    assert sorted((name, new) for name, new, _ in round_of(w)) == expected


def test_a3_more_decodes_than_tokens_the_longest_unserved_first():
    """Prompts first, 2 tokens a round: A and B enter; then C, beside A; then B, unserved since the first round."""
    w = world(tokens=2, phase="prefill_first")
    for name in "ABC":
        w.arrive(name, 1, 20)
    served = ["".join(name for name, _, _ in round_of(w)) for _ in range(5)]
    # After the second round B waits longest, A and C tie: A, by the order. After the third C waits longest.
    assert served == ["AB", "CA", "BA", "CA", "BA"]


def test_a3_every_runner_runs():
    w = world()
    decoders(w, 4)
    assert [name for name, _, _ in round_of(w)] == ["A", "B", "C", "D"]


def test_a6_only_actual_progress_is_committed():
    w = world(prefill_chunk=4)
    w.arrive("A", 10, 3)
    w.plan_round()
    assert w.state.live["A"].computed == 0
    w.end_round()
    assert w.state.live["A"].computed == 4


def test_a7_with_nothing_to_do_nothing_changes():
    w = world()
    w.arrive("A", 4, 4)
    round_of(w)
    w.pause("A", True)
    before = freeze(w.state)
    for _ in range(3):
        plan = w.plan_round()
        assert (plan.items, plan.victims, plan.entries) == ((), (), ())
    state = w.state
    state.version -= 3
    assert freeze(state) == before
    w.pause("A", False)
    assert round_of(w) == [("A", 1, 4)]


# ------------------------------------------------------------------------------------------- cancels in flight


def test_case_10_cancel_while_the_last_round_runs():
    w = world(pages=4)
    w.arrive("A", 4, 2)
    round_of(w)
    w.plan_round()
    w.end("A")
    assert w.state.pool.owned == 2  # the round may still write them
    w.end_round(frozenset("A"))
    assert (w.tokens["A"], w.ends, w.state.pool.owned) == (1, {"A": "cancel"}, 0)


def test_case_11_cancel_after_the_last_chunk_was_launched():
    w = world(prefill_chunk=4, pages=4)
    w.arrive("A", 8, 2)
    round_of(w)
    w.plan_round()
    w.end("A")
    w.end_round()
    assert (w.tokens["A"], w.ends, w.state.pool.owned) == (0, {"A": "cancel"}, 0)


def test_case_14_cancel_of_a_waiting_request_is_not_noticed():
    one, other = world(seats=2), world(seats=2)
    for w in (one, other):
        for name in "ABC":
            w.arrive(name, 4, 3)
        w.plan_round()
    other.end("C")
    for w in (one, other):
        w.end_round()
    assert rounds(one, 2) == rounds(other, 2)
    assert other.ends == {"C": "cancel", "A": "finish", "B": "finish"}


def test_a_cancelled_prompt_is_not_published():
    """Its pages hold what its round wrote, but it has ended: nobody shares them (laws 6 and 10)."""
    w = world(prefix_sharing=True)
    w.arrive("A", 8, 2, prefix=(("s", 8),))
    w.plan_round()
    w.end("A")
    w.end_round()
    w.arrive("B", 8, 2, prefix=(("s", 8),))
    assert round_of(w) == [("B", 8, 0)]


# ------------------------------------------------------------------------------------------- policy fields


def test_max_bypass_counts_over_rounds():
    w = world(pages=4, max_bypass=2)
    w.arrive("X", 4, 8)
    round_of(w)
    w.arrive("A", 4, 12)
    for name in "BC":
        w.arrive(name, 2, 1)
        assert [entry.id for entry in w.plan_round().entries] == [name]
        w.end_round()
    w.arrive("D", 2, 1)
    plan = w.plan_round()
    assert (plan.entries, plan.why("D")) == ((), Reason.BYPASS)
    w.end_round(frozenset("X"))
    assert [entry.id for entry in w.plan_round().entries] == ["A"]


def test_max_bypass_zero_is_strict_order_and_null_none():
    for bound, why in ((0, Reason.BYPASS), (None, None)):
        w = world(pages=4, max_bypass=bound)
        w.arrive("X", 4, 8)
        round_of(w)
        w.arrive("A", 4, 12)
        w.arrive("B", 2, 1)
        plan = w.plan_round()
        assert [entry.id for entry in plan.entries] == (["B"] if why is None else [])
        if why:
            assert plan.why("B") is why


def test_max_bypass_begins_anew_once_it_was_let_in():
    """A was passed once, is let in, gives way to H, and may be passed once more."""
    w = world(order="priority", preemption="recompute", pages=4, max_bypass=1)
    w.arrive("X", 4, 8)
    round_of(w)
    w.arrive("A", 4, 12)
    w.arrive("B", 2, 1)
    round_of(w, last="X")
    assert [entry.id for entry in w.plan_round().entries] == ["A"]
    w.end_round()
    w.arrive("H", 4, 8, priority=1)
    assert victims(w.plan_round()) == [("A", "recompute", "H")]
    w.end_round()
    w.arrive("C", 2, 1)
    plan = w.plan_round()
    assert ([entry.id for entry in plan.entries], dict(plan.passed)) == (["C"], {"A": 1})


def test_aging_ranks_by_arrival_before_all_others():
    """X holds the seat till 40 ms. A (bound 8, from 0) and B (4, from 10) have waited longer than 25 ms; C has not."""
    w = world(order="sjf", seats=1, aging_ns=25 * MS)
    w.arrive("X", 4, 9)
    w.plan_round()
    w.arrive("A", 4, 8)
    w.end_round()
    w.arrive("B", 4, 4)
    rounds(w, 2)
    w.arrive("C", 4, 1)
    round_of(w, last="X")
    assert [entry.id for entry in w.plan_round().entries] == ["A"]
    w.end_round(frozenset("A"))
    assert [entry.id for entry in w.plan_round().entries] == ["B"]
    w.end_round(frozenset("B"))
    assert [entry.id for entry in w.plan_round().entries] == ["C"]


@pytest.mark.parametrize(("aging_ms", "first"), [(19, "A"), (20, "B")])
def test_aging_begins_after_longer_than_the_limit(aging_ms: int, first: str):
    w = world(order="sjf", seats=1, aging_ns=aging_ms * MS)
    w.arrive("X", 4, 9)
    w.plan_round()
    w.arrive("A", 4, 8)
    w.end_round()
    w.arrive("B", 4, 1)
    round_of(w, last="X")
    assert [entry.id for entry in w.plan_round().entries] == [first]


def test_an_aged_rank_stays_while_it_runs():
    """A has waited 20 ms and ranks before B, of the smaller bound: when A needs B's page, B gives way."""
    w = growing(0, pages=3, order="sjf", preemption="recompute", aging_ns=15 * MS, seats=1)
    w.arrive("X", 2, 4)
    w.plan_round()
    w.arrive("A", 2, 4)
    w.end_round()
    round_of(w, last="X")
    w.seats(2)
    w.plan_round()
    w.arrive("B", 2, 3)
    w.end_round()
    assert rounds(w, 2) == [[("A", 1, 2), ("B", 2, 0)], [("A", 1, 3)]]
    plan = w.plan_round()
    assert (items(plan), victims(plan)) == ([("A", 1, 4)], [("B", "recompute", "A")])


@pytest.mark.parametrize(
    ("charge", "balances"),
    [
        # a computed 3, b 1 of 4 tokens, half of which each is credited with.
        ("tokens", {"a": Fraction(-1), "b": Fraction(1)}),
        # One each at their admission.
        ("requests", {"a": Fraction(0), "b": Fraction(0)}),
        # 10 ms, three quarters of them a's.
        ("cost", {"a": Fraction(-1, 400), "b": Fraction(1, 400)}),
    ],
)
def test_credit_charges(charge: str, balances: dict):
    w = world(order="credit", charge=charge)
    w.arrive("A", 3, 4, tenant="a")
    w.arrive("B", 1, 4, tenant="b")
    round_of(w)
    assert w.state.accounts.balances == balances


def test_credit_by_requests_is_charged_once_at_admission():
    w = world(order="credit", charge="requests", seats=1)
    w.arrive("A", 3, 4, tenant="a")
    w.arrive("B", 1, 4, tenant="b")
    round_of(w)
    assert w.state.accounts.balances == {"a": Fraction(-1, 2), "b": Fraction(1, 2)}
    round_of(w)
    assert w.state.accounts.balances == {"a": Fraction(-1, 2), "b": Fraction(1, 2)}


def test_credit_goes_by_weight():
    """Four tokens of a, shared out 1 to 3: a has −4 + 1, b has 3; b is the richest and comes next."""
    w = world({"b": Tenant(Fraction(3), Fraction(16))}, order="credit", seats=1)
    w.arrive("A", 4, 1, tenant="a")
    w.arrive("C", 4, 1, tenant="a")
    w.arrive("B", 4, 1, tenant="b")
    round_of(w)
    assert w.state.accounts.balances == {"a": -3, "b": 3}
    assert round_of(w) == [("B", 4, 0)]


def test_credit_an_incumbent_alone_stays_at_zero_and_a_newcomer_starts_there():
    w = world(order="credit")
    w.arrive("A", 4, 9, tenant="a")
    rounds(w, 3)
    assert w.state.accounts.balance("a") == 0
    w.arrive("B", 4, 9, tenant="b")
    assert w.state.accounts.balance("b") == 0


def test_credit_is_clamped_and_adds_up_to_zero():
    """a may owe one at most: of b's credit only one is covered."""
    w = world({"a": Tenant(Fraction(1), Fraction(1))}, order="credit", seats=1)
    w.arrive("A", 8, 9, tenant="a")
    w.arrive("B", 8, 9, tenant="b")
    round_of(w)
    assert w.state.accounts.balances == {"a": -1, "b": 1}


def test_credit_of_one_whose_work_ends_goes_back():
    w = world(order="credit", seats=1)
    for name in "abc":
        w.arrive(name.upper(), 3, 9, tenant=name)
    round_of(w)
    assert w.state.accounts.balances == {"a": -2, "b": 1, "c": 1}
    w.end("A")
    assert w.state.accounts.balances == {"b": 0, "c": 0}


def test_max_queue_rejects_the_latest_after_planning():
    w = world(seats=1, max_queue=1)
    for name in "XABC":
        w.arrive(name, 4, 4)
    w.plan_round()
    assert w.ends == {"B": "reject", "C": "reject"}
    assert list(w.state.live) == ["X", "A"]


def test_max_queue_does_not_count_the_preempted():
    w = world(seats=1, max_queue=1, order="priority", preemption="recompute")
    w.arrive("A", 4, 4)
    round_of(w)
    w.arrive("B", 4, 4)
    w.arrive("H", 4, 4, priority=1)
    assert victims(w.plan_round()) == [("A", "recompute", "H")]
    assert w.ends == {}


def test_max_queue_only_where_the_link_is_in_force():
    w = world(seats=1, max_queue=0, backpressure=frozenset({"output", "active", "entry"}))
    w.arrive("A", 4, 4)
    w.arrive("B", 4, 4)
    w.plan_round()
    assert w.ends == {}


@pytest.mark.parametrize(
    ("deadline_ns", "margin_ns", "refused"), [(12 * MS, 0, 0), (12 * MS - 1, 0, 1), (12 * MS, 1, 1)]
)
def test_the_door_by_deadline_alone(deadline_ns: int, margin_ns: int, refused: int):
    """Ŝ of P 4, O 3: 2 + 4, then twice 2 + 1 ms: 12. Refused where Ŵ + Ŝ + Δ > d − a."""
    w = world(margin_ns=margin_ns)
    w.arrive("A", 4, 3, deadline_ns=deadline_ns)
    assert len(w.ends) == refused


@pytest.mark.parametrize(("late_ns", "refused"), [(0, 0), (1, 1)])
def test_the_door_by_deadline_in_a_queue(late_ns: int, refused: int):
    """K = 1. A has 2 tokens to go, 3 ms each; C, before B, 12; B itself 12: 30 ms from now."""
    w = world(seats=1)
    w.arrive("A", 4, 3)
    round_of(w)
    w.arrive("C", 4, 3)
    w.arrive("B", 4, 3, deadline_ns=w.now + 30 * MS - late_ns)
    assert len(w.ends) == refused


def test_the_door_by_deadline_only_where_the_link_is_in_force():
    w = world(backpressure=frozenset({"output"}))
    w.arrive("A", 4, 3, deadline_ns=1)
    assert w.ends == {}


def test_the_door_by_tokens():
    """A prompt over B can never run in one round; in chunks or prefilled it can."""
    for fields, more, refused in (({}, {}, 1), ({"prefill_chunk": 4}, {}, 0), ({}, {"prefilled": True}, 0)):
        w = world(**{"tokens": 8} | fields)
        w.arrive("A", 9, 2, **more)
        assert len(w.ends) == refused


def test_a_paused_request_keeps_its_seat_and_pages_or_lends_the_seat():
    for chain, enters in (({"output", "active"}, False), ({"output"}, True)):
        w = world(seats=1, pages=4, backpressure=frozenset(chain))
        w.arrive("A", 4, 4)
        w.arrive("B", 4, 4)
        round_of(w)
        w.pause("A", True)
        plan = w.plan_round()
        assert items(plan) == ([("B", 4, 0)] if enters else [])
        assert len(w.state.live["A"].table) == 1
        if not enters:
            assert plan.why("B") is Reason.SEATS


def test_lent_seats_never_run_more_than_there_are():
    w = world(seats=1, backpressure=frozenset({"output"}))
    w.arrive("A", 4, 4)
    w.arrive("B", 4, 4)
    round_of(w)
    w.pause("A", True)
    round_of(w)
    w.pause("A", False)
    for _ in range(4):
        assert len(round_of(w)) == 1


def test_fewer_seats_put_nobody_out_and_run_no_more():
    w = world()
    decoders(w, 4)
    w.seats(2)
    assert len(w.state.active) == 4
    assert [len(round_of(w)) for _ in range(3)] == [2, 2, 2]


@pytest.mark.parametrize(("finished", "idle"), [("stop", 0), ("compute", 1)])
def test_static_batches(finished: str, idle: int):
    """Two seats. A ends early: B runs on alone, C waits for the next batch."""
    w = world(batching="static", static_finished=finished, seats=2)
    for name in "ABC":
        w.arrive(name, 4, 3)
    assert round_of(w, last="A") == [("A", 4, 0), ("B", 4, 0)]
    plan = w.plan_round()
    assert (items(plan), plan.idle_seats) == ([("B", 1, 4)], idle)
    w.end_round(frozenset("B"))
    plan = w.plan_round()
    assert (items(plan), plan.idle_seats, plan.forms_batch) == ([("C", 4, 0)], 0, True)


def test_a_static_batch_is_made_of_those_whose_pages_fit_together():
    """Five pages, promises of 2, 4 and 2: A and C."""
    w = world(batching="static", pages=5, seats=3)
    w.arrive("A", 4, 4)
    w.arrive("B", 4, 12)
    w.arrive("C", 4, 4)
    assert round_of(w) == [("A", 4, 0), ("C", 4, 0)]


def test_a_static_batch_is_fixed_when_it_forms_though_its_prompts_take_rounds():
    w = world(batching="static", seats=2, tokens=6)
    w.arrive("A", 4, 3)
    w.arrive("B", 4, 3)
    plan = w.plan_round()
    assert items(plan) == [("A", 4, 0)]
    w.end_round()
    w.arrive("C", 1, 1)
    assert round_of(w) == [("A", 1, 4), ("B", 4, 0)]
    assert "C" in w.state.live


def test_a_static_batch_forms_when_enough_wait():
    w = world(batching="static", batch_window_ns=50 * MS, seats=2)
    w.arrive("A", 4, 1)
    assert not w.plan_round().items
    w.arrive("B", 4, 1)
    assert round_of(w) == [("A", 4, 0), ("B", 4, 0)]


def test_case_5_a_full_host_falls_back_to_recompute_and_the_swapped_come_back_first():
    """Pages of two positions, four of them, one on the host. A, B, C have one each.

    Round 2: A takes the fourth, B needs one: C, the lowest, moves to the host. Round 4: A needs a third: B gives way,
    the host is full, so B's are dropped. A ends in round 5. Round 6: C comes back and takes two pages, before D and B.
    B, who lost 5 positions (2 + 3 tokens), comes back when 3 pages are free; D, of one page, passes it.
    """
    w = growing(3, pages=4, preemption="swap", host_pages=1)
    round_of(w)
    plan = w.plan_round()
    assert (items(plan), victims(plan)) == ([("A", 1, 2), ("B", 1, 2)], [("C", "swap", "B")])
    assert plan.transfers == (1,)
    w.end_round()
    w.arrive("D", 1, 1)
    assert round_of(w) == [("A", 1, 3), ("B", 1, 3)]
    plan = w.plan_round()
    assert (items(plan), victims(plan)) == ([("A", 1, 4)], [("B", "recompute", "A")])
    w.end_round()
    round_of(w)
    assert w.ends == {"A": "finish"}
    plan = w.plan_round()
    assert [(entry.id, entry.from_swap) for entry in plan.entries] == [("C", True), ("D", False)]
    assert items(plan) == [("C", 1, 2), ("D", 1, 0)]
    assert plan.why("B") is Reason.PAGES
    assert plan.transfers == (1,)
    assert w.state.host_pages == 0
    w.end_round()
    to_the_end(w)
    assert set(w.ends.values()) == {"finish"}


@pytest.mark.parametrize(("transfer_ms", "mode"), [(2, "swap"), (4, "recompute")])
def test_cheapest_compares_there_and_back_with_computing_again(transfer_ms: int, mode: str):
    """Four positions again: 2 + 4 = 6 ms, against twice the transfer."""
    w = world(order="priority", preemption="cheapest", seats=1, host_pages=9)
    w.state.estimate = cost()
    w.state.estimate = type(w.state.estimate)(
        fixed=Fraction(2 * MS), per_token=Fraction(MS), swap_fixed=Fraction(transfer_ms * MS)
    )
    w.arrive("A", 4, 4)
    round_of(w)
    w.arrive("H", 4, 4, priority=1)
    assert victims(w.plan_round()) == [("A", mode, "H")]


@pytest.mark.parametrize(
    ("preemption", "host", "mode"),
    [("recompute", 9, "recompute"), ("swap", 1, "swap"), ("swap", 0, "recompute")],
)
def test_how_a_victim_leaves(preemption: str, host: int, mode: str):
    w = world(order="priority", preemption=preemption, seats=1, host_pages=host)
    w.arrive("A", 4, 4)
    round_of(w)
    w.arrive("H", 4, 1, priority=1)
    assert victims(w.plan_round()) == [("A", mode, "H")]
    w.end_round()
    # From the host it goes on; else it computes its prompt and the one token it had again.
    assert round_of(w) == [("A", 1, 4) if mode == "swap" else ("A", 5, 0)]


def test_a_victim_is_not_let_in_again_in_the_same_round():
    w = world(order="priority", preemption="recompute", pages=4)
    w.arrive("A", 4, 8)
    round_of(w)
    w.arrive("H", 4, 4, priority=1)
    plan = w.plan_round()
    assert (items(plan), plan.why("A")) == ([("H", 4, 0)], Reason.PREEMPTED)


def test_evicting_a_page_that_others_share_frees_nothing():
    """C27. Three pages: A and B share one and have one each. A grows: B gives way, only its own page comes free.

    D, who needs one, still waits.
    """
    w = growing(0, pages=3, preemption="recompute", prefix_sharing=True)
    w.arrive("A", 3, 3, prefix=(("s", 2),))
    round_of(w)
    w.arrive("B", 3, 3, prefix=(("s", 2),))
    assert round_of(w) == [("A", 1, 3), ("B", 1, 2)]
    w.arrive("D", 1, 1)
    plan = w.plan_round()
    assert (items(plan), victims(plan)) == ([("A", 1, 4)], [("B", "recompute", "A")])
    assert plan.why("D") is Reason.PAGES
    assert (w.state.pool.owned, w.state.pool.free) == (3, 0)


def test_page_references_are_what_the_journal_says():
    pool = PagePool(None)
    assert pool.take(2) == [PageRef(0, 0), PageRef(1, 0)]
