"""Recorded production load: Azure, Mooncake, BurstGPT and the lab's own CSV, streamed one row at a time.

Times are exact as recorded and count from the first request. `scale` divides the gaps: 2 replays twice as
fast. Nothing is renormalised. A deadline keeps its distance from its arrival, whatever the scale.

=========== ===========================================================================================
azure        `TIMESTAMP,ContextTokens,GeneratedTokens`, dates with up to nine decimals
mooncake     JSON Lines: `timestamp` (ms), `input_length`, `output_length`, `hash_ids` (blocks of 512)
burstgpt     `Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type`, seconds. A row with
             0 response tokens is a call that failed upstream: it is skipped
csv          `arrival,prompt_tokens,output_tokens`, and `max_output_tokens`, `tenant`, `priority`, `deadline`
             where wanted, in any order; an empty cell is the default
=========== ===========================================================================================

A row that cannot be read, has no tokens in or out, or goes back in time is one error that names its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Literal

from labkit.core.errors import quoted
from labkit.core.types import NS_PER_SECOND, Job, Request
from labkit.workload.arrivals import bound_of
from labkit.workload.listed import Streamed
from labkit.workload.random_laws import MOST_TOKENS
from labkit.workload.rows import Row, TraceFile

Format = Literal["azure", "mooncake", "burstgpt", "csv"]
BLOCK_TOKENS = 512
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?", re.ASCII
)
_CSV_REQUIRED = ("arrival", "prompt_tokens", "output_tokens")
_CSV_OPTIONAL = ("max_output_tokens", "tenant", "priority", "deadline")
_AZURE = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]
_BURSTGPT = ("Timestamp", "Request tokens", "Response tokens")


def open_trace(
    path: Path,
    form: Format,
    *,
    label: str | None = None,
    scale: Fraction = Fraction(1),
    limit: int | None = None,
    bound: Fraction = Fraction(1),
    patience_ns: int | None = None,
) -> Streamed:
    """A source of the trace's requests `r0`, `r1`, …, the first at 0, the first `limit` of them.

    `label` names the file in errors. The declared bound is the row's own where it has one (csv), else
    max(1, ⌈bound·output⌉): with `bound` 1 the scheduler is told the true length, and `sjf` is an oracle.
    `patience_ns` is d − a of a row without a deadline of its own; None: it has none.

    Raises:
        InputError: while streaming, at the first row that cannot be used.
    """
    trace = TraceFile(path, label or str(path))
    return Streamed(_jobs(trace, _ROWS[form](trace), scale, limit, bound, patience_ns))


def _jobs(
    trace: TraceFile,
    rows: Iterator[Row],
    scale: Fraction,
    limit: int | None,
    bound: Fraction,
    patience_ns: int | None,
) -> Iterator[Job]:
    first = last = Fraction(0)
    place = 0
    while limit is None or place < limit:
        row = next(rows, None)
        if row is None:
            break
        if place == 0:
            first = last = row.at
        if row.at < last:
            raise trace.error("a time before that of the row above", "times that never go back", row.line)
        last = row.at
        arrival_ns = round((row.at - first) * NS_PER_SECOND / scale)
        deadline_ns = None if patience_ns is None else arrival_ns + patience_ns
        if row.deadline is not None:
            deadline_ns = arrival_ns + round((row.deadline - row.at) * NS_PER_SECOND)
        most = row.limit if row.limit is not None else bound_of(row.output, bound)
        request = Request(
            id=f"r{place}",
            place=place,
            arrival_ns=arrival_ns,
            prompt_tokens=row.prompt,
            max_output_tokens=most,
            tenant=row.tenant,
            priority=row.priority,
            deadline_ns=deadline_ns,
            prefix=row.prefix,
        )
        yield Job(request, oracle=min(row.output, most))
        place += 1
    if place == 0 and limit != 0:
        trace.line = trace.line or 1
        raise trace.error("no row to run", "at least one request")


def _azure(trace: TraceFile) -> Iterator[Row]:
    rows = trace.cells()
    names = trace.header(rows, ",".join(_AZURE))
    if names != _AZURE:
        raise trace.error(quoted(",".join(names)), "the header " + ",".join(_AZURE))
    for row in rows:
        trace.width(row, names)
        at = _timestamp(trace, row[0])
        yield Row(trace.line, at, trace.count(row[1], names[1]), trace.count(row[2], names[2]))


def _timestamp(trace: TraceFile, text: str) -> Fraction:
    """Exact seconds since year 1 of `2023-11-16 18:17:03.9799600`."""
    match = _STAMP.fullmatch(text)
    if match:
        year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
        try:
            days = date(year, month, day).toordinal()
        except ValueError:
            pass
        else:
            whole = ((days * 24 + hour) * 60 + minute) * 60 + second
            nanos = int((match.group(7) or "").ljust(9, "0"))
            return Fraction(whole * NS_PER_SECOND + nanos, NS_PER_SECOND)
    raise trace.error(f"TIMESTAMP {quoted(text)}", "a time such as 2023-11-16 18:17:03.9799600")


def _mooncake(trace: TraceFile) -> Iterator[Row]:
    for item in trace.objects():
        stamp = item.get("timestamp")
        if isinstance(stamp, bool) or not isinstance(stamp, int | Decimal) or not _sane(stamp):
            raise trace.error(f"timestamp {quoted(str(stamp))}", "milliseconds from 0 to 1e12")
        lengths = []
        for name in ("input_length", "output_length"):
            value = item.get(name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_TOKENS:
                raise trace.error(f"{name} {quoted(str(value))}", "a whole number from 1 to 2^24")
            lengths.append(value)
        prompt, output = lengths
        ids = item.get("hash_ids", [])
        if not isinstance(ids, list) or any(isinstance(i, bool) or not isinstance(i, int) for i in ids):
            raise trace.error(f"hash_ids {quoted(str(ids))}", "a list of whole numbers")
        if len(ids) > -(-prompt // BLOCK_TOKENS):
            raise trace.error(
                f"{len(ids)} hash_ids", f"at most one for each {BLOCK_TOKENS} of {prompt} tokens"
            )
        prefix = tuple(
            (str(name), min(BLOCK_TOKENS, prompt - BLOCK_TOKENS * i)) for i, name in enumerate(ids)
        )
        yield Row(trace.line, Fraction(stamp) / 1000, prompt, output, prefix=prefix)


def _sane(value: int | Decimal) -> bool:
    """Whether a time in ms is in range and cheap to be exact about."""
    if isinstance(value, Decimal):
        return (
            value.is_finite()
            and -30 <= value.adjusted() <= 12
            and len(value.as_tuple().digits) <= 40
            and value >= 0
        )
    return 0 <= value <= 10**12


def _burstgpt(trace: TraceFile) -> Iterator[Row]:
    rows = trace.cells()
    names = trace.header(rows, "a header with " + ", ".join(_BURSTGPT))
    if not set(_BURSTGPT) <= set(names):
        raise trace.error(quoted(",".join(names)), "a header with " + ", ".join(_BURSTGPT))
    at, prompt, output = (names.index(name) for name in _BURSTGPT)
    for row in rows:
        trace.width(row, names)
        tokens = trace.count(row[output], names[output], least=0)
        if tokens:
            yield Row(
                trace.line, trace.seconds(row[at], names[at]), trace.count(row[prompt], names[prompt]), tokens
            )


def _csv(trace: TraceFile) -> Iterator[Row]:
    rows = trace.cells()
    names = trace.header(rows, "a header with " + ",".join(_CSV_REQUIRED))
    known = (*_CSV_REQUIRED, *_CSV_OPTIONAL)
    for name in names:
        if name not in known:
            raise trace.error(f"column {quoted(name)}", "columns out of " + ", ".join(known))
    if len(set(names)) < len(names) or not set(_CSV_REQUIRED) <= set(names):
        raise trace.error(
            quoted(",".join(names)), "a header with " + ",".join(_CSV_REQUIRED) + ", each column once"
        )
    for row in rows:
        trace.width(row, names)
        cells = {name: cell for name, cell in zip(names, row, strict=True) if cell}
        at = trace.seconds(cells.get("arrival", ""), "arrival")
        limit = cells.get("max_output_tokens")
        deadline = cells.get("deadline")
        tenant = cells.get("tenant", "default")
        if len(tenant) > 200 or not tenant.isprintable():
            raise trace.error(
                f"tenant {quoted(tenant)}", "at most 200 characters, none of them a control character"
            )
        yield Row(
            trace.line,
            at,
            trace.count(cells.get("prompt_tokens", ""), "prompt_tokens"),
            trace.count(cells.get("output_tokens", ""), "output_tokens"),
            limit=None if limit is None else trace.count(limit, "max_output_tokens"),
            tenant=tenant,
            priority=trace.signed(cells.get("priority", "0"), "priority"),
            deadline=None if deadline is None else trace.seconds(deadline, "deadline"),
        )


_ROWS: dict[str, Callable[[TraceFile], Iterator[Row]]] = {
    "azure": _azure,
    "mooncake": _mooncake,
    "burstgpt": _burstgpt,
    "csv": _csv,
}
