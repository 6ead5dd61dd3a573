"""The readable result of a run: a row a request where they are few, and a summary. Memory is flat.

Quantiles come from a histogram of fixed size, so that a trace of any length costs the same; its resolution is
printed with them. Every mean says what it is a mean of (C02, C29): a request without a token has no TTFT, one
with fewer than two has no TPOT, and neither counts as zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from labkit.core.errors import escaped
from labkit.core.types import NS_PER_SECOND
from labkit.measure.result import ResultFold, Trace

MOST_ROWS = 20
MOST_EXACT = 1000
BITS = 7  # leading bits kept: a bucket is at most 1/64 of its values wide
HEADS = ("request", "arrival", "first token", "end", "TTFT", "TPOT", "tokens", "outcome")


class Histogram:
    """Counts of times in ns, in buckets at most 1/64 of the time wide: 1.6 % resolution, fixed size.

    The first 1,000 times are kept as they are, so that quantiles of a few are exact.
    """

    def __init__(self) -> None:
        self._few: list[int] = []
        self._counts: dict[tuple[int, int], int] = {}  # (shift, leading bits): at most 64 · 64 keys
        self.total = 0

    def add(self, ns: int) -> None:
        """Count one time."""
        shift = max(0, ns.bit_length() - BITS)
        key = (shift, ns >> shift)
        self._counts[key] = self._counts.get(key, 0) + 1
        self.total += 1
        if self.total <= MOST_EXACT:
            self._few.append(ns)

    @property
    def resolution(self) -> str:
        """How exact the quantiles are, in words."""
        return "exact" if self.total <= MOST_EXACT else "to 1.6 %"

    def quantile(self, share: Fraction) -> int | None:
        """Nearest rank, the ⌈share·n⌉-th smallest: itself, or the upper edge of its bucket; None if empty."""
        rank = -(-share.numerator * self.total // share.denominator)
        if 0 < self.total <= MOST_EXACT:
            return sorted(self._few)[rank - 1]
        for shift, bits in sorted(self._counts):
            rank -= self._counts[shift, bits]
            if rank <= 0:
                return ((bits + 1) << shift) - 1
        return None


class Table:
    """A fold over journal events that prints as text. Feed it every event but the header."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._fold = ResultFold(full=False, on_end=self._over)
        self._rows: list[tuple[int, list[str]]] = []
        self._places: dict[str, int] = {}
        self._submitted = 0
        self._tokens = 0
        self._ttft_sum = 0
        self._ttft = Histogram()
        self._tpot_sum = Fraction(0)
        self._tpot_count = 0
        self._pages_peak = 0
        self._promised_peak = 0

    def feed(self, event: dict[str, Any]) -> None:
        """One event, in order."""
        kind = event["event"]
        if kind == "submit":
            if self._submitted < MOST_ROWS:
                self._places[event["id"]] = self._submitted
            self._submitted += 1
        elif kind == "round":
            self._pages_peak = max(self._pages_peak, event["pages_in_use"])
            self._promised_peak = max(self._promised_peak, event["pages_reserved"])
        self._fold.feed(event)

    def _over(self, trace: Trace) -> None:
        self._tokens += len(trace.tokens)
        if trace.ttft is not None:
            self._ttft_sum += trace.ttft
            self._ttft.add(trace.ttft)
        if trace.tpot is not None:
            self._tpot_sum += Fraction(*trace.tpot)
            self._tpot_count += 1
        place = self._places.pop(trace.id, None)
        if place is not None:
            self._rows.append((place, _row(trace)))

    def text(self) -> str:
        """The table and the summary, ending in a newline."""
        for trace in list(self._fold.live.values()):
            self._over(trace)
        summary = self._fold.result()["summary"]
        lines = [escaped(self.title)] if self.title else []
        if 0 < self._submitted <= MOST_ROWS:
            lines += _aligned([list(HEADS), *(row for _, row in sorted(self._rows))])
        lines += [f"{name:<17}{value}" for name, value in self._summary(summary)]
        return "\n".join(lines) + "\n"

    def _summary(self, summary: dict[str, Any]) -> Iterable[tuple[str, str]]:
        ends = ("finished", "rejected", "cancelled", "expired", "failed", "unfinished")
        counts = [f"{summary[name]} {name}" for name in ends if summary[name]]
        yield "requests", f"{summary['submitted']} submitted" + "".join(f", {count}" for count in counts)
        total, busy = summary["seconds"], summary["busy_seconds"]
        share = f" ({100 * busy / total:.1f} %)" if total else ""
        yield "time", f"{total:.6g} s, of it busy {busy:.6g} s{share} in {self._fold.rounds_run} rounds"
        rate = f", {self._tokens / total:.6g} a second" if total else ""
        yield "output tokens", f"{self._tokens}{rate}"
        if self._ttft.total:
            mean = self._ttft_sum / (self._ttft.total * NS_PER_SECOND)
            p50, p99 = (self._ttft.quantile(Fraction(p, 100)) or 0 for p in (50, 99))
            quantiles = (
                f"p50 {p50 / NS_PER_SECOND:.4g} s, p99 {p99 / NS_PER_SECOND:.4g} s ({self._ttft.resolution})"
            )
            yield "TTFT", f"mean {mean:.6g} s, {quantiles}, of {_requests(self._ttft.total)}"
        if self._tpot_count:
            mean = float(self._tpot_sum / (self._tpot_count * NS_PER_SECOND))
            yield "TPOT", f"mean {mean:.6g} s, of {_requests(self._tpot_count)} with two tokens or more"
        ratio = summary["recompute_ratio"]
        yield "recompute ratio", "undefined" if ratio is None else f"{ratio:.6g}"
        yield "KV pages", f"at most {self._pages_peak} in use, {self._promised_peak} with promises"


def _requests(count: int) -> str:
    return f"{count} request{'' if count == 1 else 's'}"


def _row(trace: Trace) -> list[str]:
    tpot = trace.tpot
    first = trace.tokens[0] if trace.tokens else None
    outcome = trace.outcome.value + (f" ({escaped(trace.reason)})" if trace.reason else "")
    name = trace.id if len(trace.id) <= 24 else trace.id[:21] + "..."
    return [
        escaped(name),
        *(_seconds(ns) for ns in (trace.arrival, first, trace.end, trace.ttft)),
        "-" if tpot is None else f"{tpot[0] / (tpot[1] * NS_PER_SECOND):.6g}",
        str(len(trace.tokens)),
        outcome,
    ]


def _seconds(ns: int | None) -> str:
    return "-" if ns is None else f"{ns / NS_PER_SECOND:.6g}"


def _aligned(rows: list[list[str]]) -> list[str]:
    """Columns padded to their widest cell; the first and last column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells, row[-1]]).rstrip())
    return lines
