"""Little's law from residence areas, exact on every finite window (E31.6–8, C16, C17, N05, N06, Q31.6).

For a place (the system, its queue, a stage) N(t) counts who is there. Over a window [s, e] of length H two sums
are the same area, E31.7:

    ∫ N(t) dt  =  Σ_i |visits of i ∩ [s, e]|

Dividing by H gives the mean number; to get to λ·E[T] the right side is sorted by who has left the system. With the
requests that depart in (s, e], their number D and their whole times T_i in the place:

    area = Σ_{departed} T_i − (their part before s) + (the part in the window of those still there at e)
    N̄    = (D/H) · mean T  +  boundary,      boundary = (still there − before)/H

The boundary term is what a finite window adds; it goes to zero as H grows if the system is stable, and that is all
that E31.8 leaves out. Nothing is assumed of arrivals or service (N05). Times are integer ns, so every line is an
equality of whole numbers. The window is closed at e: a departure at e counts (Q31.6). One at s does not, unless it
came at s as well and was turned away at once.

The *queue* holds every wait of a request, before its first round and after each preemption; so E[Wq] is of all
waits, and exceeds the first wait W where there were preemptions (C16). The stages divide the system: queued,
prefill, decode, swapped, undelivered.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction

from labkit.core.types import NS_PER_SECOND
from labkit.measure.steps import Steps, Thin

STAGES = ("queued", "prefill", "decode", "swapped", "undelivered")
REGIONS: dict[str, frozenset[str]] = {
    "system": frozenset(STAGES),
    "queue": frozenset({"queued", "swapped"}),
    **{stage: frozenset({stage}) for stage in STAGES},
}
Visit = tuple[str, int, int]


@dataclass(frozen=True)
class Little:
    """One place over one window; times in ns.

    `area` is the left side of E31.7, summed under N(t); `residence` the right side, summed over visits.
    `accepted_only`: rejected requests are left out of everything (then `area` is taken from the visits too).
    """

    region: str
    start: int
    end: int
    area: int
    residence: int
    arrivals: int
    departures: int
    departed_time: int
    before: int
    present: int
    peak: int | None
    accepted_only: bool = False

    @property
    def exact(self) -> bool:
        """E31.7 and its split by departures hold to the nanosecond."""
        return self.area == self.residence == self.departed_time - self.before + self.present

    @property
    def seconds(self) -> Fraction:
        """H, the length of the window, in s."""
        return Fraction(self.end - self.start, NS_PER_SECOND)

    @property
    def mean_number(self) -> Fraction | None:
        """N̄ over the window."""
        return Fraction(self.area, self.end - self.start) if self.end > self.start else None

    @property
    def rate(self) -> Fraction | None:
        """λ: departures a second (for a place inside the system too: the same requests, E31.8)."""
        return self.departures / self.seconds if self.end > self.start else None

    @property
    def mean_time(self) -> Fraction | None:
        """Mean whole time in the place, in s, of the requests that departed in the window."""
        return Fraction(self.departed_time, self.departures * NS_PER_SECOND) if self.departures else None

    @property
    def boundary(self) -> Fraction | None:
        """What the window's ends add to λ·mean time to make the mean number."""
        return Fraction(self.present - self.before, self.end - self.start) if self.end > self.start else None


def mismatch(everyone: Little, accepted: Little) -> Fraction | None:
    """C17: λ counted with the rejected arrivals, mean time without them: by how many requests λ·T is then off.

    λ_all·T_accepted − λ_all·T_all; None where one of the means is undefined, 0 where nothing was rejected.
    """
    if everyone.rate is None or everyone.mean_time is None or accepted.mean_time is None:
        return None
    return everyone.rate * (accepted.mean_time - everyone.mean_time)


class _Guest:
    """A request in the system: when it came, where it is and since when, where it has been."""

    __slots__ = ("came", "since", "stage", "visits")

    def __init__(self, came: int) -> None:
        self.came = came
        self.stage = "queued"
        self.since = came
        self.visits: list[Visit] = []

    def goes(self, at: int) -> None:
        """Its visit to where it is ends."""
        if at > self.since:
            self.visits.append((self.stage, self.since, at))


