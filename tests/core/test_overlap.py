"""Rounds that overlap (pipeline depth 2), by hand: what is planned on what is in flight, what is dropped, what is held.

A round of the world lasts 10 ms. Pages have 4 positions. P and O are prompt and bound.
"""

from __future__ import annotations

import pytest

from labkit.core.decide import decide
from labkit.core.invariants import InvariantError
from labkit.core.lifecycle import Status
from labkit.core.pages import PagePool
from labkit.core.plan import Reason
from labkit.core.scheduler import StalePlan, commit, finish_swap
from labkit.core.types import Outcome
from tests.core.test_laws import items, victims, world
from tests.core.world import World


def overlapping(**fields: object) -> World:
    return world(pipeline_depth=2, **fields)


def test_law_5_a_page_is_free_when_no_step_may_touch_it():
    """free + owned + quarantined = 3 throughout; two steps have to retire it, in any order, and no third may."""
    pool = PagePool(3)
    refs = pool.take(2)
    pool.publish(refs[0], b"s")
    pool.release(refs, steps=2)
    assert (pool.owned, pool.quarantined, pool.free) == (0, 2, 1)
    assert pool.find([b"s"]) == [], "a quarantined page is not found"
    assert pool.retire(refs) == []
    assert pool.retire(refs) == [refs[1], refs[0]]
    assert (pool.owned, pool.quarantined, pool.free) == (0, 0, 3)
    assert pool.find([b"s"]) == [refs[0]]
    with pytest.raises(InvariantError, match="law 7: page 1 is retired twice"):
        pool.retire(refs)
    pool.audit()


def test_law_5_a_page_that_another_one_shares_is_held_back_too():
    """Its first holder goes while a step may touch it; then its second: it is free with that step, not before."""
    pool = PagePool(2)
    refs = pool.take(1)
    pool.publish(refs[0], b"s")
    pool.share(refs)
    pool.release(refs, steps=1)
    assert (pool.owned, pool.quarantined) == (1, 0)
    assert pool.find([b"s"]) == refs
    pool.release(refs)
    assert (pool.owned, pool.quarantined, pool.free) == (0, 1, 1)
    assert pool.retire(refs) == refs
    assert pool.free == 2


def test_law_2_planning_goes_by_what_will_be_there():
    """P 4, O 3 and chunks of 2: rounds 0 and 1 are the prompt, then decodes at 4 and 5; the bound needs no fifth."""
    w = overlapping(prefill_chunk=2)
    w.arrive("A", 4, 3)
    assert items(w.plan_round()) == [("A", 2, 0)]
    assert items(w.plan_round()) == [("A", 2, 2)]
    assert not w.may_plan
    with pytest.raises(StalePlan):
        commit(w.state, decide(w.state, w.now))
    w.end_round()
    assert items(w.plan_round()) == [("A", 1, 4)], "its first token is pending"
    w.end_round()
    assert (w.tokens["A"], items(w.plan_round())) == (1, [("A", 1, 5)])
    w.end_round()
    assert items(w.plan_round()) == [], "what is in flight reaches its bound"
    w.end_round()
    assert (w.tokens["A"], w.ends) == (3, {"A": "finish"})


def test_law_5_after_an_end_by_the_executor_s_word_the_next_round_is_wasted():
    """Cases 11 and 12: A ends in round 0; its item in round 1 yields nothing and holds its two pages till then."""
    w = overlapping(pages=4)
    w.arrive("A", 5, 4)
    w.plan_round()
    w.plan_round()
    w.end_round(frozenset("A"))
    assert (w.ends, w.tokens["A"]) == ({"A": "finish"}, 1)
    assert (w.state.pool.quarantined, w.state.available_pages) == (2, 2)
    w.arrive("B", 8, 2)  # 3 pages
    plan = w.plan_round()
    assert (items(plan), plan.why("B")) == ([], Reason.PAGES)
    w.end_round()
    assert w.tokens["A"] == 1
    assert (w.state.pool.quarantined, items(w.plan_round())) == (0, [("B", 8, 0)])


