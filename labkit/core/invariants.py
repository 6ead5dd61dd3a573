"""Numbered, checkable statements about any state and any step. The numbers are those of the core's laws.

`check(state)` reads the whole state and is for tests and for a look now and then; `check_plan` is cheap enough for
every round of every run (E31.5).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.core.plan import Plan, PlanItem
    from labkit.core.scheduler import State


class InvariantError(Exception):
    """Law `law` is broken: a fault of labkit, never of its input."""

    def __init__(self, law: int, what: str) -> None:
        super().__init__(f"law {law}: {what}")
        self.law = law


def _require(law: int, holds: bool, what: str) -> None:
    if not holds:
        raise InvariantError(law, what)


def check_plan(state: State, plan: Plan) -> None:
    """E31.5 for the round that has just been committed: Σq ≤ B, busy seats ≤ K, promises kept; every step real."""
    items, promised, free = plan.items, state.promised, state.pool.free
    steps = [item.new_tokens for item in items]
    if items and plan is not state.in_flight.get(state.rounds - 1):
        raise InvariantError(5, "the committed plan is not the youngest round in flight")
    if len(state.in_flight) > 1 and plan.victims:
        raise InvariantError(5, "somebody gave way while a round was in flight")
    if min(steps, default=1) <= 0:
        raise InvariantError(2, "an item without new positions")
    if sum(steps) > state.budget.tokens:
        raise InvariantError(2, f"{sum(steps)} new tokens in a round of {state.budget.tokens}")
    if len(items) > state.seats:
        raise InvariantError(2, f"{len(items)} busy seats of {state.seats}")
    if not 0 <= promised <= free:
        raise InvariantError(7, f"{promised} pages promised, {free} free")
    if state.host_pages > state.budget.host_pages:
        raise InvariantError(7, f"{state.host_pages} pages on the host")
    queued = len(state.waiting) + len(state.active) + len(state.swapped)
    if queued != len(state.live):
        raise InvariantError(7, f"{queued} requests in queues, {len(state.live)} live")


def check(state: State) -> None:
    """Everything that must hold between any two steps. Raises InvariantError with the law's number."""
    from labkit.core.lifecycle import Status

    for status, queue in (
        (Status.WAITING, state.waiting),
        (Status.ACTIVE, state.active),
        (Status.SWAPPED, state.swapped),
    ):
        for seq in queue:
            _require(6, seq.status is status, f"{seq.id!r} is {seq.status} in the {status.value} queue")
            _require(7, state.live.get(seq.id) is seq, f"{seq.id!r} is queued but not live")
        keys = [seq.key for seq in queue]
        _require(
            8,
            keys == sorted(keys) and len(set(keys)) == len(keys),
            f"the {status.value} queue is out of order",
        )
    counts = state.counts
    _require(
        7, counts["submitted"] == len(state.live) + counts["ended"], f"{counts} with {len(state.live)} live"
    )
    queued = len(state.waiting) + len(state.active) + len(state.swapped)
    _require(7, queued == len(state.live), f"{queued} requests in queues, {len(state.live)} live")
    _check_positions(state)
    _check_pages(state)
    work = Counter(seq.request.tenant for seq in state.live.values())
    _require(7, work == state.work, f"work by tenant {state.work}, counted {dict(work)}")
    balances = state.accounts.balances
    _require(7, sum(balances.values()) == 0, f"credits do not add up to zero: {balances}")
    for name, balance in balances.items():
        cap = state.accounts.tenant(name).max_carry
        _require(7, -cap <= balance <= cap, f"tenant {name!r} carries {balance}, at most {cap}")
    _require(6, set(state.batch) <= set(state.live), "the batch holds ended requests")