class Residence:
    """Who is in which stage, told in order of time; `close` gives the areas of every region.

    Keeps the visits of requests that are in the system, and sums of those that have left.
    """

    def __init__(self, start: int = 0, end: int | None = None, thin: bool = False) -> None:
        self.start = start
        self.end = end
        self._sent_before = end
        self.steps = {name: Steps(start, Thin() if thin else None) for name in REGIONS}
        self.arrivals = [0, 0]  # of all, of the rejected
        self._in: dict[str, _Guest] = {}
        self._leaving: list[tuple[int, int, _Guest, bool]] = []
        self._left = 0
        # [departures, departed, before, present, residence] of each region; of all, of the rejected
        self._sums = {name: [[0] * 5, [0] * 5] for name in REGIONS}

    def enter(self, request_id: str, at: int) -> None:
        """A request arrives and waits."""
        self._in[request_id] = _Guest(at)
        self._count("queued", at, 1)
        self.arrivals[0] += self._inside(at)

    def stage(self, request_id: str) -> str:
        """Where it is now."""
        return self._in[request_id].stage

    def move(self, request_id: str, stage: str, at: int) -> None:
        """It goes to another stage, or stays where it is."""
        guest = self._in[request_id]
        if guest.stage == stage:
            return
        guest.goes(at)
        self._count(guest.stage, at, -1)
        self._count(stage, at, 1)
        guest.stage, guest.since = stage, at

    def leave(self, request_id: str, at: int, rejected: bool) -> None:
        """It leaves the system at `at`, which may lie ahead (the network's time)."""
        guest = self._in.pop(request_id)
        guest.goes(at)
        self._count(guest.stage, at, -1)
        self.arrivals[1] += rejected and self._inside(guest.came)
        self._left += 1
        heapq.heappush(self._leaving, (at, self._left, guest, rejected))

    def advance(self, now: int) -> None:
        """Time goes on to `now`, in order."""
        for steps in self.steps.values():
            steps.advance(now if self.end is None else min(now, self.end))
        while self._leaving and self._leaving[0][0] <= now:
            at, _, guest, rejected = heapq.heappop(self._leaving)
            self._departed(at, guest, rejected)

    def close(self, end: int) -> None:
        """The observation ends; who is still there is counted with the time until then."""
        if self.end is None:
            self.end = end
        self.advance(end)
        for _, _, guest, rejected in self._leaving:
            self._remains(guest.visits, rejected)
        for guest in self._in.values():
            guest.goes(self.end)
            self._remains(guest.visits, False)
        self._leaving, self._in = [], {}

    def little(self, region: str, accepted_only: bool = False) -> Little:
        """The law at one region, after `close`."""
        assert self.end is not None, "close first"
        everyone, rejected = self._sums[region]
        sums = [a - b for a, b in zip(everyone, rejected, strict=True)] if accepted_only else everyone
        departures, departed, before, present, residence = sums
        steps = self.steps[region]
        return Little(
            region=region,
            start=self.start,
            end=max(self.start, self.end),
            area=residence if accepted_only else steps.area,
            residence=residence,
            arrivals=self.arrivals[0] - (self.arrivals[1] if accepted_only else 0),
            departures=departures,
            departed_time=departed,
            before=before,
            present=present,
            peak=None if accepted_only else steps.peak,
            accepted_only=accepted_only,
        )

    def _count(self, stage: str, at: int, delta: int) -> None:
        for name, stages in REGIONS.items():
            if stage in stages:
                self.steps[name].change(at, delta)

    def _inside(self, at: int) -> bool:
        return self.start <= at and (self._sent_before is None or at < self._sent_before)

    def _departed(self, at: int, guest: _Guest, rejected: bool) -> None:
        visits = guest.visits
        if at < self.start or (at == self.start and guest.came < at):
            return
        if self.end is not None and at > self.end:
            self._remains(visits, rejected)
            return
        for name, stages in REGIONS.items():
            whole = sum(y - x for stage, x, y in visits if stage in stages)
            before = sum(
                min(y, self.start) - x for stage, x, y in visits if stage in stages and x < self.start
            )
            self._add(name, rejected, [1, whole, before, 0, whole - before])

    def _remains(self, visits: list[Visit], rejected: bool) -> None:
        assert self.end is not None
        for name, stages in REGIONS.items():
            inside = sum(
                max(0, min(y, self.end) - max(x, self.start)) for stage, x, y in visits if stage in stages
            )
            self._add(name, rejected, [0, 0, 0, inside, inside])

    def _add(self, name: str, rejected: bool, amounts: list[int]) -> None:
        for which in (0, 1) if rejected else (0,):
            sums = self._sums[name][which]
            for place, amount in enumerate(amounts):
                sums[place] += amount
