"""Slow readers, and each link of back-pressure cut in turn: what grows then, and where (C20, C21, section 31.5).

A buffer of H_b bytes that fills at r_g and empties at r_c bytes a second is full after H_b/(r_g − r_c) seconds and,
once nothing more comes, empty after H_b/r_c. Here a token stands for `BYTES` bytes, so that the chapter's 64 KiB,
12 and 4 KiB/s are a buffer of 64 tokens, 12 tokens a second made and 4 read.

Links, from the client back to the door: `output` (a full buffer pauses its request), `active` (a paused request
keeps its seat, so that no other takes one more set of pages), `queue` (at most `max_queue` wait), `entry` (who
cannot be done by its deadline is refused at the door, E31.14).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from labkit.core.types import NS_PER_SECOND
from labkit.scenario.load import load
from labkit.scenario.run import Event, run, stream

BYTES = 1024
LINKS = ("output", "active", "queue", "entry")
Path = list[tuple[Fraction, int]]  # (seconds, value from then on)


def fill_seconds(buffer: int, made: Fraction | int, read: Fraction | int) -> Fraction | None:
    """H_b/(r_g − r_c), seconds until an empty buffer is full (C21); None where it never fills, r_g ≤ r_c."""
    return Fraction(buffer) / (made - read) if made > read else None


def drain_seconds(buffer: int, read: Fraction | int) -> Fraction:
    """H_b/r_c, seconds until a full buffer is empty once nothing comes any more (C21)."""
    return Fraction(buffer) / read


def high_water(buffer: int, made: Fraction | int, delay: Fraction) -> int:
    """The mark at which to pause, in the buffer's unit: H_b less what is made in `delay` seconds, rounded up.

    Pausing takes effect only after what is under way: at the very top that overflows the buffer by r_g·delay. Who
    reads meanwhile makes room, which is not counted on (C21).
    """
    return buffer - -(-Fraction(made) * delay // 1)


@dataclass(frozen=True)
class Buffer:
    """A reader's buffer over time, in tokens: its path, when it was first full and last empty, in s."""

    path: Path
    peak: int
    full_at: Fraction | None
    empty_at: Fraction | None


def one_reader(
    made: int = 12,
    read: int = 4,
    buffer: int = 64,
    tokens: int = 95,
    *,
    pausing: bool = True,
    depth: int = 1,
) -> Buffer:
    """One request of `tokens` tokens to a reader slower than the server; `pausing`: the `output` link holds.

    The engine makes a token every 1/`made` s, the reader takes one every 1/`read` s once it has one. With the link
    cut the buffer goes on growing beyond its size: the server's memory is the buffer. At `depth` 2 a round is under
    way when the buffer is full, and its token comes on top: a pause at the very top overflows by what is in flight.
    """
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 1, "seats": 1},
        "policy": {"backpressure": list(LINKS) if pausing else list(LINKS[1:]), "pipeline_depth": depth},
        "cost": {"kind": "linear", "per_seat": float(Fraction(1, made))},
        "requests": [
            {
                "id": "A",
                "arrival": 0,
                "prompt_tokens": 1,
                "output_tokens": tokens,
                "prefilled": True,
                "reader": {"tokens_per_second": read, "buffer_tokens": buffer},
            }
        ],
    }
    path = list(_unread(run(document).journal[1:]))
    peak = max(level for _, level in path)
    full = next((at for at, level in path if level >= buffer), None)
    return Buffer(path, peak, full, path[-1][0] if path[-1][1] == 0 else None)


def _unread(events: list[Event]) -> Iterator[tuple[Fraction, int]]:
    level = 0
    for event in events:
        change = {"token": 1, "deliver": -1}.get(event["event"], 0)
        if change:
            level += change
            yield Fraction(event["t"], NS_PER_SECOND), level


# ------------------------------------------------------------------------------------------------ the chain


@dataclass(frozen=True)
class Chain:
    """A run with one link `cut` (None: whole). Paths by tank, and what became of the requests.

    Tanks: `buffers` tokens made and not read, of all clients together; `active` requests that hold pages;
    `queue` requests that wait; `doomed` requests let in so far that missed their deadline in the end: work that a
    door with eyes would not have begun.
    """

    cut: str | None
    paths: dict[str, Path]
    finished: int
    refused: int
    expired: int

    def peak(self, tank: str) -> int:
        """The tank's greatest level."""
        return max((level for _, level in self.paths[tank]), default=0)


