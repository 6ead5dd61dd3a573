"""One server under an open and a closed loop, and a stall that only one of them sees (C30, section 31.7).

The server takes 10 ms a request, one at a time. A client means to send 20 a second for 100 s; from 45 s to 55 s
the server serves nothing (its seats go to 0 and back: nothing is lost, everything waits). Who was kept waiting?

open loop        sends on time, whatever the server does: each of the 200 requests of the stall waits, and those
                 behind them too
closed loop      one user with 40 ms to think: while the server stalls it sends nothing, so that one slow answer
                 stands for 200 that were never asked (coordinated omission)
one connection   means to send on time, yet only one request can be under way; counted from the sending it looks as
                 good as the closed loop, counted from the time that was meant as bad as it was
filled up        the closed loop's own figures, and for each latency over the expected interval those that were
                 left out: L − i, L − 2i, … (HdrHistogram's recordValueWithExpectedInterval): an estimate, which
                 knows nothing of the queue that the stall leaves behind
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from labkit.core.types import NS_PER_SECOND
from labkit.measure.fold import Measures
from labkit.measure.times import Point
from labkit.scenario.load import load
from labkit.scenario.run import stream

ONE = {"kind": "fixed", "value": 1}
Document = dict[str, Any]


def server(
    load_fields: Mapping[str, Any],
    *,
    stall: tuple[float, float] | None = (45, 55),
    until: float = 99.99,
) -> Document:
    """A scenario: 10 ms a request of one token, one seat, first come first served; no seat during `stall`, in s."""
    changes = [] if stall is None else [{"at": stall[0], "seats": 0}, {"at": stall[1], "seats": 1}]
    return {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 1, "seats": 1},
        "cost": {"kind": "table", "seconds": {"1": 0.01}},
        "capacity_changes": changes,
        "until": until,
        **load_fields,
    }


def open_loop(rate: float = 20, seconds: int = 100) -> Document:
    """The load `rate` a second, evenly, for `seconds`."""
    count = round(rate * seconds)
    return {"arrivals": {"process": "fixed", "rate": rate, "count": count, "prompt": ONE, "output": ONE}}


def closed_loop(users: int = 1, think_seconds: float = 0.04) -> Document:
    """`users` users who wait for their answer, think, and ask again, without end."""
    fields = {"users": users, "think_seconds": think_seconds, "count": 10**6, "prompt": ONE, "output": ONE}
    return {"closed_loop": fields}


@dataclass(frozen=True)
class Latencies:
    """What a way of measuring saw: `sorted_ns` from `clock` to the end, finished requests alone, ascending.

    `unseen` were sent and not finished when the observation ended; they are counted, and of none of them is more
    known than that it took at least so long.
    """

    name: str
    clock: str
    sorted_ns: tuple[int, ...]
    unseen: int = 0

    def quantile(self, share: Fraction) -> Fraction:
        """The ⌈share·n⌉-th smallest, in seconds (nearest rank)."""
        rank = max(1, -(-share.numerator * len(self.sorted_ns) // share.denominator))
        return Fraction(self.sorted_ns[rank - 1], NS_PER_SECOND)


def observed(document: Document) -> Measures:
    """The measures of a run of `document` on the virtual clock."""
    fold = Measures()
    stream(load(document), fold.feed)
    return fold.close()


def latencies(name: str, fold: Measures, clock: str) -> Latencies:
    """From `clock`, which is "sent" or "intended", to the last delivery (C30)."""
    point: Point = "client" if clock == "sent" else "intended"
    seen = [row.sojourn(point) for row in fold.requests]
    known = sorted(int(one.ns) for one in seen if one.exact)
    return Latencies(name, clock, tuple(known), len(fold.requests) - len(known))


def filled_up(sorted_ns: Iterable[int], interval_ns: int) -> list[int]:
    """Each latency L, and L − i, L − 2i, … down to i where L is over the expected interval i; ascending, in ns.

    HdrHistogram's correction: right if, but for the one that was late, requests would have come every i and found
    nothing but the rest of the same stall.
    """
    full: list[int] = []
    for latency in sorted_ns:
        full.append(latency)
        full.extend(range(latency - interval_ns, interval_ns - 1, -interval_ns))
    return sorted(full)


def omission(rate: int = 20, stall: tuple[float, float] = (45, 55)) -> list[Latencies]:
    """The stalled server seen in five ways: open loop, closed loop, that filled up, one connection on both clocks."""
    interval_ns = NS_PER_SECOND // rate
    think = float(Fraction(1, rate) - Fraction(1, 100))
    apart = observed(server(open_loop(rate), stall=stall))
    closed = latencies("closed", observed(server(closed_loop(1, think), stall=stall)), "sent")
    shy = observed(server({**open_loop(rate), "connections": 1}, stall=stall))
    return [
        latencies("open", apart, "sent"),
        closed,
        Latencies("filled", "sent", tuple(filled_up(closed.sorted_ns, interval_ns))),
        latencies("connection", shy, "sent"),
        latencies("connection", shy, "intended"),
    ]


@dataclass(frozen=True)
class Loaded:
    """A loop on the server without a stall: what was asked, sent and finished a second, and p99 in s."""

    asked: int
    sent_a_second: Fraction
    finished_a_second: Fraction
    p99: Fraction


def overload(asked: Iterable[int] = (20, 50, 80, 95, 110, 150), seconds: int = 10) -> dict[str, list[Loaded]]:
    """Open loop at each rate, and as many closed-loop users as would ask so often if answers took no time.

    Each such user thinks 1 s, so n users ask at most n times a second and never more than the server answers: the
    closed loop can show a queue no longer than its users, the open loop's grows as long as one looks.
    """
    rates = list(asked)
    loads = {
        "open": [open_loop(rate, seconds) for rate in rates],
        "closed": [closed_loop(rate, 1.0) for rate in rates],
    }
    return {
        name: [_loaded(rate, document, seconds) for rate, document in zip(rates, documents, strict=True)]
        for name, documents in loads.items()
    }


def _loaded(asked: int, fields: Document, seconds: int) -> Loaded:
    fold = observed(server(fields, stall=None, until=seconds))
    done = latencies("", fold, "sent")
    sent, finished = len(fold.requests), len(done.sorted_ns)
    return Loaded(asked, sent / fold.seconds, finished / fold.seconds, done.quantile(Fraction(99, 100)))
