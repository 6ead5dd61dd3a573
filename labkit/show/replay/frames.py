"""A journal folded into frames: what there is to see at each step of a run.

A frame is a round, a stretch in which nothing could run (`idle`), or the close (`end`). It tells what happened
before it, who sits where, who waits and why (law 11), whose pages are whose, what happened while it ran, whose
token came out, who ended. Queue, seats and pages are those of the round's start, after planning; progress and
totals those of its end.

Where rounds overlap (pipeline depth 2), a round's plan may come while the one before it runs: that frame tells what is
`fixed`, and the next one begins when it has settled.

The fold is pure: events in, frames out, the same for a virtual run, a real one, and one that was cut short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, ClassVar, Literal

from labkit.show.replay.frame import ENDS, Event, Frame, Happening, Limits, Pages
from labkit.show.replay.pagemap import CELLS, PageMap
from labkit.show.replay.roster import Live, Roster

# What a plan's commit writes; anything else, or a later time, means that the round is under way.
_COMMIT = frozenset(
    {"step", "preempt", "swap_out", "swap_in", "release", "admit", "pages", "deliver", "reject"}
)
_SETTLED = frozenset(
    {"submit", "plan", "wake", "until"}
)  # what can't belong to the round that has just ended


def frames(journal: Iterable[Event]) -> tuple[Limits, list[Frame]]:
    """All frames of a journal (its first line first), with the map of its pages, and the limits it ran under."""
    header, *events = journal
    limits = Limits.of(header)
    pool = limits.pool
    if pool is None:
        pool = 1 + max((page for e in events if e["event"] == "pages" for page, _ in e["pages"]), default=-1)
    fold = max(1, -(-pool // CELLS))
    folded = FrameFold(limits, fold, -(-pool // fold))
    found = [frame for event in events for frame in folded.feed(event)]
    return limits, found + list(folded.close())


class FrameFold:
    """Feed it the events after the journal's first line, in order; each gives the frames that it completes.

    Memory holds what lives, not what was. `fold` pages make a cell of the map of `count` cells; 0: no map.
    """

    def __init__(self, limits: Limits, fold: int = 0, count: int = 0) -> None:
        self.roster = Roster(limits)
        self.map = PageMap(limits.page_tokens, fold)
        self._count = count
        self._totals = dict.fromkeys([*ENDS, "emitted"], 0)
        self._now = 0
        self._last = ""
        self._pending: list[Happening] = []  # for the frame that comes next
        self._noted = False  # a reason was told since the last frame
        self._frame: Frame | None = None  # in progress
        self._items: list[list[Any]] = []
        self._ahead: tuple[int, list[list[Any]]] | None = (
            None  # planned, while the frame in progress is a round
        )
        self._stale: set[str] = set()  # whose items in it have come to nothing
        self._empty = -1  # a round that was told of and has no items so far
        self._leaving: set[str] = set()  # whose pages go to the host while rounds overlap
        self._stage: Literal["free", "commit", "running", "settling"] = "free"
        self._settled: list[
            Event
        ] = []  # of the round that has ended, until it's known who was cancelled in it
        self._ended: dict[str, Live] = {}  # with it
        self._told_to = 0  # the frames so far reach to here
        self._told_totals = self.roster.counts() | self._totals
        self._reading: dict[str, Live] = {}  # finished, and not yet read to the last token

    def feed(self, event: Event) -> Iterator[Frame]:
        """One event, and what it completes. Raises ValueError where it can't follow from those before it."""
        kind, now = event["event"], event["t"]
        settles = kind == "step" and event["step"] == "A6"
        if self._stage == "settling" and (kind in _SETTLED or now > self._now or settles):
            yield from self._close_round()
        if self._stage == "commit" and (now > self._now or not self._of_commit(event)):
            self._begin()
        self._now = now
        if kind == "plan":
            yield from self._plan(event)
        elif kind == "swap_out":
            yield from self._swap_out(event)
        elif kind == "wake" and event["reason"] == "idle":
            yield from self._idle(now)
        else:
            handler = self._HANDLERS.get(kind)
            if handler is not None:
                handler(self, event)
        self._last = kind

    def close(self) -> Iterator[Frame]:
        """The last frames: no more events come."""
        if self._stage == "settling":
            yield from self._close_round()
        frame = self._frame
        if frame is not None and frame.kind == "round":  # a killed run: its last round never ended
            self._pending = frame.before + self._pending
            self._frame = None
        yield from self._close_idle(self._now)
        yield from self._gap(self._now)
        end = Frame("end", self._now, self._now, before=self._pending)
        self._items = []
        self._snapshot(end)
        self._finish(end)
        yield end

    # ------------------------------------------------------------------------------------------ a frame's stages

    def _plan(self, event: Event) -> Iterator[Frame]:
        for name, reason in event["notes"]:
            self.roster.note(name, reason)
            self._noted = True
        running = self._frame if self._frame is not None and self._frame.kind == "round" else None
        if not event["items"]:
            self._empty = event["round"]
        elif running is None:
            yield from self._close_idle(event["t"])
            yield from self._gap(event["t"])
            self._start(event["t"], event["round"], event["items"])
        elif self.roster.limits.overlaps and self._ahead is None and event["round"] - 1 == running.round:
            self._ahead = running.fixed = (event["round"], event["items"])
        else:
            raise ValueError(f"round {event['round']} is planned while round {running.round} runs")

    def _start(self, now: int, number: int, items: list[list[Any]]) -> None:
        self._items = items
        self._frame = Frame("round", now, now, number)
        self._frame.wasted = [name for name, *_ in items if name in self._stale]
        self._stale.clear()
        self._stage = "commit"

    def _of_commit(self, event: Event) -> bool:
        """A commit ends those whom it may not preempt as failed for want of capacity.

        Where rounds overlap there may be another commit at the same instant: all of it is told as the round's start.
        """
        if self.roster.limits.overlaps:
            return bool(event["event"] != "round")
        return event["event"] in _COMMIT or (event["event"] == "fail" and event.get("reason") == "capacity")

    def _begin(self) -> None:
        """The round's seats and pages are taken: what there is to see of its start."""
        if self._frame is not None:
            self._frame.before, self._pending = self._pending, []
            self._snapshot(self._frame)
        self._stage = "running"

    def _round(self, event: Event) -> None:
        frame = self._frame
        if frame is None or frame.round != event["round"]:
            raise ValueError(f"round {event['round']} ends, but it was not planned")
        frame.start, frame.end = event["start"], event["end" if "end" in event else "t"]
        frame.idle_seats = event.get("idle_seats", 0)
        # A reader's buffer fills with the token that ends the round: that comes after it.
        frame.after = [told for told in self._pending if told.kind == "pause" and told.t == event["t"]]
        frame.during = [told for told in self._pending if told.kind != "pause" or told.t != event["t"]]
        self._pending = []
        if "lost" in event:
            self._items = []
            frame.after.append(Happening(event["t"], "lost"))
        elif "end" in event:
            frame.after.append(Happening(event["t"], "late"))
        self._items = [item for item in self._items if item[0] not in frame.wasted]
        for name, new, context, _ in self._items:
            if name in self.roster.live:
                self.roster.live[name].computed = context + new
        frame.seats = self.roster.seated(self._items)
        self._stage = "settling"

    def _close_round(self) -> Iterator[Frame]:
        frame, self._frame, self._stage = self._frame, None, "free"
        if frame is None:
            return
        yielded = {name for name, _ in frame.tokens}
        stopped = {event["id"] for event in self._settled if event["event"] == "cancel"}
        for name, new, context, _ in self._items:
            # Cancelled while it ran: what the round computed for it counts for nothing.
            if name not in stopped or name in yielded:
                live = self.roster.live.get(name) or self._ended.get(name)
                if live is not None and live.prefix is not None:
                    self.map.publish(name, context + new, live.prefix)
        touched = {name for name, *_ in self._ahead[1]} if self._ahead else set()
        for event in self._settled:
            if event["event"] == "release":
                self.map.release(event["id"], event["id"] in touched)
        self._stale |= touched & self._ended.keys()
        self._settled, self._items = [], []
        self._ended.clear()
        self._finish(frame)
        yield frame
        if self._ahead is not None:
            (number, items), self._ahead = self._ahead, None
            self._start(self._now, number, items)

    def _idle(self, now: int) -> Iterator[Frame]:
        """Nothing can be planned. A stretch goes on until something happens that is not just a delivery."""
        if self._frame is not None and not self._pending and not self._noted:
            return
        yield from self._close_idle(now)
        yield from self._gap(now)
        self._frame = Frame("idle", now, now, before=self._pending)
        self._pending, self._items = [], []
        self._snapshot(self._frame)

    def _close_idle(self, now: int) -> Iterator[Frame]:
        frame, self._frame = self._frame, None
        if frame is None:
            return
        if frame.start == now:  # no time passed in it: it tells nothing of its own
            self._pending = frame.before + self._pending
            return
        frame.end = now
        self._finish(frame)
        yield frame

    def _snapshot(self, frame: Frame) -> None:
        frame.limit, self._noted = self.roster.seats, False
        frame.waiting = self.roster.waiting
        frame.queue, frame.news = self.roster.queue(frame.start)
        promised = self.roster.promised(self.map.tables)
        counts = self.map.in_use, promised, self.map.shared, self.map.cached, len(self.map.held)
        frame.pages = Pages(*counts)
        frame.cells = self.map.cells(self._count)
        frame.seats = self.roster.seated(self._items)

    def _finish(self, frame: Frame) -> None:
        frame.totals = self._told_totals = self.roster.counts() | self._totals
        self._told_to = frame.end

    def _gap(self, now: int) -> Iterator[Frame]:
        """Between two frames the system was empty; what has come since belongs to the next."""
        if now > self._told_to:
            frame = Frame("idle", self._told_to, now)
            self._items = []
            waiting, self.roster.news = self.roster.news, {}
            self._snapshot(frame)
            frame.waiting, frame.queue, frame.news, self.roster.news = 0, [], [], waiting
            frame.totals = self._told_totals
            self._told_to = now
            yield frame

    # ------------------------------------------------------------------------------------------ single events

    def _tell(self, event: Event, kind: str = "", **data: Any) -> None:
        self._pending.append(Happening(event["t"], kind or event["event"], event.get("id", ""), data))

    def _submit(self, event: Event) -> None:
        self.roster.submit(event)
        told = ("prompt_tokens", "max_output_tokens", "prefilled")
        self._tell(event, **{key: event[key] for key in told})

    def _admit(self, event: Event) -> None:
        self.map.share(event["id"], [page for page, _ in event["shared"]])
        if self.roster.of(event).swapped:
            self.map.restored(event["id"], event["context"])
        self._tell(event, lane=self.roster.sit(event), cached=event["cached"])

    def _preempt(self, event: Event) -> None:
        self._tell(event, mode=event["mode"], to=event["for"], lane=self.roster.give_way(event))
        if self._ahead is not None:
            self._stale.add(event["id"])

    def _swap_out(self, event: Event) -> Iterator[Frame]:
        """While rounds overlap the pages are free only when they have got there; a round may carry nothing else."""
        if self.roster.limits.overlaps:
            self._leaving.add(event["id"])
            if self._stage == "free":
                yield from self._close_idle(event["t"])
                yield from self._gap(event["t"])
                self._start(event["t"], self._empty, [])

    def _retire(self, event: Event) -> None:
        self.map.retire(event["page"])

    def _take(self, event: Event) -> None:
        self.map.take(event["id"], [page for page, _ in event["pages"]])

    def _release(self, event: Event) -> None:
        name = event["id"]
        if self._stage == "settling":
            self._settled.append(event)
        else:
            touched = self._ahead is not None and any(item[0] == name for item in self._ahead[1])
            self.map.release(name, touched or name in self._leaving)
            self._leaving.discard(name)

    def _token(self, event: Event) -> None:
        self.roster.of(event).emitted = event["index"]
        self._totals["emitted"] += 1
        if self._frame is not None:
            self._frame.tokens.append((event["id"], event["index"]))

    def _deliver(self, event: Event) -> None:
        name = event["id"]
        live = self.roster.live.get(name) or self._reading.get(name)
        if live is not None:
            live.delivered = event["index"]
            if name in self._reading and not live.unread:
                del self._reading[name]
                self._tell(event, "read", at=event["at"])

    def _pause(self, event: Event) -> None:
        self.roster.of(event).paused = event["event"] == "pause"
        self._tell(event)

    def _end(self, event: Event) -> None:
        live, lane = self.roster.remove(event)
        self._totals[event["event"]] += 1
        if event["event"] == "finish" and not live.submit["direct"]:
            self._reading[event["id"]] = live
        if self._stage == "settling" and self._frame is not None:
            self._settled.append(event)
            self._ended[event["id"]] = live
            told = {"reason": event.get("reason"), "lane": lane}
            self._frame.after.append(Happening(event["t"], event["event"], event["id"], told))
        else:
            self._tell(event, reason=event.get("reason"), lane=lane)

    def _credit(self, event: Event) -> None:
        """All balances are told in one go; who is not among them has none."""
        if self._last != "credit":
            self.roster.balances.clear()
        try:
            self.roster.balances[event["tenant"]] = Fraction(event["balance"])
        except ZeroDivisionError:
            raise ValueError(f"a balance of {event['balance']}") from None

    def _wake(self, event: Event) -> None:
        if event["reason"].startswith("capacity"):
            self._tell(event, event["reason"], seats=event["seats"])
            if event["reason"] == "capacity_live":
                self.roster.seats = event["seats"]

    _HANDLERS: ClassVar[dict[str, Any]] = {
        "submit": _submit,
        "admit": _admit,
        "preempt": _preempt,
        "swap_in": _tell,
        "retire": _retire,
        "pages": _take,
        "release": _release,
        "token": _token,
        "deliver": _deliver,
        "pause": _pause,
        "resume": _pause,
        "round": _round,
        "credit": _credit,
        "wake": _wake,
        "until": _tell,
        **dict.fromkeys(ENDS, _end),
    }
