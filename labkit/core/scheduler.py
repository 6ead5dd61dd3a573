"""The scheduler's state and its three verbs: `decide(state, now)`, `commit(state, plan)`, `apply(state, event)`.

`decide` (core/decide.py) changes nothing; `commit` takes pages, seats and versions, all or none (A5); the `apply`
functions below bring in what has happened. Each returns the journal records of what it changed, in order.

At `pipeline_depth` 2 the next round is decided and committed while one runs. Rounds settle in order; the result of a
request whose epoch has moved on is dropped, and pages that a round or a swap in flight may still touch come free with
it (law 5). A signal that doesn't come within its lease is given up, and what depended on it is computed again (N02).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from labkit.core.credit import Accounts
from labkit.core.lifecycle import Sequence, Status
from labkit.core.ordering import Ordering, RankedList
from labkit.core.pages import PagePool, PageRef, prefix_chain
from labkit.core.plan import Plan
from labkit.core.types import Outcome, Request, RoundCost, Setup

Record = dict[str, Any]


class StalePlan(Exception):
    """The state has changed since the plan was decided; nothing was taken. Decide again."""


class Transfer(NamedTuple):
    """A swap-out on its way (pipeline depth 2): the pages that it reads, and the room on the host that it fills."""

    pages: list[PageRef]
    host_pages: int


class State:
    """All that the scheduler remembers between rounds.

    `live` holds every request that has not ended: waiting + active + swapped (law 7). `promised` counts pages that
    `reserve` has promised to active requests beyond those they hold. `in_flight` holds the committed plans that have
    not settled, by round number, oldest first; `fences` the pages that come free with a round; `transfers` the
    swap-outs that are not complete, by request and epoch.
    """

    def __init__(self, setup: Setup, estimate: RoundCost) -> None:
        self.setup = setup
        self.budget = setup.budget
        self.policy = setup.policy
        self.estimate = estimate
        self.seats = setup.budget.seats
        self.version = 0
        self.rounds = 0
        self.pool = PagePool(setup.budget.pages)
        self.accounts = Accounts(setup.tenants, setup.default_carry)
        self.ordering = Ordering(setup.policy, self.accounts)
        self.live: dict[str, Sequence] = {}
        self.waiting = RankedList(self.ordering)
        self.active = RankedList(self.ordering)
        self.swapped = RankedList(self.ordering)
        self.promised = 0
        self.host_pages = 0
        self.in_flight: dict[int, Plan] = {}
        self.fences: dict[int, list[PageRef]] = {}
        self.transfers: dict[tuple[str, int], Transfer] = {}
        self.owed: tuple[int, ...] = ()  # bytes of transfers that no round has carried yet
        self.done: list[Sequence] = []  # emitted their last token in the round that just ended
        self.doomed: list[Sequence] = []  # cancelled, expired or failed while they ran
        self.batch: set[str] = set()  # live members of the static batch
        self.batch_ended = 0  # its ended members
        self.work: dict[str, int] = {}  # live requests of each tenant
        self.counts: dict[str, int] = {"submitted": 0, "ended": 0}
        self._ages: deque[tuple[int, Sequence]] = deque()

    @property
    def available_pages(self) -> int:
        """Pages that are neither owned nor promised."""
        return self.pool.free - self.promised

    def pages_for(self, positions: int) -> int:
        """Whole pages that hold so many positions."""
        return -(-positions // self.budget.page_tokens)

    def first_prefill(self, seq: Sequence) -> bool:
        """Its prompt has to be computed in one round: chunking is off and it was never preempted."""
        return (
            self.policy.prefill_chunk is None
            and not seq.preemptions
            and not seq.request.prefilled
            and seq.wanted == seq.prompt_tokens
        )

    def runs(self, plan: Plan) -> bool:
        """The plan makes a round: it has items, or swaps that a later round may not carry (depth 2)."""
        return bool(plan.items or (self.policy.pipeline_depth > 1 and plan.transfers))

    def moving(self, seq: Sequence) -> bool:
        """Its pages have not got to the host yet."""
        return (seq.id, seq.epoch - 1) in self.transfers

    @property
    def chunk(self) -> int:
        """Most prompt positions of one request in one round."""
        return min(self.budget.tokens, self.policy.prefill_chunk or self.budget.tokens)


# ---------------------------------------------------------------------------------------------- at the door


def submit(state: State, request: Request, now: int) -> list[Record]:
    """A request arrives: it waits, or is rejected at the door (`capacity`, then `deadline`: E31.14)."""
    seq = Sequence(request, state.pages_for(request.prompt_tokens + request.max_output_tokens))
    state.version += 1
    state.counts["submitted"] += 1
    refused = _door(state, seq, now)
    if refused:
        seq.to(Outcome.REJECTED)
        state.counts["ended"] += 1
        return [{"event": "reject", "t": now, "id": seq.id, "epoch": 0, "reason": refused}]
    seq.to(Status.WAITING)
    if state.policy.prefix_sharing:
        seq.chain = prefix_chain(request.tenant, request.prefix, state.budget.page_tokens)
    state.live[seq.id] = seq
    state.work[request.tenant] = state.work.get(request.tenant, 0) + 1
    _queue(state, seq, now)
    return []


def _door(state: State, seq: Sequence, now: int) -> str | None:
    request, policy = seq.request, state.policy
    if seq.bound_pages > state.pool.capacity:
        return "capacity"
    if policy.prefill_chunk is None and not request.prefilled and request.prompt_tokens > state.budget.tokens:
        return "capacity"
    if request.deadline_ns is None or "entry" not in policy.backpressure:
        return None
    start = request.prompt_tokens if request.prefilled else 0
    wait, service = expected_wait(state, seq), _alone(state, seq, start)
    late = wait + round(service) + policy.margin_ns > request.deadline_ns - now
    return "deadline" if late else None


def expected_wait(state: State, seq: Sequence) -> Fraction:
    """Ŵ of E31.14 in ns: 0 while a seat is free, else what remains of all before it, run alone, over K.

    While nothing serves (K = 0, C22) it is reckoned with one seat.
    """
    if len(state.active) < state.seats:
        return Fraction(0)
    before = list(state.active)
    before += [
        s for queue in (state.waiting, state.swapped) for s in queue if state.ordering.outranks(s, seq)
    ]
    total = Fraction(0)
    for other in before:
        fresh = other.status is Status.WAITING and not other.preemptions and other.request.prefilled
        total += _alone(state, other, other.request.prompt_tokens if fresh else other.computed)
    return total / max(1, state.seats)


def _alone(state: State, seq: Sequence, computed: int) -> Fraction:
    return state.estimate.alone(computed, seq.total, seq.outputs_left - 1, state.chunk)


def shed(state: State, now: int) -> list[Record]:
    """Reject the latest arrivals beyond `max_queue`; preempted requests do not count (judged after planning)."""
    bound = state.policy.max_queue
    if bound is None or "queue" not in state.policy.backpressure or len(state.waiting) <= bound:
        return []
    new = [seq for seq in state.waiting if not seq.preemptions]
    new.sort(key=lambda seq: (seq.request.arrival_ns, seq.request.place))
    records = []
    for seq in new[bound:]:
        records += _end(state, seq, Outcome.REJECTED, "queue_full", now)
    return records


# ------------------------------------------------------------------------------------ what happens to requests


def end_early(state: State, request_id: str, outcome: Outcome, reason: str | None, now: int) -> list[Record]:
    """Cancel, expire or fail a request; an active one ends when the round in progress does.

    Unknown or ended requests are left alone: terminal is final (law 6).
    """
    seq = state.live.get(request_id)
    if seq is None or seq.doom is not None:
        return []
    state.version += 1
    if seq.status is Status.ACTIVE and state.in_flight:
        seq.doom = (outcome, reason)
        state.doomed.append(seq)
        return []
    return _end(state, seq, outcome, reason, now)


def pause(state: State, request_id: str, paused: bool) -> bool:
    """A reader's buffer is full, or has room again; True if that changed something."""
    seq = state.live.get(request_id)
    if seq is None or seq.paused == paused:
        return False
    state.version += 1
    seq.paused = paused
    return True


