"""`decide(state, now) -> Plan`: who runs in the next round, with how many positions, and what stops the others.

It changes nothing. Steps A3 and A4 of Algorithm 31.1: the groups in the phase policy's order (A3), each request
by the one total order, each with the largest step that every budget allows (A4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import floor

from labkit.core.draft import Draft
from labkit.core.lifecycle import Sequence
from labkit.core.plan import Plan, Reason, Victim
from labkit.core.scheduler import State


def decide(state: State, now: int) -> Plan:
    """The plan for a round that would start at `now`; without items where nothing can run.

    No round is empty while something could run (law 9): where only the clock's limit stops everyone, the first
    takes its smallest step; where only pages do, the lowest-ranked gives way. Nobody gives way while a round is in
    flight: then the plan holds.
    """
    victims: tuple[Victim, ...] = ()
    while True:
        draft = Draft(state, now, victims)
        _form_batch(draft)
        _fill(draft)
        if not draft.items and draft.stopped_by_seconds:
            draft.ignore_seconds = True
            _fill(draft)
        lowest = None if draft.items else draft.way_out()
        if state.in_flight and (lowest or draft.victims):
            return Plan(now, state.version, (), holds=True)
        if lowest is None:
            return draft.plan()
        victims = (*draft.victims.values(), lowest)


def _fill(draft: Draft) -> None:
    """Those who may run; and where they can't, those who would else wait for them."""
    _classes(draft)
    if not draft.items and (draft.closed or draft.held_back):
        closed, draft.closed, draft.admit_anyway = draft.closed, False, True
        draft.begin_pass(draft.tokens)
        _admit(draft)
        draft.closed, draft.admit_anyway = closed, False


def _classes(draft: Draft) -> None:
    """A3: the classes in the phase policy's order, each within its share of the tokens."""
    policy, tokens = draft.state.policy, draft.state.budget.tokens
    if policy.phase == "prefill_first":
        _prompts(draft, tokens)
        _decode(draft, tokens)
        return
    if policy.phase == "shared":
        _decode(draft, floor(tokens * policy.min_decode_share))
        _prompts(draft, floor(tokens * policy.min_prefill_share))
    _decode(draft, tokens)
    _prompts(draft, tokens)


def _decode(draft: Draft, share: int) -> None:
    """Active decodes, one position each; when they outnumber what may run, the longest unserved go first."""
    room = min(share, draft.tokens, draft.state.seats - len(draft.items))
    ready = draft.runnable(decode=True)
    if len(ready) > room:
        ready.sort(key=lambda seq: seq.last_served)
    for seq in ready:
        if room <= 0:
            return
        if seq.id not in draft.victims and draft.add_decode(seq):
            room -= 1


def _prompts(draft: Draft, share: int) -> None:
    """Prompt chunks of active requests, then admissions, within one share of the tokens."""
    draft.begin_pass(share)
    for seq in draft.runnable(decode=False):
        may_start = seq.id in draft.items or len(draft.items) < draft.state.seats
        if may_start and draft.left > 0 and seq.id not in draft.victims:
            draft.add_chunk(seq)
    _admit(draft)


def _admit(draft: Draft) -> None:
    """Swapped requests first, then the waiting ones; nobody takes the pages that were freed to break a deadlock."""
    state = draft.state
    if draft.closed:
        draft.rest = Reason.PAGES
        return

    leaving = [state.live[victim.id] for victim in draft.victims.values() if victim.mode == "swap"]
    draft.held_back = any(not seq.paused for seq in leaving)
    for seq in state.ordering.ranked(state.swapped):
        if seq.id in draft.entries:
            continue
        if seq.paused:
            reason: Reason | None = Reason.READER
        else:
            reason = Reason.PREEMPTED if state.moving(seq) else draft.try_enter(seq)
        if reason:
            draft.notes[seq.id] = reason
            draft.held_back |= reason is not Reason.READER
    queue = state.ordering.ranked(state.waiting)
    if state.policy.batching == "static":
        members = [seq for seq in queue if seq.id in state.batch]
        _walk(draft, members, draft.try_enter)
        if not draft.forms_batch:
            draft.rest = Reason.BATCH if state.batch else Reason.WINDOW
    elif draft.held_back and not draft.admit_anyway:
        draft.rest = Reason.SWAPPED
    else:
        _walk(draft, queue, draft.try_enter)


def _form_batch(draft: Draft) -> None:
    """Static batching (C10): the next batch forms when all have ended, and K wait or the oldest has waited enough."""
    state, policy = draft.state, draft.state.policy
    if policy.batching != "static" or state.batch or not len(state.waiting):
        return
    due = min(seq.request.arrival_ns for seq in state.waiting) + policy.batch_window_ns
    if len(state.waiting) < state.seats and draft.now < due:
        draft.wake_ns = due
        return
    draft.forms_batch = True
    _walk(draft, state.ordering.ranked(state.waiting), draft.try_join)
    draft.unpromise()


def _walk(draft: Draft, queue: Iterable[Sequence], attempt: Callable[[Sequence], Reason | None]) -> None:
    """Down the queue in order; each admission past one that did not fit counts against `max_bypass` (A4, C23)."""
    bound = draft.state.policy.max_bypass
    passed: list[Sequence] = []
    most = 0  # the greatest count among those passed
    for seq in queue:
        if seq.id in draft.entries:
            continue
        if seq.paused:
            draft.notes[seq.id] = Reason.READER
            continue
        if bound is not None and passed and most >= bound:
            draft.rest = Reason.BYPASS
            return
        if draft.left <= 0:
            draft.rest = Reason.TOKENS
            return
        reason = attempt(seq)
        if reason is None:
            for other in passed:
                draft.passed[other.id] = draft.passed.get(other.id, 0) + 1
            most += 1
        elif reason is Reason.SEATS:
            draft.rest = reason
            return
        else:
            draft.notes[seq.id] = reason
            most = max(most if passed else 0, seq.bypassed + draft.passed.get(seq.id, 0))
            passed.append(seq)
