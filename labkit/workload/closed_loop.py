"""A closed loop: a fixed number of users, each of whom waits for an answer before asking again (C30)."""

from __future__ import annotations

import heapq
from fractions import Fraction

from labkit.core.types import Job
from labkit.workload.arrivals import make_job
from labkit.workload.random_laws import LengthLaw, stream


class ClosedLoop:
    """`users` users send at 0, then `think_ns` after their last delivery or terminal event; `count` in all.

    Ids are `u<user>-<k>`, both from 0. The lengths of a user's k-th request come from (seed, user, k), so
    they are the same whatever the schedule. Once `count` requests are sent nobody sends another; who got the
    last ones is decided by the order of sending, ties by user. A slow server slows its own arrivals: this
    load hides overload (coordinated omission). `patience_ns`: each deadline less its arrival, d − a (E31.14).
    """

    def __init__(
        self,
        *,
        users: int,
        think_ns: int,
        count: int,
        seed: int,
        prompt: LengthLaw,
        output: LengthLaw,
        bound: Fraction = Fraction(1),
        patience_ns: int | None = None,
    ) -> None:
        self._patience_ns = patience_ns
        self._users = users
        self._think_ns = think_ns
        self._count = count
        self._seed = seed
        self._prompt = prompt
        self._output = output
        self._bound = bound
        self._fresh = 0  # the next user who has sent nothing yet
        self._sent = 0
        self._thinking: list[tuple[int, int, int]] = []  # (sends at, user, k)

    def peek(self) -> int | None:
        """When the next user sends, as far as ended requests tell; None while everyone waits, or after the
        last.
        """
        if self._sent == self._count:
            return None
        if self._fresh < self._users:
            return 0
        return self._thinking[0][0] if self._thinking else None

    def take(self) -> Job:
        """The request that is sent next."""
        if self.peek() is None:
            raise LookupError("no user is ready to send")
        if self._fresh < self._users:
            at_ns, user, k = 0, self._fresh, 0
            self._fresh += 1
        else:
            at_ns, user, k = heapq.heappop(self._thinking)
        place = self._sent
        self._sent += 1
        prompt = self._prompt.draw(stream(self._seed, user, k, "prompt"))
        output = self._output.draw(stream(self._seed, user, k, "output"))
        return make_job(f"u{user}-{k}", place, at_ns, prompt, output, self._bound, self._patience_ns)

    def notify_end(self, request_id: str, at_ns: int) -> None:
        """That user starts thinking at `at_ns` and sends `think_ns` later."""
        user, k = request_id[1:].split("-")
        heapq.heappush(self._thinking, (at_ns + self._think_ns, int(user), int(k) + 1))
