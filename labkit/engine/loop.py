"""The shell around the core: events in, plans out, journal on.

At one instant, in this order: cancellations due; the round that ends now settles; swaps that are complete now;
failures and expiries; reader drains; capacity that goes live; arrivals in file order; planning; then a round starts if
the plan has items. When nothing can be planned, time jumps to whatever comes next.

At `pipeline_depth` 2 a second round is planned and launched before the first is waited for, so the executor goes from
one to the next without the scheduler. What it has launched stays: who arrives meanwhile can join the round after it,
and a reader that turns out to be full still gets the token of that round. Signals may come late, or never: a round or
a swap whose signal has not come `lease_seconds` after it was due counts as lost. A round's signal is due when it ends,
a swap-out's when the round that carries it ends.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from labkit.core import invariants
from labkit.core.decide import decide
from labkit.core.lifecycle import Status
from labkit.core.plan import Plan
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
from labkit.core.types import Job, Outcome, RoundCost, Setup
from labkit.engine.notes import NoteBook
from labkit.engine.outputs import Stream, direct
from labkit.executors.result import RoundResult

Record = dict[str, Any]
_EARLY_ENDS = frozenset({"cancel", "expire", "fail"})
_ENDS = _EARLY_ENDS | {"finish", "reject"}
CANCEL, ROUND, SWAP, END, DRAIN, TIMER = range(6)  # the order of what is due at one instant


class Source(Protocol):
    """Where requests come from. `notify_end` tells a closed loop when a user may think of the next one."""

    def peek(self) -> int | None:
        """Arrival in ns of the next job that is known now; None if there is none."""
        ...

    def take(self) -> Job:
        """The next job."""
        ...

    def notify_end(self, request_id: str, at_ns: int) -> None:
        """A request has ended and all of it is delivered at `at_ns` (which may lie ahead)."""
        ...


class Executor(Protocol):
    """Who spends the time of a round.

    `follow`, where it is not None, gets every record of the core before the next launch, in order: `admit`, `pages`,
    `release`, `swap_out`, `swap_in` are all that an executor with a real cache needs to keep its own page tables.
    """

    follow: Callable[[Record], None] | None

    def submit(self, job: Job) -> None:
        """A request may run from now on."""
        ...

    def forget(self, request_id: str) -> None:
        """It will not run any more, but for what is launched already."""
        ...

    def launch(self, plan: Plan) -> None:
        """Start one round after those that were launched before it; may return before it has ended."""
        ...

    def collect(self) -> RoundResult:
        """Wait for the oldest launched round that was not collected yet."""
        ...


@dataclass(slots=True)
class Launched:
    """A round on its way: what the journal will say of it, the swap-outs that it carries, and what came of it."""

    record: Record
    swaps: list[tuple[str, int]]
    result: RoundResult | None = None
    due_ns: int = 0


class Engine:
    """One run of one scenario. `sink` gets each journal event as a dict, in order.

    `seats_changes`: (ordered_ns, live_ns, seats). `until_ns`: no round starts at or after it. `check_every`: full
    invariant checks every so many rounds (the cheap ones run every round); both raise InvariantError.
    """

    def __init__(
        self,
        setup: Setup,
        executor: Executor,
        source: Source,
        *,
        estimate: RoundCost,
        capacity_changes: Iterable[tuple[int, int, int]] = (),
        until_ns: int | None = None,
        sink: Callable[[Record], None] = lambda record: None,
        check_every: int = 256,
    ) -> None:
        self.state = State(setup, estimate)
        self.executor = executor
        self.source = source
        self.until_ns = until_ns
        self.sink = sink
        self.check_every = check_every
        self.now = 0
        self.notes = NoteBook()
        self.streams: dict[str, Stream] = {}
        self._heap: list[tuple[int, int, int, str, Any]] = []
        self._pushed = 0
        self._after_round: dict[str, tuple[Outcome, str, int]] = {}
        self._round_ended = False
        self._launched: deque[Launched] = deque()  # rounds that were not collected yet
        self._running: Launched | None = None  # the one that was, and has not settled
        self._free_ns = 0  # when the executor has done all that was collected
        self._window_ns: int | None = None
        self._next_check = check_every
        for at_ns, live_ns, seats in capacity_changes:
            self._push(at_ns, TIMER, "ordered", seats)
            self._push(live_ns, TIMER, "live", seats)

    # ------------------------------------------------------------------------------------------------ time

    def run(self) -> None:
        """Run until nothing is left to happen, or until `until_ns`."""
        while True:
            now = self._next_instant()
            if now is None or (self._over(now) and not self.state.in_flight):
                break
            self.now = now
            self._instant(now)
        self._close()

    def _over(self, now: int) -> bool:
        return self.until_ns is not None and now > self.until_ns

    def _next_instant(self) -> int | None:
        arrival = self._next_arrival()
        state = self.state
        if arrival is None and not (state.live or self.streams or state.in_flight or state.transfers):
            return None
        while self._heap and self._stale(self._heap[0]):
            heapq.heappop(self._heap)
        due = self._heap[0][0] if self._heap else None
        if due is None or (arrival is not None and arrival < due):
            return arrival if arrival is None else max(arrival, self.now)
        return due

    def _next_arrival(self) -> int | None:
        arrival = self.source.peek()
        return None if arrival is None or self._over(arrival) else arrival

    def _push(self, at_ns: int, kind: int, what: str, payload: Any) -> None:
        self._pushed += 1
        heapq.heappush(self._heap, (at_ns, kind, self._pushed, what, payload))

    def _stale(self, entry: tuple[int, int, int, str, Any]) -> bool:
        at_ns, kind, _, what, payload = entry
        if kind == DRAIN:
            stream = self.streams.get(payload)
            return stream is None or stream.next_read_ns != at_ns
        if what == "patience":
            stream = self.streams.get(payload[0])
            return stream is None or stream.full_since != payload[1] or payload[0] not in self.state.live
        if kind in (CANCEL, END):
            return payload not in self.state.live
        if kind == ROUND:
            return payload not in self.state.in_flight  # a signal after its lease, or the other way round
        return kind == SWAP and payload not in self.state.transfers

    # ------------------------------------------------------------------------------------------------ an instant

    def _instant(self, now: int) -> None:
        self._round_ended = False
        while self._heap and self._heap[0][0] == now:
            entry = heapq.heappop(self._heap)
            if not self._stale(entry):
                self._due(now, entry[1], entry[3], entry[4])
        if self._after_round:
            self._end_late(now)
        if self._round_ended and self.state.doomed:  # since then: the next round may be in flight already
            self._record(settle(self.state, now))
        while True:
            arrival = self._next_arrival()
            while arrival is not None and arrival <= now:
                self._arrive(self.source.take(), now)
                arrival = self._next_arrival()
            if self._may_plan(now):
                self._plan(now)
            else:
                self._record(shed(self.state, now))
            if self._launched and self._running is None:
                self._collect(now)
            if self._next_arrival() != now:
                return

    def _may_plan(self, now: int) -> bool:
        more = len(self.state.in_flight) < self.state.policy.pipeline_depth
        return more and (self.until_ns is None or now < self.until_ns)

    def _due(self, now: int, kind: int, what: str, payload: Any) -> None:
        if kind == ROUND:
            self._end_round(now, what == "lease")
        elif kind == SWAP:
            name, epoch = payload
            self._record(finish_swap(self.state, name, epoch, now, lost=what == "lease"))
        elif kind == DRAIN:
            stream = self.streams[payload]
            self._record(stream.drain(now))
            self._after_delivery(stream, now)
        elif kind == TIMER and what != "window":
            self.sink({"event": "wake", "t": now, "reason": f"capacity_{what}", "seats": payload})
            if what == "live":
                set_seats(self.state, payload)
        elif kind == TIMER:
            self._window_ns = None
        elif what == "patience":
            self._record(end_early(self.state, payload[0], Outcome.CANCELLED, "slow_reader", now))
        elif what == "cancel":
            self._record(end_early(self.state, payload, Outcome.CANCELLED, None, now))
        else:
            self._end_or_mark(now, what, payload)

    def _end_or_mark(self, now: int, what: str, request_id: str) -> None:
        """A failure or a deadline. Active requests end with a round: on time is a token at the deadline itself."""
        outcome, reason = (Outcome.FAILED, "fault") if what == "fail" else (Outcome.EXPIRED, "deadline")
        active = self.state.live[request_id].status is Status.ACTIVE
        on_time = what == "deadline" and self._round_ended
        if active and ((self.state.in_flight and not self._round_ended) or on_time):
            self._after_round.setdefault(request_id, (outcome, reason, now))
        else:
            self._record(end_early(self.state, request_id, outcome, reason, now))

    def _end_late(self, now: int) -> None:
        for request_id, (outcome, reason, since) in list(self._after_round.items()):
            seq = self.state.live.get(request_id)
            if seq is None:
                del self._after_round[request_id]
            elif seq.status is not Status.ACTIVE or (self._round_ended and now > since):
                del self._after_round[request_id]
                self._record(end_early(self.state, request_id, outcome, reason, now))

    def _arrive(self, job: Job, now: int) -> None:
        request, client = job.request, job.client
        arrival = {
            "event": "submit",
            "t": now,
            "id": request.id,
            "prompt_tokens": request.prompt_tokens,
            "max_output_tokens": request.max_output_tokens,
            "tenant": request.tenant,
            "priority": request.priority,
            "deadline": request.deadline_ns,
            "prefilled": request.prefilled,
            "direct": direct(client),
        }
        if client.intended_ns is not None:
            arrival["intended"] = client.intended_ns
        self.sink(arrival)
        self.executor.submit(job)
        records = submit(self.state, request, now)
        if request.id in self.state.live:
            self.notes.arrives(request.id)
            if not direct(client):
                self.streams[request.id] = Stream(request.id, client)
            if client.cancel_ns is not None:
                self._push(client.cancel_ns, CANCEL, "cancel", request.id)
            if client.fail_ns is not None:
                self._push(client.fail_ns, END, "fail", request.id)
            if request.deadline_ns is not None:
                self._push(max(now, request.deadline_ns), END, "deadline", request.id)
        self._record(records)

    # ------------------------------------------------------------------------------------------------ a round

    def _plan(self, now: int) -> None:
        state = self.state
        if not state.live:
            return
        if not self._round_ended:
            self._step("A1")
        self._step("A2")
        refresh_ages(state, now)
        self._step("A3")
        self._step("A4")
        plan = decide(state, now)
        if plan.holds:
            self._record(shed(state, now))
            return
        runs, number = state.runs(plan), state.rounds
        news = self.notes.news(plan, state)
        items = [[name, q, s, "prefill" if prefill else "decode"] for name, _, q, s, prefill, _ in plan.items]
        if runs or news:
            self.sink({"event": "plan", "t": now, "round": number, "items": items, "notes": news})
        if items or plan.victims or plan.entries:
            self._step("A5")
            self._record(commit(state, plan))
        owned = state.pool.owned
        self._record(shed(state, now))
        invariants.check_plan(state, plan)
        if not runs:
            # An empty plan that made room is followed at once by one that can use it (law 9).
            self._plan(now) if plan.victims else self._idle(now, plan)
            return
        self.executor.launch(plan)
        record = {
            "event": "round",
            "t": now,
            "round": number,
            "start": now,
            "waiting": len(state.waiting) + len(state.swapped),
            "pages_in_use": owned,
            "pages_reserved": owned + state.promised,
            "idle_seats": plan.idle_seats,
        }
        swaps = [
            (victim.id, state.live[victim.id].epoch - 1) for victim in plan.victims if victim.mode == "swap"
        ]
        self._launched.append(Launched(record, swaps))
        if self._may_plan(now):
            self._plan(now)

    def _collect(self, now: int) -> None:
        """Wait for the oldest launched round, now that the next one is launched too; its signal may come later."""
        self._running = running = self._launched.popleft()
        number, start = running.record["round"], max(running.record["start"], self._free_ns)
        running.result = result = self.executor.collect()
        self._free_ns = running.due_ns = due = start + result.seconds_ns
        running.record["start"] = start
        if result.late_ns is not None:
            self._push(max(now, due + result.late_ns), ROUND, "signal", number)
        if result.late_ns != 0:
            self._push(max(now, due + self.state.policy.lease_ns), ROUND, "lease", number)

    def _idle(self, now: int, plan: Plan) -> None:
        """A7: no feasible plan: wait for an event, never spin."""
        if plan.wake_ns is not None and plan.wake_ns != self._window_ns:
            self._window_ns = plan.wake_ns
            self._push(plan.wake_ns, TIMER, "window", None)
        if self.state.live and not self.state.in_flight:
            self._step("A7")
            ahead = self._next_instant()
            if ahead is None and self.until_ns is not None and not self.state.seats:
                return  # no seat for the rest of the observation: who waits is unfinished
            if ahead is None:
                raise invariants.InvariantError(
                    9, f"{len(self.state.live)} requests wait and nothing can happen"
                )
            self.sink({"event": "wake", "t": now, "reason": "idle", "at": ahead})

    def _end_round(self, now: int, lost: bool) -> None:
        state, ended = self.state, self._running
        assert ended is not None and ended.result is not None
        record, result = ended.record, ended.result
        self._running = None
        self._round_ended = True
        self._step("A6")
        if lost:
            records = lose_round(state, now)
            record["lost"] = True
        else:
            records = finish_round(state, now, result.seconds_ns, result.last)
        if result.tokens:
            _tell_tokens(records, result)
        self._record(records)
        self._step("A7")
        record["t"] = now
        if now != ended.due_ns:
            record["end"] = ended.due_ns
        self.sink(record)
        self._step("A1")
        self._record(settle(state, now))
        for swap in ended.swaps:
            self._follow_swap(now, swap, ended.due_ns, result.late_swaps.get(swap[0], 0))
        if state.rounds >= self._next_check:
            # The full check reads every page: the more there are, the rarer it is, and its share of the time stays.
            pages = len(state.pool.references) // 32 if self.check_every > 1 else 0
            self._next_check = state.rounds + max(self.check_every, pages)
            invariants.check(state)

    def _follow_swap(self, now: int, swap: tuple[str, int], due_ns: int, late_ns: int | None) -> None:
        """A swap-out is complete with the round that carried it, or later, or never."""
        if late_ns is not None and due_ns + late_ns <= now:
            self._record(finish_swap(self.state, *swap, now))
            return
        if late_ns is not None:
            self._push(due_ns + late_ns, SWAP, "signal", swap)
        self._push(max(now, due_ns + self.state.policy.lease_ns), SWAP, "lease", swap)

    # ------------------------------------------------------------------------------------------------ records

    def _step(self, name: str) -> None:
        self.sink({"event": "step", "t": self.now, "step": name})

    def _record(self, records: list[Record]) -> None:
        """Journal what the core has changed, and let the output side follow."""
        follow = self.executor.follow
        for record in records:
            kind = record["event"]
            if follow is not None:
                follow(record)
            if self.streams and kind in _EARLY_ENDS:
                self._read_now(record)
            self.sink(record)
            if kind == "token":
                if self.streams:
                    self._on_token(record)
            elif kind == "deliver":
                self._on_deliver(record)
            elif kind == "admit":
                self.notes.leaves(record["id"])
            elif kind == "preempt":
                self.notes.arrives(record["id"])
            elif kind in _ENDS:
                self._on_end(record)

    def _on_token(self, record: Record) -> None:
        stream = self.streams.get(record["id"])
        if stream is not None:
            self._record(stream.emit(record["t"]))
            self._after_delivery(stream, record["t"])

    def _on_end(self, record: Record) -> None:
        request_id, now = record["id"], record["t"]
        self.notes.leaves(request_id)
        self.executor.forget(request_id)
        stream = self.streams.get(request_id)
        if stream is None:
            self.source.notify_end(request_id, now)
        elif record["event"] == "finish":
            self._record(stream.hand_over(now))
            self._after_delivery(stream, now)
            self._close_if_read(stream, now + stream.client.network_ns)
        else:
            del self.streams[request_id]
            self.source.notify_end(request_id, now)

    def _read_now(self, record: Record) -> None:
        """What the client has read by the very instant at which its request is cancelled is delivered."""
        stream = self.streams.get(record["id"])
        if stream is not None and stream.next_read_ns == record["t"]:
            self._record(stream.drain(record["t"]))

    def _on_deliver(self, record: Record) -> None:
        stream = self.streams.get(record["id"])
        if stream is not None:
            self._close_if_read(stream, record["at"])

    def _close_if_read(self, stream: Stream, at_ns: int) -> None:
        """The request has ended and its client has read the last token: a closed loop's user may go on."""
        ended = stream.id not in self.state.live and stream.read == stream.emitted
        if ended and stream.id in self.streams:
            del self.streams[stream.id]
            self.source.notify_end(stream.id, at_ns)

    def _after_delivery(self, stream: Stream, now: int) -> None:
        """Plan the next read; pause or resume the request as its buffer fills and drains (C20)."""
        if stream.next_read_ns != stream.planned_ns:
            stream.planned_ns = stream.next_read_ns
            if stream.next_read_ns is not None:
                self._push(stream.next_read_ns, DRAIN, "drain", stream.id)
        reader = stream.client.reader
        if (
            reader is None
            or stream.id not in self.state.live
            or "output" not in self.state.policy.backpressure
        ):
            return
        if stream.full and stream.full_since is None:
            stream.full_since = now
            if reader.patience_ns is not None:
                self._push(now + reader.patience_ns, CANCEL, "patience", (stream.id, now))
        elif not stream.full:
            stream.full_since = None
        if pause(self.state, stream.id, stream.full):
            self.sink({"event": "pause" if stream.full else "resume", "t": now, "id": stream.id})

    # ------------------------------------------------------------------------------------------------ the end

    def _close(self) -> None:
        """What has not ended is censored; what is finished is still delivered to the last token."""
        if self.until_ns is not None and (self.state.live or self.source.peek() is not None):
            self.now = max(self.now, self.until_ns)
            self.sink({"event": "until", "t": self.now})
        elif self.state.live:
            raise invariants.InvariantError(
                9, f"{len(self.state.live)} requests are left and nothing can happen"
            )
        draining = [stream for stream in self.streams.values() if stream.id not in self.state.live]
        pending = [
            (stream.next_read_ns, at, stream) for at, stream in enumerate(draining) if stream.next_read_ns
        ]
        heapq.heapify(pending)
        while pending:
            now, at, stream = heapq.heappop(pending)
            assert now is not None
            self._record(stream.drain(now))
            if stream.next_read_ns is not None:
                heapq.heappush(pending, (stream.next_read_ns, at, stream))
        invariants.check(self.state)


def _tell_tokens(records: list[Record], result: RoundResult) -> None:
    """The real model's tokens join their events: `token` its id, `text` what it completes."""
    for record in records:
        if record["event"] == "token":
            token = result.tokens[record["id"]]
            record["token"] = token.id
            if token.text is not None:
                record["text"] = token.text
