"""The result object (`labkit.result/1`) as a fold over journal events: `run` and `replay` both come through here.

Times stay integer nanoseconds until they are written: a second is then the double nearest to the exact value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from labkit.core.types import NS_PER_SECOND, Outcome

Record = dict[str, Any]
ENDS = {
    "finish": Outcome.FINISHED,
    "reject": Outcome.REJECTED,
    "cancel": Outcome.CANCELLED,
    "expire": Outcome.EXPIRED,
    "fail": Outcome.FAILED,
}


class FoldError(ValueError):
    """Events that no run could have written, such as a token of a request that was never submitted."""


def seconds(ns: int | None, count: int = 1) -> float | None:
    """`ns`/`count` as correctly rounded seconds."""
    return None if ns is None else ns / (NS_PER_SECOND * count)


class Trace:
    """What the journal has told so far of one request; times in ns."""

    __slots__ = (
        "cached", "computed", "delivered", "direct", "end", "first_execution", "high_water", "id", "outcome",
        "preemptions", "reason", "recomputed", "submit", "text", "token_ids", "tokens", "waited", "waiting_since",
    )  # fmt: skip

    def __init__(self, submit: Record) -> None:
        self.id: str = submit["id"]
        self.submit = submit
        self.direct: bool = submit["direct"]
        self.outcome = Outcome.UNFINISHED
        self.reason: str | None = None
        self.end: int | None = None
        self.first_execution: int | None = None
        self.tokens: list[int] = []
        self.token_ids: list[int] = []  # the real model's, and what they say; empty without one
        self.text: list[str] = []
        self.delivered: list[int] = self.tokens if self.direct else []
        self.waiting_since: int | None = submit["t"]
        self.waited = 0
        self.high_water = 0
        self.computed = 0
        self.recomputed = 0
        self.cached = 0
        self.preemptions = 0

    @property
    def arrival(self) -> int:
        """a in ns."""
        arrival: int = self.submit["t"]
        return arrival

    @property
    def ttft(self) -> int | None:
        """E31.1 at emission: u₁ − a, in ns; None without a token."""
        return self.tokens[0] - self.arrival if self.tokens else None

    @property
    def tpot(self) -> tuple[int, int] | None:
        """E31.2 at emission as (ns, gaps): (u_O − u₁, O − 1); None with fewer than two tokens (C02)."""
        return (self.tokens[-1] - self.tokens[0], len(self.tokens) - 1) if len(self.tokens) > 1 else None

    @property
    def complete(self) -> bool:
        """It has ended and, if it finished, everything is delivered."""
        return self.end is not None and (
            self.outcome is not Outcome.FINISHED or len(self.delivered) == len(self.tokens)
        )

    def row(self) -> Record:
        """Its entry in the result object."""
        tpot = self.tpot
        gaps = [late - early for early, late in zip(self.tokens, self.tokens[1:], strict=False)]
        wait = None if self.first_execution is None else self.first_execution - self.arrival
        row: Record = {
            "id": self.id,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "arrival": seconds(self.arrival),
            "first_execution": seconds(self.first_execution),
            "token_times": [seconds(t) for t in self.tokens],
            "delivered_times": [seconds(t) for t in self.delivered],
            "end": seconds(self.end),
            "ttft": seconds(self.ttft),
            "wait": seconds(wait),
            "waits_total": seconds(self.waited),
            "tpot": seconds(*tpot) if tpot else None,
            "itl_max": seconds(max(gaps, default=None)),
            "computed_tokens": self.computed,
            "cached_tokens": self.cached,
            "recomputed_tokens": self.recomputed,
            "preemptions": self.preemptions,
        }
        return row


class _Planned(NamedTuple):
    """What was told of a round before it ended; `overlaps`: it was planned while another one ran."""

    items: list[list[Any]]
    notes: list[list[str]]
    overlaps: bool


_UNPLANNED = _Planned([], [], False)


class ResultFold:
    """Feed it the journal's events, in order; `result()` at any time, then or at the end.

    The first line goes to `begin`; without it the run counts as one of the virtual executor.

    `full` False keeps nothing per request or round once it is over: memory is flat, and `requests` and `rounds`
    stay empty. `on_end(trace)` is called with each request when it is over.
    """

    def __init__(self, full: bool = True, on_end: Callable[[Trace], None] | None = None) -> None:
        self.full = full
        self.on_end = on_end
        self.live: dict[str, Trace] = {}
        self.order: list[Trace] = []
        self.rounds: list[Record] = []
        self.counts = dict.fromkeys(["submitted", *(outcome.value for outcome in Outcome)], 0)
        self.computed = 0
        self.recomputed = 0
        self.busy_ns = 0
        self.rounds_run = 0
        self.real = False  # a real model ran: every request has `tokens`,
        self.speaks = False  # and with a tokenizer `text`
        self.horizon_ns = 0
        self.stop_ns: int | None = None
        self.clock_ns = 0
        self._seen: set[str] = set()
        self._open: dict[int, _Planned] = {}  # by the number of the round
        self._last_end = 0
        self._handlers: dict[str, Callable[[Record], None]] = {
            "submit": self._submit,
            "admit": self._admit,
            "plan": self._plan,
            "round": self._round,
            "token": self._token,
            "deliver": self._deliver,
            "preempt": self._preempt,
            "until": self._until,
            **dict.fromkeys(ENDS, self._end),
        }

    def begin(self, header: Record) -> None:
        """The journal's first line, before the events: whether a real model ran, and whether it speaks."""
        self.real = header["executor"]["kind"] == "torch"
        self.speaks = self.real and bool(header["executor"].get("tokenizer"))

    def feed(self, event: Record) -> None:
        """One event. Raises FoldError where it can't follow from those before it."""
        now = event["t"]
        if now < self.clock_ns:
            raise FoldError(f"time goes back from {self.clock_ns} to {now} ns")
        self.clock_ns = now
        handler = self._handlers.get(event["event"])
        if handler is not None:
            handler(event)

    def feed_all(self, events: Iterable[Record]) -> ResultFold:
        """All events, in order."""
        for event in events:
            self.feed(event)
        return self

    def _of(self, event: Record) -> Trace:
        trace = self.live.get(event["id"])
        if trace is None:
            raise FoldError(f"{event['event']} of request {event['id']!r}, which is not in the system")
        return trace

    def _submit(self, event: Record) -> None:
        if event["id"] in self.live or event["id"] in self._seen:
            raise FoldError(f"request {event['id']!r} is submitted twice")
        trace = self.live[event["id"]] = Trace(event)
        self.counts["submitted"] += 1
        if self.full:
            self.order.append(trace)
            self._seen.add(event["id"])

    def _admit(self, event: Record) -> None:
        trace = self._of(event)
        if trace.waiting_since is None:
            raise FoldError(f"request {trace.id!r} is admitted while it does not wait")
        self._waits_no_more(trace, event["t"])
        trace.high_water = max(trace.high_water, event["context"])
        if not trace.preemptions:
            trace.cached = event["cached"]

    def _waits_no_more(self, trace: Trace, now: int) -> None:
        if trace.waiting_since is not None:
            trace.waited += now - trace.waiting_since
            trace.waiting_since = None

    def _preempt(self, event: Record) -> None:
        trace = self._of(event)
        if trace.waiting_since is None:  # else its swap was lost: it waits already, now with nothing computed
            trace.preemptions += 1
            trace.waiting_since = event["t"]

    def _plan(self, event: Record) -> None:
        number = event["round"]
        if number != self.rounds_run and not (
            number == self.rounds_run + 1 and self.rounds_run in self._open
        ):
            raise FoldError(f"a plan for round {number} where round {self.rounds_run} is due")
        overlaps = number > self.rounds_run
        for request_id, *_ in event["items"] if overlaps else ():
            self._of({"event": "plan", "id": request_id})
        told = self._open.get(number, _UNPLANNED)
        self._open[number] = _Planned(event["items"], told.notes + event["notes"], overlaps)

    def _round(self, event: Record) -> None:
        planned = self._open.pop(event["round"], _UNPLANNED)
        items, overlaps = planned.items, planned.overlaps
        for request_id, new_tokens, context, _ in items:
            trace = self.live.get(request_id)
            if overlaps and (trace is None or trace.outcome is not Outcome.UNFINISHED):
                continue  # it ended while this round was in flight: the work is wasted
            if trace is None:
                raise FoldError(f"round {event['round']} runs {request_id!r}, which is not in the system")
            if trace.first_execution is None:
                trace.first_execution = event["start"]
            end = context + new_tokens
            trace.computed += new_tokens
            self.computed += new_tokens
            if context < trace.high_water:
                again = min(end, trace.high_water) - context
                trace.recomputed += again
                self.recomputed += again
            if end > trace.high_water:
                trace.high_water = end
        ended: int = event["end" if "end" in event else "t"]  # its signal may have come later
        duration = ended - event["start"]
        if event["round"] != self.rounds_run or duration <= 0 or event["start"] < self._last_end:
            raise FoldError(
                f"round {event['round']} from {event['start']} ns does not follow round {self.rounds_run - 1}"
            )
        self._last_end = ended
        self.busy_ns += duration
        self.rounds_run += 1
        self.horizon_ns = max(self.horizon_ns, event["t"])
        if self.full:
            self.rounds.append(
                {
                    "index": event["round"],
                    "start": seconds(event["start"]),
                    "seconds": seconds(duration),
                    "waiting": event["waiting"],
                    "pages_in_use": event["pages_in_use"],
                    "pages_reserved": event["pages_reserved"],
                    "items": [
                        {"id": name, "phase": phase, "new_tokens": new_tokens, "context": context}
                        for name, new_tokens, context, phase in items
                    ],
                    "notes": [{"id": name, "reason": reason} for name, reason in planned.notes],
                }
            )

    def _token(self, event: Record) -> None:
        trace = self._of(event)
        if event["index"] != len(trace.tokens) + 1:
            raise FoldError(f"token {event['index']} of {trace.id!r} comes after {len(trace.tokens)} tokens")
        trace.tokens.append(event["t"])
        if "token" in event:
            trace.token_ids.append(event["token"])
            if "text" in event:
                trace.text.append(event["text"])

    def _deliver(self, event: Record) -> None:
        trace = self._of(event)
        if trace.direct or event["index"] != len(trace.delivered) + 1 or event["index"] > len(trace.tokens):
            raise FoldError(f"delivery {event['index']} of {trace.id!r} is out of turn")
        trace.delivered.append(event["at"])
        if trace.outcome is Outcome.FINISHED and len(trace.delivered) == len(trace.tokens):
            self._over(trace, event["at"])

    def _end(self, event: Record) -> None:
        trace = self._of(event)
        if trace.end is not None:
            raise FoldError(f"request {trace.id!r} ends twice")
        trace.outcome = ENDS[event["event"]]
        trace.reason = event["reason"]
        trace.end = event["t"]
        self._waits_no_more(trace, event["t"])
        self.counts[trace.outcome.value] += 1
        if trace.outcome is not Outcome.FINISHED:
            self._over(trace, event["t"])
        elif len(trace.delivered) == len(trace.tokens):
            self._over(trace, trace.delivered[-1] if trace.delivered else event["t"])

    def _over(self, trace: Trace, end: int) -> None:
        trace.end = end
        self.horizon_ns = max(self.horizon_ns, end)
        del self.live[trace.id]
        if self.on_end:
            self.on_end(trace)

    def _until(self, event: Record) -> None:
        self.stop_ns = event["t"]

    def result(self) -> Record:
        """The result object of the events so far; what has not ended is `unfinished`."""
        stop = self.clock_ns if self.stop_ns is None else self.stop_ns
        censored = [trace for trace in self.live.values() if trace.outcome is Outcome.UNFINISHED]
        rows = []
        for trace in self.order:
            row = trace.row()
            if trace.outcome is Outcome.UNFINISHED:
                waited = trace.waited + (0 if trace.waiting_since is None else stop - trace.waiting_since)
                row["waits_total"] = seconds(waited)
            if self.real:
                row["tokens"] = trace.token_ids
            if self.speaks:
                row["text"] = "".join(trace.text)
            rows.append(row)
        counts = self.counts | {"unfinished": len(censored)}
        first_time = self.computed - self.recomputed
        horizon = self.horizon_ns if self.stop_ns is None else self.stop_ns
        return {
            "schema": "labkit.result/1",
            "requests": rows,
            "rounds": self.rounds,
            "summary": {
                **counts,
                "seconds": seconds(horizon),
                "busy_seconds": seconds(self.busy_ns),
                "recompute_ratio": self.recomputed / first_time if first_time else None,
            },
        }