def _check_positions(state: State) -> None:
    from labkit.core.lifecycle import Status

    running: dict[str, list[PlanItem]] = {}
    for plan in state.in_flight.values():
        for item in plan.items:
            running.setdefault(item.id, []).append(item)
    for seq in state.live.values():
        request = seq.request
        base = request.prompt_tokens + (1 if request.prefilled else 0)
        _require(
            2,
            seq.total == base + seq.emitted,
            f"{seq.id!r} wants {seq.total} positions, emitted {seq.emitted}",
        )
        _require(2, 0 <= seq.computed < seq.total, f"{seq.id!r} has {seq.computed} of {seq.total} positions")
        bound = request.max_output_tokens
        _require(7, seq.emitted < bound or seq in state.done, f"{seq.id!r} emitted {seq.emitted} of {bound}")
        cached, wanted = seq.computed, seq.total
        for item in running.get(seq.id, ()):
            if item.epoch != seq.epoch:
                continue
            _require(5, item.context == cached, f"{seq.id!r} runs from {item.context}, has {cached}")
            _require(6, seq.status is Status.ACTIVE, f"{seq.id!r} runs and is not active")
            cached += item.new_tokens
            _require(2, item.yields == (cached == wanted), f"{seq.id!r} at {cached} of {wanted} positions")
            wanted = min(wanted + item.yields, seq.most)
        if seq.doom is None:
            both = (seq.scheduled, seq.wanted)
            _require(
                2, both == (cached, wanted), f"{seq.id!r}: {both} scheduled, {(cached, wanted)} in flight"
            )
        if seq.status is Status.ACTIVE:
            _require(
                7, len(seq.table) == state.pages_for(cached), f"{seq.id!r}: {len(seq.table)} pages, {cached}"
            )
            if state.policy.admission == "reserve":
                _require(7, len(seq.table) <= seq.bound_pages, f"{seq.id!r} holds more than its promise")
        else:
            _require(7, not seq.table, f"{seq.id!r} is not active but holds pages")


def _check_pages(state: State) -> None:
    pool = state.pool
    pool.audit()
    uses = Counter(ref.id for seq in state.active for ref in seq.table)
    for page, count in enumerate(pool.references):
        _require(7, uses[page] == count, f"page {page}: {count} references, {uses[page]} in page tables")
    for seq in state.active:
        for ref in seq.table:
            _require(5, pool.generations[ref.id] == ref.generation, f"{seq.id!r} holds a stale page {ref.id}")
        _require(7, len(set(seq.table)) == len(seq.table), f"{seq.id!r} holds a page twice")
    promised = sum(seq.bound_pages - len(seq.table) for seq in state.active)
    promised = promised if state.policy.admission == "reserve" else 0
    _require(7, promised == state.promised, f"{state.promised} pages promised, counted {promised}")
    _require(7, state.promised <= pool.free, f"{state.promised} pages promised, {pool.free} free")
    _check_quarantine(state)
    on_host = sum(seq.host_pages for seq in state.swapped)
    on_host += sum(move.host_pages for (name, _), move in state.transfers.items() if name not in state.live)
    _require(7, on_host == state.host_pages, f"{state.host_pages} pages on the host, counted {on_host}")


def _check_quarantine(state: State) -> None:
    """Law 5: a page is held back as often as there are steps in flight that may still touch it, and by no others."""
    depth = state.policy.pipeline_depth
    _require(5, len(state.in_flight) <= depth, f"{len(state.in_flight)} rounds in flight at depth {depth}")
    held = [*state.fences.values(), *(move.pages for move in state.transfers.values())]
    steps = Counter(ref.id for pages in held for ref in pages)
    _require(7, steps == state.pool.touched, f"pages held back {state.pool.touched}, counted {dict(steps)}")
    for ref in (ref for pages in held for ref in pages):
        _require(
            5, state.pool.generations[ref.id] == ref.generation, f"page {ref.id} was handed on too early"
        )
    _require(5, set(state.fences) <= set(state.in_flight), "pages wait for a round that is not in flight")
    for name, epoch in state.transfers:
        seq = state.live.get(name)
        _require(6, seq is None or seq.epoch == epoch + 1, f"{name!r} came back before its swap was complete")