def chain_document(cut: str | None = None, *, seed: int = 31, count: int = 160) -> dict[str, Any]:
    """Four seats, 50 ms a round, 1.6 requests a second of 40 tokens; every other client reads 4 tokens a second.

    A fast answer takes 2 s, a slow one is read in 10 s: seats kept for slow readers are more than there are. Those
    who read fast want their answer within 6 s, the others have no deadline; the queue holds 8, Δ is 2 s. `seed` draws
    the arrivals.
    """
    luck = random.Random(seed)
    now = 0.0
    requests = []
    for place in range(count):
        now += luck.expovariate(1.6)
        slow = place % 2 == 1
        requests.append(
            {
                "id": f"r{place}",
                "arrival": round(now, 6),
                "prompt_tokens": 16,
                "output_tokens": 40,
                "deadline": None if slow else round(now + 6, 6),
                "reader": {"tokens_per_second": 4, "buffer_tokens": 8} if slow else None,
            }
        )
    return {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 256, "seats": 4, "kv_bytes": 256 << 20},
        "policy": {
            "max_queue": 8,
            "margin_seconds": 2,
            "backpressure": [link for link in LINKS if link != cut],
        },
        "cost": {"kind": "table", "seconds": {str(n): 0.05 for n in range(1, 5)}},
        "requests": requests,
    }


def chain(cut: str | None = None, **load_fields: int) -> Chain:
    """The run of `chain_document` with one link cut, or whole."""
    tanks = Tanks()
    stream(load(chain_document(cut, **load_fields)), tanks.feed)
    return Chain(cut, tanks.paths, **{name: tanks.ends[name] for name in ("finished", "refused", "expired")})


def chains(**load_fields: int) -> list[Chain]:
    """The chain whole, then with each link cut in turn (C20)."""
    return [chain(cut, **load_fields) for cut in (None, *LINKS)]


class Tanks:
    """A fold over a journal: the level of each tank after each change.

    Tokens to a client without a reader, network or groups are read as they are made and are in no buffer.
    """

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {tank: [] for tank in ("buffers", "active", "queue", "doomed")}
        self.ends = {"finished": 0, "refused": 0, "expired": 0}
        self._level = dict.fromkeys(self.paths, 0)
        self._where: dict[str, str] = {}  # each live request's tank
        self._unread: dict[str, int] = {}
        self._direct: set[str] = set()

    def feed(self, event: Event) -> None:
        """One event of the journal."""
        kind, name, now = event["event"], event.get("id", ""), event["t"]
        if kind == "submit":
            if event["direct"]:
                self._direct.add(name)
            self._move(name, "queue", now)
        elif kind == "admit":
            self._move(name, "active", now)
        elif kind == "preempt":
            self._move(name, "queue", now)
        elif kind == "token" and name not in self._direct:
            self._unread[name] = self._unread.get(name, 0) + 1
            self._add("buffers", 1, now)
        elif kind == "deliver":
            self._unread[name] -= 1
            self._add("buffers", -1, now)
        elif kind in ("finish", "reject", "expire", "cancel", "fail"):
            self._move(name, None, now)
            ends = {"finish": "finished", "reject": "refused", "expire": "expired"}
            if kind in ends:
                self.ends[ends[kind]] += 1
            if kind in ("expire", "cancel", "fail"):  # what it had not read is thrown away
                self._add("buffers", -self._unread.pop(name, 0), now)
            if kind == "expire":
                self._add("doomed", 1, now)

    def _move(self, name: str, tank: str | None, now: int) -> None:
        old = self._where.pop(name, None)
        if old is not None:
            self._add(old, -1, now)
        if tank is not None:
            self._where[name] = tank
            self._add(tank, 1, now)

    def _add(self, tank: str, change: int, now: int) -> None:
        if not change:
            return
        self._level[tank] += change
        path, at = self.paths[tank], Fraction(now, NS_PER_SECOND)
        if path and path[-1][0] == at:
            path[-1] = (at, self._level[tank])
        else:
            path.append((at, self._level[tank]))