def set_seats(state: State, seats: int) -> None:
    """Capacity goes live (C22). With fewer seats nobody is put out, but no round runs more than K."""
    state.version += 1
    state.seats = seats


def refresh_ages(state: State, now: int) -> None:
    """A2: who has waited longer than `aging_seconds` ranks before all who have not, for good (C26)."""
    limit = state.policy.aging_ns
    if limit is None:
        return
    while state._ages and now - state._ages[0][0] > limit:
        since, seq = state._ages.popleft()
        if seq.waiting_since != since or seq.aged or seq.status not in (Status.WAITING, Status.SWAPPED):
            continue
        queue = state.waiting if seq.status is Status.WAITING else state.swapped
        queue.remove(seq)
        seq.aged = True
        queue.add(seq)
        state.version += 1


# -------------------------------------------------------------------------------------------------- a round


def commit(state: State, plan: Plan) -> list[Record]:
    """A5: take seats, pages and versions as planned, all or none; raises StalePlan when the state has moved on."""
    if plan.version != state.version or len(state.in_flight) >= state.policy.pipeline_depth:
        raise StalePlan(f"plan of version {plan.version}, state is at {state.version}")
    records: list[Record] = []
    # Hits first: what a victim lets go of, or a page that is taken, may be one that this plan shares.
    for entry in plan.entries:
        state.pool.share(entry.hits)
    for victim in plan.victims:
        seq = state.live[victim.id]
        if victim.mode == "fail":
            records += _end(state, seq, Outcome.FAILED, "capacity", plan.now)
        else:
            records += _preempt(state, seq, victim.mode, victim.to, plan.now)
    for request_id, count in plan.found.items():
        state.live[request_id].found = count
    for request_id, count in plan.passed.items():
        state.live[request_id].bypassed += count
    if plan.forms_batch:
        state.batch_ended = 0
    for entry in plan.entries:
        records += _seat(state, state.live[entry.id], entry.hits, entry.from_swap, plan)
    page = state.budget.page_tokens
    for name, _, new_tokens, context, _, _ in plan.items:
        seq = state.live[name]
        seq.last_served = state.rounds
        end = seq.scheduled = context + new_tokens
        if end == seq.wanted < seq.most:
            seq.wanted = end + 1  # its token will want one position more
        if end > len(seq.table) * page:
            records.append(_take(state, seq, state.pages_for(end) - len(seq.table), plan.now))
    state.version += 1
    runs = state.runs(plan)
    state.owed = () if runs else plan.transfers
    if runs:
        state.in_flight[state.rounds] = plan
        state.rounds += 1
    return records


