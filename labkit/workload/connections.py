"""A load client with few connections: what it cannot send yet waits in the client, where no server sees it."""

from __future__ import annotations

import dataclasses
import heapq

from labkit.core.types import Job
from labkit.workload import Source


class Connections:
    """`source` behind a client with `count` connections, each held from sending to the last delivery or the end.

    A request whose time has come while all are busy is sent, in order, when one is free: its arrival is then the
    time of sending, and `Client.intended_ns` keeps the time that was meant. Latency from there counts the wait in
    the client's own queue; from the sending it does not (C30, coordinated omission). A deadline is a point in time
    and stays where it is. With one connection an open loop is as shy as a closed one. What is still in the client
    when an observation ends was never sent, and no journal knows of it.
    """

    def __init__(self, source: Source, count: int) -> None:
        self._source = source
        self._unused = count  # connections that have carried nothing yet
        self._free: list[int] = []  # when each other one that is not busy is free, in ns

    def peek(self) -> int | None:
        """When the next request is sent, as far as ended ones tell; None while all connections are busy."""
        meant = self._source.peek()
        if meant is None or self._unused:
            return meant
        return max(meant, self._free[0]) if self._free else None

    def take(self) -> Job:
        """The request that is sent next."""
        at_ns = self.peek()
        if at_ns is None:
            raise LookupError("no connection is free, or no job is left")
        if self._unused:
            self._unused -= 1
        else:
            heapq.heappop(self._free)
        job = self._source.take()
        meant = job.request.arrival_ns
        if at_ns == meant:
            return job
        return dataclasses.replace(
            job,
            request=dataclasses.replace(job.request, arrival_ns=at_ns),
            client=dataclasses.replace(job.client, intended_ns=meant),
        )

    def notify_end(self, request_id: str, at_ns: int) -> None:
        """Its connection is free from `at_ns` on."""
        heapq.heappush(self._free, at_ns)
        self._source.notify_end(request_id, at_ns)