def test_n02_nobody_gives_way_while_a_round_is_in_flight():
    """Two prompts of 4 fill both pages. Both decodes need one: the plan holds; when round 0 has settled, B leaves."""
    w = overlapping(pages=2, admission="grow", preemption="recompute")
    w.arrive("A", 4, 2)
    w.arrive("B", 4, 2)
    w.plan_round()
    before = w.state.version
    assert (w.plan_round().holds, w.state.version) == (True, before)
    w.end_round()
    plan = w.plan_round()
    assert (victims(plan), items(plan)) == ([("B", "recompute", "A")], [("A", 1, 4)])


def swapping() -> World:
    """The same with swap: B's page goes to the host in a round of its own, for A has nowhere to go on meanwhile."""
    w = overlapping(pages=2, admission="grow", preemption="swap", host_pages=1)
    w.arrive("A", 4, 3)
    w.arrive("B", 4, 2)
    w.plan_round()
    w.end_round()
    plan = w.plan_round()
    assert (victims(plan), plan.items, plan.transfers) == ([("B", "swap", "A")], (), (1,))
    assert w.state.in_flight, "a round that moves pages and no more"
    assert w.plan_round().items == ()
    w.end_round()
    assert (w.state.pool.quarantined, w.swaps) == (1, [("B", 0)])
    plan = w.plan_round()
    assert (plan.items, plan.victims, plan.why("B")) == ((), (), Reason.PREEMPTED), "A waits for the page"
    return w


def test_law_5_a_swapped_page_is_free_when_it_has_got_there():
    w = swapping()
    w.end_swap(("B", 0))
    assert items(w.plan_round()) == [("A", 1, 4)]
    w.plan_round()
    w.end_round()
    w.end_round()
    plan = w.plan_round()
    assert [(entry.id, entry.from_swap) for entry in plan.entries] == [("B", True)]
    assert items(plan) == [("B", 1, 4)]


def test_case_13_a_swap_that_never_completes_is_given_up():
    """B lives: it has to be computed again, from nothing; its token stays. A late signal finds nothing."""
    w = swapping()
    w.end_swap(("B", 0), lost=True)
    seq = w.state.live["B"]
    assert (seq.status, seq.computed, seq.emitted, seq.epoch, seq.preemptions) == (Status.WAITING, 0, 1, 2, 1)
    assert (w.state.host_pages, w.state.pool.quarantined) == (0, 0)


@pytest.mark.parametrize("lost", [False, True])
def test_case_13_cancelled_during_its_swap(lost: bool):
    """It ends at once; page and room on the host are held until the swap is over, one way or the other."""
    w = swapping()
    w.end("B")
    assert w.ends == {"B": "cancel"}
    assert (w.state.host_pages, w.state.pool.quarantined) == (1, 1)
    w.end_swap(("B", 0), lost)
    assert (w.state.host_pages, w.state.pool.quarantined) == (0, 0)
    assert finish_swap(w.state, "nobody", 0, w.now) == []


def test_n02_a_lost_round_is_computed_again():
    """Round 1 is lost: A and B fall back with a new epoch, their first tokens stay; round 2's items are stale."""
    w = overlapping()
    w.arrive("A", 4, 4)
    w.arrive("B", 4, 4)
    w.plan_round()
    w.plan_round()
    w.end_round()
    w.plan_round()
    w.end(name := "B")
    w.end_round(lost=True)
    assert w.ends == {name: "cancel"}, "who was cancelled ends with the round, lost or not"
    seq = w.state.live["A"]
    assert (seq.status, seq.epoch, seq.computed, seq.emitted) == (Status.WAITING, 1, 0, 1)
    assert w.state.pool.quarantined == 4, "round 2 still writes both tables"
    assert items(w.plan_round()) == [("A", 5, 0)], "all that it had, and the position of its first token"
    w.end_round()
    assert (w.tokens["A"], w.state.pool.quarantined) == (1, 0)
    w.end_round()
    assert w.tokens["A"] == 2


def test_law_6_a_failure_while_two_rounds_are_in_flight_ends_with_the_first():
    w = overlapping()
    w.arrive("A", 4, 4)
    w.plan_round()
    w.plan_round()
    w.end("A", Outcome.FAILED)
    assert w.ends == {}
    w.end_round()
    assert (w.ends, w.tokens["A"]) == ({"A": "fail"}, 0)
    w.end_round()
    assert w.state.pool.free == w.state.pool.capacity