def finish_round(state: State, now: int, seconds_ns: int, last: frozenset[str]) -> list[Record]:
    """A6: the oldest round in flight ends at `now`; commit progress and tokens, charge what it cost.

    `last`: requests whose token of this round is their last by the executor's word (end of sequence).
    """
    plan, retired = _oldest(state, now)
    records = _charge(state, plan, seconds_ns, now) if state.ordering.moving else []
    for name, epoch, new_tokens, context, _, yields in plan.items:
        seq = state.live.get(name)
        if seq is None or seq.epoch != epoch:
            continue  # law 5: the one place where a stale result is dropped
        seq.computed = context + new_tokens
        if seq.published < len(seq.chain) and seq.doom is None:
            _publish(state, seq)
        if yields and seq.doom is None:
            seq.total += 1
            index = seq.emitted = seq.emitted + 1
            records.append({"event": "token", "t": now, "id": name, "epoch": epoch, "index": index})
            if name in last or index == seq.request.max_output_tokens:
                state.done.append(seq)
    return records + retired


def lose_round(state: State, now: int) -> list[Record]:
    """The oldest round in flight is given up, its lease has run out: its requests fall back to recompute (N02).

    Nothing of it is committed, so nothing that came out before changes; what later rounds in flight hold for the same
    requests is stale (law 5). Nothing is charged.
    """
    plan, retired = _oldest(state, now)
    records: list[Record] = []
    for item in plan.items:
        seq = state.live.get(item.id)
        if seq is not None and seq.epoch == item.epoch and seq.doom is None:
            records += _preempt(state, seq, "recompute", seq.id, now)
    return records + retired


def finish_swap(state: State, request_id: str, epoch: int, now: int, lost: bool = False) -> list[Record]:
    """A swap-out is complete (depth 2): its pages come free, and the request may come back. Unknown ones are ignored.

    `lost`: its lease has run out instead. Pages and room on the host come free all the same, and a request that
    still lives has to be computed again.
    """
    transfer = state.transfers.pop((request_id, epoch), None)
    if transfer is None:
        return []
    state.version += 1
    records: list[Record] = []
    seq = state.live.get(request_id)
    if seq is None:  # it has ended meanwhile
        state.host_pages -= transfer.host_pages
    elif lost:
        records.append(_gives_way(seq, "recompute", seq.id, now))
        state.swapped.remove(seq)
        state.host_pages -= seq.host_pages
        seq.host_pages = 0
        _start_over(seq)
        seq.to(Status.WAITING)
        state.waiting.add(seq)
    return records + _retire(state, transfer.pages, now)


