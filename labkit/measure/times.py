"""One request on its clocks: intended, sent, admitted, emitted, delivered (E31.1, E31.2, C01–C05).

*intended*: when an open-loop client meant to send (`submit` may say so; absent: when it was sent). *sent*: a, the
arrival. *admitted*: b, the start of the first round that runs it. *emitted*: the worker's u_j. *delivered*: the
client's u_j. The same figure at two observation points differs by network, buffering and grouping (C05), so each
is asked for with its point:

=========  ==============================================  ==========================
point      first token counts from, to                     gaps between
=========  ==============================================  ==========================
worker     sent, emitted                                   emissions
client     sent, delivered                                 deliveries
intended   intended, delivered (coordinated omission: C30) deliveries
=========  ==============================================  ==========================

Tokens that are handed over in groups reach the client as chunks: what it can time is the interval between chunks,
which is no ITL (C04). Then the client's ITL and TPOT are undefined and `chunk_intervals` has what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Literal, NamedTuple

from labkit.core.types import Outcome
from labkit.measure.result import Trace

Point = Literal["worker", "client", "intended"]
POINTS: tuple[Point, ...] = ("worker", "client", "intended")


class Seen(NamedTuple):
    """A time in ns that was measured, or (`exact` False) of which only this is known: it is at least so long."""

    ns: int | Fraction
    exact: bool


def gaps(times: list[int]) -> list[int]:
    """ITL_j = u_j − u_{j−1} for j ≥ 2 (E31.1), in ns."""
    return [late - early for early, late in pairwise(times)]


class Times:
    """What is kept of a request: its clocks and counts, no list of tokens. Times in ns, absent ones None.

    `seen_until` is when the last was seen of it: its end, or the end of the observation.
    """

    __slots__ = (
        "admitted", "bound", "cached", "chunk_max", "chunked", "computed", "deadline", "delivered", "delivered_count",
        "end", "finished_at", "first_delivered", "first_emitted", "id", "input", "intended", "itl_max",
        "last_delivered", "last_emitted", "on_target", "outcome", "output", "preemptions", "prefilled", "reason",
        "recomputed", "seen_until", "sent", "tenant", "waited",
    )  # fmt: skip

    def __init__(self, trace: Trace, seen_until: int) -> None:
        submit, tokens, delivered = trace.submit, trace.tokens, trace.delivered
        self.id = trace.id
        self.tenant: str = submit["tenant"]
        self.input: int = submit["prompt_tokens"]
        self.bound: int = submit["max_output_tokens"]
        self.deadline: int | None = submit["deadline"]
        self.prefilled: bool = submit["prefilled"]
        self.sent = trace.arrival
        self.intended: int = submit.get("intended", trace.arrival)
        self.admitted = trace.first_execution
        self.outcome = trace.outcome
        self.reason = trace.reason
        self.output = len(tokens)
        self.first_emitted = tokens[0] if tokens else None
        self.last_emitted = tokens[-1] if tokens else None
        self.delivered_count = len(delivered)
        self.delivered = trace.outcome is Outcome.FINISHED and len(delivered) == len(tokens)
        self.first_delivered = delivered[0] if delivered else None
        self.last_delivered = delivered[-1] if delivered else None
        self.end = trace.end if trace.complete else None
        self.finished_at = self.last_emitted if trace.outcome is Outcome.FINISHED else None
        self.seen_until = seen_until if self.end is None else self.end
        self.itl_max = max(gaps(tokens), default=None)
        steps = self.itl_max if trace.direct else max(gaps(sorted(set(delivered))), default=None)
        self.chunk_max = steps
        self.chunked = not trace.direct and len(set(delivered)) < len(delivered)
        self.cached = trace.cached
        self.computed = trace.computed
        self.recomputed = trace.recomputed
        self.preemptions = trace.preemptions
        self.waited = trace.waited + (
            0 if trace.waiting_since is None else max(0, seen_until - trace.waiting_since)
        )
        self.on_target = False

    @property
    def accepted(self) -> bool:
        """It was not rejected. Latencies are those of accepted requests; rejections are counted beside them."""
        return self.outcome is not Outcome.REJECTED

    def wait(self) -> Seen:
        """W = b − a, the first wait, which TTFT holds already (C01); at least as long as seen if it never ran."""
        at = self.seen_until if self.admitted is None else self.admitted
        return Seen(at - self.sent, self.admitted is not None)

    def waits_total(self) -> Seen:
        """Wq: every wait, before the first round and after each preemption (C16)."""
        return Seen(self.waited, self.outcome is Outcome.FINISHED)

    def start(self, point: Point) -> int:
        """Where latencies count from."""
        return self.intended if point == "intended" else self.sent

    def ttft(self, point: Point = "worker") -> Seen:
        """E31.1: time to the first token; without one, at least as long as the request was seen."""
        first = self.first_emitted if point == "worker" else self.first_delivered
        at = self.seen_until if first is None else first
        return Seen(at - self.start(point), first is not None)

    def sojourn(self, point: Point = "client") -> Seen:
        """T = c − a for a finished request (at the worker: to the last emission); else at least as long as seen."""
        end = self.finished_at if point == "worker" else self.end if self.delivered else None
        return Seen((self.seen_until if end is None else end) - self.start(point), end is not None)

    def tpot(self, point: Point = "worker") -> Seen | None:
        """E31.2: (u_O − u_1)/(O − 1); None with one token (C02), without any, or where the client gets chunks (C04).

        Of a request that was cut off no more is known than that its last token had not come: with O ≤ Omax, its
        TPOT is at least (time seen − u_1)/(Omax − 1).
        """
        if point != "worker" and self.chunked:
            return None
        first, last, count = self.first_emitted, self.last_emitted, self.output
        whole = self.outcome is Outcome.FINISHED
        if point != "worker":
            first, last, count = self.first_delivered, self.last_delivered, self.delivered_count
            whole = self.delivered
        if first is None or last is None:
            return None
        if whole:
            return Seen(Fraction(last - first, count - 1), True) if count > 1 else None
        return (
            Seen(Fraction(max(last, self.seen_until) - first, self.bound - 1), False)
            if self.bound > 1
            else None
        )

    @property
    def input_computed(self) -> int:
        """Prompt positions that had to be computed once: P less those found in the cache (C06)."""
        return 0 if self.prefilled else self.input - self.cached


# Every latency of one request, by name: measured, at least so long, or undefined.
LATENCIES: dict[str, Callable[[Times], Seen | None]] = {
    "ttft": Times.ttft,
    "client_ttft": lambda times: times.ttft("client"),
    "intended_ttft": lambda times: times.ttft("intended"),
    "tpot": Times.tpot,
    "client_tpot": lambda times: times.tpot("client"),
    "sojourn": Times.sojourn,
    "intended_sojourn": lambda times: times.sojourn("intended"),
    "wait": Times.wait,
    "waits_total": Times.waits_total,
}
