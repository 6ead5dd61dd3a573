"""The journal: JSON Lines, one event a line, in order of time. Written by a run, read by everything else.

First line: `labkit.journal/1` with the scenario in full, the executor, the seed and the unit of time (ns). Each
event has `event`, `t` (integer ns) and the request `id`, `epoch`, page and generation that it concerns:

=========  =======================================================================================================
submit     a request arrives: what the scheduler is told of it; `direct`: delivery is emission; `intended`: when its
           client meant to send it, where that is not `t`
admit      it takes a seat, with `context` positions in the cache, `cached` of them found there in `shared` pages
reject     it is turned away: `capacity`, `deadline` at the door; `queue_full` after planning
credit     a tenant's `charge` and `balance` after a round, exact ("7/2")
step       a step of Algorithm 31.1 begins: A1–A7
plan       what round `round` will do: `items` [id, new positions, context, phase]; `notes` [id, what stops it] if news.
           At pipeline depth 2 it may come while the round before it runs: pair the two by `round`
pages      pages [id, generation] join the end of a request's table
release    a request gives back its table
preempt    it gives way `for` another, by `mode` recompute or swap; then it waits again. For itself: its round or its
           swap is lost, and it is computed again
swap_out   its pages move to the host, `bytes` of them; `swap_in`: back
round      round `round` has run from `start` to `t`; queue, pages, idle seats when it was planned. `end`: when it
           ended, if its signal came only at `t`; `lost`: none came within the lease
token      token `index` (from 1) comes out; the real model adds its id, `token`, and the `text` that it completes
deliver    token `index` is read by the client, `at` with the network's time; only where delivery is not emission
pause      a reader's buffer is full; `resume`: it has room again
cancel, expire, fail, finish   the terminal state, with a `reason` where there is one
retire     a page that was released while a round or a swap in flight might still touch it comes free (depth 2)
wake       nothing can be planned: time goes on to `at`; or capacity is ordered or goes live, with `seats`
until      the observation ends here; what has not ended is unfinished
=========  =======================================================================================================

A last line cut short (a killed run) is dropped with a warning that names it. Anything else that does not fit is an
error with its line number.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from json.encoder import encode_basestring_ascii as quote
from pathlib import Path
from typing import IO, Any

from labkit.core.errors import InputError, escaped

Record = dict[str, Any]
SCHEMA = "labkit.journal/1"
LONGEST_LINE = 64 << 20

encode: Callable[[object], str] = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class CutShort(UserWarning):
    """The journal's last line is incomplete: the run that wrote it was killed."""


def header(scenario: Record, executor: Record, seed: int | None) -> Record:
    """The journal's first line."""
    return {"schema": SCHEMA, "scenario": scenario, "executor": executor, "seed": seed, "unit": "ns"}


def writer(stream: IO[str]) -> Callable[[Record], None]:
    """A sink that writes one event a line to a text stream (open it as UTF-8 with newline="\\n")."""
    write = stream.write

    def sink(event: Record) -> None:
        # Most lines are tokens and steps: the same text as `encode` gives, in a fifth of its time.
        kind = event["event"]
        if kind == "token" and "token" not in event:
            name, t, epoch, index = quote(event["id"]), event["t"], event["epoch"], event["index"]
            write(f'{{"event":"token","t":{t},"id":{name},"epoch":{epoch},"index":{index}}}\n')
        elif kind == "step":
            write(f'{{"event":"step","t":{event["t"]},"step":"{event["step"]}"}}\n')
        else:
            write(encode(event) + "\n")

    return sink


def read(path: str | Path) -> Iterator[Record]:
    """Header first, then the events, each checked against the schema. Raises InputError with the line's number."""
    name = escaped(str(path))
    try:
        with open(path, "rb") as stream:
            yield from parse(stream, name)
    except OSError as error:
        raise InputError(
            f"{name}: given a file that can't be read ({error.strerror}), expected a journal"
        ) from error


def parse(stream: IO[bytes], name: str) -> Iterator[Record]:
    """The same from an open binary stream; `name` stands in messages."""
    checks = _checks()
    number = 0
    for line in iter(lambda: stream.readline(LONGEST_LINE), b""):
        number += 1
        where = f"{name}:{number}"
        try:
            parse_float = float if number == 1 else _no_float
            event = json.loads(
                line.decode("utf-8"),
                parse_constant=_no_constant,
                parse_float=parse_float,
                object_pairs_hook=_once,
            )
        except (ValueError, RecursionError) as error:
            if not line.endswith(b"\n") and len(line) < LONGEST_LINE and number > 1:
                warnings.warn(f"{where}: the last line is cut short and is left out", CutShort, stacklevel=2)
                return
            what = str(error) if isinstance(error, _Odd) else "a line that is not JSON in UTF-8"
            raise InputError(f"{where}: given {what}, expected one event") from error
        kind = event.get("event" if number > 1 else "schema") if isinstance(event, dict) else None
        check = checks.get(kind) if isinstance(kind, str) else None
        if check is None or (number == 1) != (kind == SCHEMA):
            wanted = f'the first line {{"schema":"{SCHEMA}",…}}' if number == 1 else "a journal event"
            raise InputError(f"{where}: given {_short(event)}, expected {wanted}")
        problem = check(event)
        if problem:
            raise InputError(f"{where}: {problem}")
        yield event
    if not number:
        raise InputError(f"{name}: given an empty file, expected a journal")


def follow(events: Iterable[Record], name: str, feed: Callable[[Record], None]) -> Record:
    """Feed all events but the header to `feed`; return the header. A ValueError of `feed` names its line."""
    stream = iter(events)
    first = next(stream)
    for number, event in enumerate(stream, start=2):
        try:
            feed(event)
        except ValueError as error:
            raise InputError(f"{name}:{number}: {error}") from error
    return first


class _Odd(ValueError):
    """JSON that Python would take and an event never holds."""


def _no_constant(text: str) -> object:
    raise _Odd(text)


def _no_float(text: str) -> object:
    raise _Odd(f"the number {escaped(text[:40])}, which is no integer")


def _once(pairs: list[tuple[str, Any]]) -> Record:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _Odd("a field twice")
    return fields


def _short(value: object) -> str:
    text = encode(value) if not isinstance(value, float) else repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def schema() -> Record:
    """The JSON Schema of a journal line, as shipped."""
    text = resources.files("labkit.engine").joinpath("journal.schema.json").read_text(encoding="utf-8")
    loaded: Record = json.loads(text)
    return loaded


def _checks() -> dict[str, Callable[[Record], str | None]]:
    """One compiled check for each kind of line: None if it fits, else what is wrong."""
    import fastjsonschema  # here, so that writing journals needs the standard library alone

    def compiled(part: Record) -> Callable[[Record], str | None]:
        validate = fastjsonschema.compile(part)

        def check(event: Record) -> str | None:
            try:
                validate(event)
            except fastjsonschema.JsonSchemaValueException as error:
                where = str(error.name)
                field = where.removeprefix("data.").removeprefix("data") or "the line"
                return f"{field}: given {_short(error.value)}, expected: {error.message.removeprefix(where + ' ')}"
            return None

        return check

    return {kind: compiled(part) for kind, part in schema()["lines"].items()}