def settle(state: State, now: int) -> list[Record]:
    """A1: at the safe boundary, end what has finished or was doomed while it ran; free references and reservations."""
    records = []
    for seq in state.done:
        records += _end(state, seq, Outcome.FINISHED, None, now)
    for seq in state.doomed:
        outcome, reason = seq.doom or (Outcome.CANCELLED, None)
        records += _end(state, seq, outcome, reason, now)
    state.done, state.doomed = [], []
    return records


# -------------------------------------------------------------------------------------------------- details


def _oldest(state: State, now: int) -> tuple[Plan, list[Record]]:
    """Take the oldest round out of the flight; with it, the pages that come free."""
    if not state.in_flight:
        raise ValueError("no round is in progress")
    number = next(iter(state.in_flight))
    state.version += 1
    plan = state.in_flight.pop(number)
    return plan, _retire(state, state.fences.pop(number, []), now)


def _retire(state: State, pages: list[PageRef], now: int) -> list[Record]:
    return [
        {"event": "retire", "t": now, "page": ref.id, "generation": ref.generation}
        for ref in state.pool.retire(pages)
    ]


def _queue(state: State, seq: Sequence, now: int) -> None:
    seq.waiting_since = now
    (state.swapped if seq.status is Status.SWAPPED else state.waiting).add(seq)
    if state.policy.aging_ns is not None and not seq.aged:
        state._ages.append((now, seq))


def _seat(
    state: State, seq: Sequence, hits: tuple[PageRef, ...], from_swap: bool, plan: Plan
) -> list[Record]:
    (state.swapped if from_swap else state.waiting).remove(seq)
    seq.to(Status.ACTIVE)
    seq.bypassed = 0
    seq.table = list(hits)
    seq.published = len(hits)
    state.active.add(seq)
    if state.policy.batching == "static":
        state.batch.add(seq.id)
    if state.policy.admission == "reserve":
        state.promised += seq.bound_pages - len(hits)
    records: list[Record] = []
    positions = len(hits) * state.budget.page_tokens
    if from_swap:
        positions = seq.computed
        seq.published = positions // state.budget.page_tokens  # no round has filled these copies (law 10)
        nbytes = seq.host_pages * state.budget.page_bytes
        records.append({"event": "swap_in", "t": plan.now, "id": seq.id, "epoch": seq.epoch, "bytes": nbytes})
        state.host_pages -= seq.host_pages
        seq.host_pages = 0
    elif seq.request.prefilled and not seq.preemptions:
        positions = seq.request.prompt_tokens
    seq.computed = seq.scheduled = positions
    if not seq.preemptions:
        seq.mark = positions
    cached = len(hits) * state.budget.page_tokens
    record: Record = {"event": "admit", "t": plan.now, "id": seq.id, "epoch": seq.epoch, "context": positions}
    records.append(record | {"cached": cached, "shared": [list(ref) for ref in hits]})
    missing = state.pages_for(positions) - len(seq.table)
    if missing > 0:
        records.append(_take(state, seq, missing, plan.now))
    return records


def _take(state: State, seq: Sequence, count: int, now: int) -> Record:
    refs = state.pool.take(count)
    seq.table.extend(refs)
    if state.policy.admission == "reserve":
        state.promised -= count
    pages = [list(ref) for ref in refs]
    return {"event": "pages", "t": now, "id": seq.id, "epoch": seq.epoch, "pages": pages}


def _release(state: State, seq: Sequence, now: int, *swap: list[PageRef]) -> list[Record]:
    """Give back its table; `swap` and the last round in flight that has an item of it keep the pages in quarantine."""
    if state.policy.admission == "reserve":
        state.promised -= seq.bound_pages - len(seq.table)
    steps = [*swap]
    if seq.last_served in state.in_flight:
        steps.append(state.fences.setdefault(seq.last_served, []))
    state.pool.release(seq.table, len(steps))
    for step in steps:
        step.extend(seq.table)
    pages = [list(ref) for ref in seq.table]
    seq.table = []
    if not pages:
        return []
    return [{"event": "release", "t": now, "id": seq.id, "epoch": seq.epoch, "pages": pages}]


