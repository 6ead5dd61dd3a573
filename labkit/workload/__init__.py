"""Who sends requests, and when: sources of `Job`s for the engine.

A source has three methods, and the engine calls no others:

`peek() -> int | None`
    arrival, in ns, of the next job as far as it is known now; None: none is known. A closed loop may know of
    a later one after the next `notify_end`.
`take() -> Job`
    that job, handed over once. Jobs come in order of arrival; ties in the order of the file, or of the users.
`notify_end(request_id: str, at_ns: int) -> None`
    told once for each request, when it is terminal and everything is delivered; `at_ns` may lie in the future
    (a reader still reads). Only a closed loop listens.

A source keeps nothing for a request once it is taken, so memory does not grow with the length of a trace. The
true output length travels in `Job.oracle` as an int, already cut to the bound; the scheduler never sees it
(law 4).

Sources: `listed.Listed`, `arrivals.Arrivals` (open loop), `closed_loop.ClosedLoop`, and `traces.open_trace`.
"""

from __future__ import annotations

from typing import Protocol

from labkit.core.types import Job


class Source(Protocol):
    """Where the engine gets its jobs from."""

    def peek(self) -> int | None:
        """Arrival in ns of the next job known now, None if there is none."""
        ...

    def take(self) -> Job:
        """The next job; only after `peek` was not None."""
        ...

    def notify_end(self, request_id: str, at_ns: int) -> None:
        """`request_id` is terminal and fully delivered at `at_ns`."""
        ...
