"""Jobs that come from an iterable in order of arrival: the requests of a file, a trace, a random process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from labkit.core.types import Job


class Streamed:
    """A source over an iterator of jobs in order of arrival. Holds one job, the next."""

    def __init__(self, jobs: Iterator[Job]) -> None:
        self._jobs = jobs
        self._next = next(jobs, None)

    def peek(self) -> int | None:
        """Arrival in ns of the next job, None after the last."""
        return None if self._next is None else self._next.request.arrival_ns

    def take(self) -> Job:
        """The next job."""
        job = self._next
        if job is None:
            raise LookupError("no job is left")
        self._next = next(self._jobs, None)
        return job

    def notify_end(self, request_id: str, at_ns: int) -> None:
        """An open loop does not wait for answers (C30)."""


class Listed(Streamed):
    """The requests of a scenario file, sorted by arrival, then by place in the file."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        super().__init__(iter(sorted(jobs, key=lambda job: (job.request.arrival_ns, job.request.place))))