def _preempt(state: State, seq: Sequence, mode: str, to: str, now: int) -> list[Record]:
    records = [_gives_way(seq, mode, to, now)]
    state.active.remove(seq)
    steps: list[list[PageRef]] = []
    if mode == "swap":
        seq.host_pages = len(seq.table)
        state.host_pages += seq.host_pages
        nbytes = seq.host_pages * state.budget.page_bytes
        records.append({"event": "swap_out", "t": now, "id": seq.id, "epoch": seq.epoch, "bytes": nbytes})
        if state.policy.pipeline_depth > 1:
            transfer = state.transfers[seq.id, seq.epoch] = Transfer([], seq.host_pages)
            steps = [transfer.pages, state.fences.setdefault(state.rounds, [])]
    records += _release(state, seq, now, *steps)
    seq.mark = max(seq.mark, seq.computed)
    seq.preemptions += 1
    seq.published = 0
    seq.to(Status.SWAPPED if mode == "swap" else Status.WAITING)
    if mode == "swap":
        seq.epoch += 1
    else:
        _start_over(seq)
    _queue(state, seq, now)
    return records


def _gives_way(seq: Sequence, mode: str, to: str, now: int) -> Record:
    return {"event": "preempt", "t": now, "id": seq.id, "epoch": seq.epoch, "mode": mode, "for": to}


def _start_over(seq: Sequence) -> None:
    """Its cache is gone, and with it all that is in flight for it (law 5); what came out stays."""
    seq.epoch += 1
    seq.computed = seq.scheduled = 0
    seq.wanted = seq.total


_EVENT = {
    Outcome.FINISHED: "finish",
    Outcome.REJECTED: "reject",
    Outcome.CANCELLED: "cancel",
    Outcome.EXPIRED: "expire",
    Outcome.FAILED: "fail",
}


def _end(state: State, seq: Sequence, outcome: Outcome, reason: str | None, now: int) -> list[Record]:
    """The one way out: leave the queues, free everything once, publish the terminal state (law 6)."""
    records: list[Record] = []
    state.version += 1
    if seq.status is Status.ACTIVE:
        state.active.remove(seq)
        records = _release(state, seq, now)
    elif seq.status is Status.SWAPPED:
        state.swapped.remove(seq)
        if not state.moving(seq):
            state.host_pages -= seq.host_pages
    else:
        state.waiting.remove(seq)
    seq.to(outcome)
    del state.live[seq.id]
    if seq.id in state.batch:
        state.batch.remove(seq.id)
        state.batch_ended += 1
    state.counts["ended"] += 1
    record: Record = {"event": _EVENT[outcome], "t": now, "id": seq.id, "epoch": seq.epoch, "reason": reason}
    records.append(record)
    tenant = seq.request.tenant
    state.work[tenant] -= 1
    if not state.work[tenant]:
        del state.work[tenant]
        if state.ordering.moving:
            state.accounts.close(tenant, state.work)
            records += _balances(state, {}, now)
    return records


def _publish(state: State, seq: Sequence) -> None:
    """Law 10: pages of a named prefix become shareable now that the round which filled them has committed."""
    full = min(seq.computed // state.budget.page_tokens, len(seq.chain))
    for index in range(seq.published, full):
        state.pool.publish(seq.table[index], seq.chain[index])
    seq.published = max(seq.published, full)


def _charge(state: State, plan: Plan, seconds_ns: int, now: int) -> list[Record]:
    """One credit a committed round (A2, C25): Q is what the round cost, in the policy's unit.

    Nobody pays for the item of a request that has ended while the round was in flight.
    """
    charges: dict[str, Fraction] = {}
    new_tokens = sum(item.new_tokens for item in plan.items)
    shares = [(item.id, Fraction(item.new_tokens)) for item in plan.items]
    if state.policy.charge == "cost":
        shares = [(name, tokens * seconds_ns / (new_tokens * 1_000_000_000)) for name, tokens in shares]
    elif state.policy.charge == "requests":
        shares = [(entry.id, Fraction(1)) for entry in plan.entries]
    for name, amount in shares:
        seq = state.live.get(name)
        if seq is None or (state.policy.charge == "requests" and seq.preemptions):
            continue
        tenant = seq.request.tenant
        charges[tenant] = charges.get(tenant, Fraction(0)) + amount
    state.accounts.charge(charges, state.work)
    return _balances(state, charges, now)


def _balances(state: State, charges: Mapping[str, Fraction], now: int) -> list[Record]:
    return [
        {
            "event": "credit",
            "t": now,
            "tenant": name,
            "charge": str(charges.get(name, 0)),
            "balance": str(balance),
        }
        for name, balance in sorted(state.accounts.balances.items())
    ]
