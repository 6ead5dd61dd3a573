"""From emission to delivery: groups, slow readers, the network.

Delivery j = max(hand-over j, end of reading j − 1) + the reader's interval, plus the network; tokens are handed
over `deliver_every` at a time. Without a reader a token is read the moment it is handed over.
"""

from __future__ import annotations

from typing import Any

from labkit.core.types import Client

Record = dict[str, Any]


class Stream:
    """The output of one request on its way to its client. `emitted` ≥ `handed` ≥ `read`, all counted in tokens."""

    __slots__ = ("client", "emitted", "full_since", "handed", "id", "next_read_ns", "planned_ns", "read")

    def __init__(self, request_id: str, client: Client) -> None:
        self.id = request_id
        self.client = client
        self.emitted = 0
        self.handed = 0
        self.read = 0
        self.next_read_ns: int | None = None
        self.planned_ns: int | None = None  # the read that the engine's clock knows of
        self.full_since: int | None = None

    @property
    def full(self) -> bool:
        """The reader's buffer has no room: so many tokens are emitted and not yet read."""
        reader = self.client.reader
        return reader is not None and self.emitted - self.read >= reader.buffer_tokens

    def emit(self, now: int) -> list[Record]:
        """One more token comes out of the engine."""
        self.emitted += 1
        return self.hand_over(now) if self.emitted % self.client.deliver_every == 0 else []

    def hand_over(self, now: int) -> list[Record]:
        """What is emitted goes to the reader, or straight to the network."""
        self.handed = self.emitted
        if self.client.reader is not None:
            if self.next_read_ns is None and self.read < self.handed:
                self.next_read_ns = now + self.client.reader.interval_ns
            return []
        return [self._deliver(now) for _ in range(self.handed - self.read)]

    def drain(self, now: int) -> list[Record]:
        """The reader has finished one token; it goes on with the next if there is one."""
        reader = self.client.reader
        record = self._deliver(now)
        self.next_read_ns = now + reader.interval_ns if reader and self.read < self.handed else None
        return [record]

    def _deliver(self, now: int) -> Record:
        self.read += 1
        return {
            "event": "deliver",
            "t": now,
            "id": self.id,
            "index": self.read,
            "at": now + self.client.network_ns,
        }


def direct(client: Client) -> bool:
    """Delivery is emission: no reader, no network, no groups. Such tokens need no `deliver` event of their own."""
    return client.reader is None and not client.network_ns and client.deliver_every == 1
