"""The measures of one run as one fold over its journal: feed it every event, close it, read it.

Built on the result's fold, which follows each request and refuses events that no run could have written. Kept: one
`Times` for each request of the window, how often each gap between tokens was seen, and sums. Nothing per token or
round, so a journal of a million events fits easily.

A *window* [start, end] in ns, by default all of the run, holds: for every table of requests those that were *sent*
in [start, end), or at `end` too where that is the end of the run; for Little's law and every rate of work what
happened in it, rounds clipped at its ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from labkit.core.types import NS_PER_SECOND, Outcome
from labkit.measure.goodput import Targets
from labkit.measure.latency import Sample
from labkit.measure.little import Residence
from labkit.measure.result import FoldError, ResultFold, Trace
from labkit.measure.times import LATENCIES, Seen, Times, gaps
from labkit.measure.work import Item, Work

Record = dict[str, Any]
POOLS = ("itl", "client_itl", "chunk_interval")


class Measures:
    """Everything measured of one run. `close` before reading; `header` is the journal's first line, if it was fed."""

    def __init__(
        self,
        targets: Targets | None = None,
        *,
        start: int = 0,
        end: int | None = None,
        thin: bool = False,
    ) -> None:
        self.targets = targets or Targets()
        self.start = start
        self.end = end
        self._sent_before = end
        self.header: Record | None = None
        self.requests: list[Times] = []
        self.gaps = {name: Sample() for name in POOLS}
        self.residence = Residence(start, end, thin)
        self.work = Work(start, end, thin)
        self.tenants: dict[str, None] = {}  # in the order in which they first sent
        self.closed = False
        self.observed = 0  # until when anything was seen, in ns
        self.cut = False  # somebody was still there then, or later arrivals were not submitted: what follows is unknown
        self._fold = ResultFold(full=False, on_end=self._over)
        self._newest: list[list[Any]] = []  # the items of the last plan
        self._planned: dict[
            int, list[Item]
        ] = {}  # by round: at depth 2 a plan comes before the last round ends
        self._samples: dict[str, Sample] = {}

    # ------------------------------------------------------------------------------------------------ feeding

    def feed(self, event: Record) -> None:
        """One line of the journal, in order. Raises FoldError where it can't follow from those before it."""
        kind = event.get("event")
        if kind is None:
            self.header = event
            return
        now = event["t"]
        if now > self._fold.clock_ns:
            self.residence.advance(now)
            self.work.advance(now)
        if kind == "round":
            self._round(event)
        else:
            self._fold.feed(event)
        if kind == "token":
            trace = self._fold.live[event["id"]]
            if self.residence.stage(trace.id) == "prefill":
                self.residence.move(trace.id, "decode", now)
            self.work.token(trace, now)
        elif kind == "submit":
            self.tenants.setdefault(event["tenant"])
            self.residence.enter(event["id"], now)
            self.work.waits(event["id"], now)
        elif kind == "plan":
            self._newest = event["items"]
            self._planned[event["round"]] = [self._item(*item) for item in event["items"]]
        elif kind == "admit":
            self.residence.move(event["id"], self._phase(event), now)
            self.work.runs(event["id"])
        elif kind == "preempt":
            if self.residence.stage(event["id"]) in (
                "prefill",
                "decode",
            ):  # else its swap was lost while it waited
                self.work.preempted(event["mode"], now)
                self.work.waits(event["id"], now)
            self.residence.move(event["id"], "swapped" if event["mode"] == "swap" else "queued", now)
        elif kind == "deliver":
            self.work.delivered(event["id"], event["at"], now)
        elif kind == "finish" and event["id"] in self._fold.live:
            self.residence.move(event["id"], "undelivered", now)
        elif kind == "until" and self.end is None:
            self.end = self.residence.end = self.work.end = now

    def feed_all(self, events: Iterable[Record]) -> Measures:
        """All lines, in order, with or without the header."""
        for event in events:
            self.feed(event)
        return self

    def close(self) -> Measures:
        """The journal has ended: whoever has not is censored. Returns itself; a second call does nothing."""
        if self.closed:
            return self
        self.closed = True
        fold = self._fold
        live = list(fold.live.values())
        if self.end is None:
            self.end = max(fold.horizon_ns, fold.clock_ns if live else 0, self.start)
        stop = fold.clock_ns if fold.stop_ns is None else fold.stop_ns
        self.observed = max(fold.horizon_ns, fold.clock_ns) if fold.stop_ns is None else fold.stop_ns
        self.cut = fold.stop_ns is not None or bool(live)
        for trace in live:
            self._row(trace, stop)
        self.residence.close(self.end)
        self.work.close(self.end)
        return self

    def _phase(self, admit: Record) -> str:
        """What it does first in its seat; a member of a static batch may sit for a while before it does."""
        for name, _, _, phase in self._newest:
            if name == admit["id"]:
                return str(phase)
        trace, context = self._fold.live[admit["id"]], admit["context"]
        missing = trace.submit["prompt_tokens"] + len(trace.tokens) - context
        return "decode" if context and missing <= 1 else "prefill"

    def _item(self, name: str, new_tokens: int, context: int, phase: str) -> Item:
        trace = self._fold.live.get(name)
        if trace is None:
            raise FoldError(f"a plan runs {name!r}, which is not in the system")
        return name, trace.submit["tenant"], new_tokens

    def _round(self, event: Record) -> None:
        fold = self._fold
        items = self._planned.pop(event["round"], [])
        # Work for a request that ended while this round was in flight is wasted: it is paid for, and computes nothing.
        running = {n for n, _, _ in items if n in fold.live and fold.live[n].outcome is Outcome.UNFINISHED}
        recomputed = fold.recomputed
        fold.feed(event)
        self.work.round(event, items, running, fold.recomputed - recomputed)

    def _over(self, trace: Trace) -> None:
        now = self._fold.clock_ns
        end = now if trace.end is None else trace.end
        if trace.outcome is Outcome.FINISHED:
            self.residence.move(trace.id, "undelivered", now)
        self.residence.leave(trace.id, end, trace.outcome is Outcome.REJECTED)
        self.work.runs(trace.id)
        times = self._row(trace, end)
        self.work.ended(trace, end, now, times.on_target)

    def _row(self, trace: Trace, seen_until: int) -> Times:
        times = Times(trace, seen_until)
        times.on_target = self.targets.met(times)
        if self.start <= times.sent and (self._sent_before is None or times.sent < self._sent_before):
            self.requests.append(times)
            self._gaps(trace, times)
        return times

    def _gaps(self, trace: Trace, times: Times) -> None:
        """ITL where tokens come one by one, chunk intervals where they come in groups (C04)."""
        client = "chunk_interval" if times.chunked else "client_itl"
        arrivals = sorted(set(trace.delivered)) if times.chunked else trace.delivered
        sides = (
            ("itl", trace.tokens, times.outcome is Outcome.FINISHED),
            (client, arrivals, times.delivered),
        )
        for name, seen, whole in sides:
            sample = self.gaps[name]
            sample.add_all(gaps(seen))
            if seen and not whole and times.seen_until > seen[-1]:
                sample.add(Seen(times.seen_until - seen[-1], False))

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def seconds(self) -> Fraction:
        """H, the length of the window, in s."""
        assert self.end is not None, "close first"
        return Fraction(self.end - self.start, NS_PER_SECOND)

    @property
    def counts(self) -> dict[str, int]:
        """Requests of the window: `submitted`, and how many had each outcome."""
        ends = Counter(times.outcome.value for times in self.requests)
        return {"submitted": len(self.requests), **{o.value: ends[o.value] for o in Outcome}}

    @property
    def accepted(self) -> list[Times]:
        """Requests that were not rejected: the population of every latency."""
        return [times for times in self.requests if times.accepted]

    def sample(self, name: str) -> Sample:
        """One figure over the accepted requests, by its name in `LATENCIES`, or over their gaps (`POOLS`)."""
        if name in POOLS:
            return self.gaps[name]
        if name not in self._samples:
            self._samples[name] = Sample(map(LATENCIES[name], self.accepted))
        return self._samples[name]

    @property
    def on_target(self) -> int:
        """How many requests of the window meet the targets."""
        return sum(times.on_target for times in self.requests)
