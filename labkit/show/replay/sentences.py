"""One source of sentences: what `replay --text` prints, what the stepper's live region says, what its table holds.

A frame is told in clauses, in the order in which things happen: its head (round, time), what came before, the
seats, the queue with the reason each waits, the pages, what happened meanwhile, the tokens, the ends.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from labkit.show.replay.frame import Event, Frame, Happening, Limits, Waiting
from labkit.show.replay.frames import FrameFold
from labkit.show.text import LANGUAGES, STRINGS, t

CLAUSES = ("head", "before", "runs", "waits", "pages", "during", "after")
WAITS = {
    "tokens": "replay.wait_tokens",
    "seats": "replay.wait_seats",
    "pages": "replay.wait_pages",
    "seconds": "replay.wait_seconds",
    "bypass": "replay.wait_bypass",
    "batch": "replay.wait_batch",
    "window": "replay.wait_window",
    "swapped": "replay.wait_swapped",
    "reader": "replay.wait_reader",
    "preempted": "replay.wait_preempted",
    None: "replay.wait_unknown",
}
TOTALS = {
    "submitted": "replay.submitted",
    "waiting": "replay.waiting",
    "swapped": "replay.swapped",
    "active": "replay.active",
    "finish": "replay.finished",
    "reject": "replay.rejected",
    "cancel": "replay.cancelled",
    "expire": "replay.expired",
    "fail": "replay.failed",
    "emitted": "replay.emitted",
}
DOES = {
    "prefill": "replay.prefill",
    "decode": "replay.decode",
    "paused": "replay.paused",
    "held": "replay.held",
}
_PLAIN = re.compile(r"[\w][\w.\-/:@+]*")
_LONG_NS = 10_000_000_000


def name(id_: str) -> str:
    """A request's id as it is shown: in quotes unless it's a plain word, with nothing that drives a terminal."""
    if _PLAIN.fullmatch(id_):
        return id_
    return '"' + printable(id_.replace("\\", "\\\\")).replace('"', '\\"') + '"'


def printable(text: str) -> str:
    """Text from a journal with nothing in it that could break a line, turn its direction or drive a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def clock(ns: int) -> str:
    """A time, exactly: in ms, from ten seconds on in s."""
    unit, digits = ("ms", 6) if ns < _LONG_NS else ("s", 9)
    whole, rest = divmod(ns, 10**digits)
    return f"{whole}.{rest:0{digits}}".rstrip("0").rstrip(".") + f" {unit}"


def default_language() -> str:
    """English, unless `LABKIT_LANG` says otherwise: the language of a command line."""
    asked = os.environ.get("LABKIT_LANG", "en")
    return asked if asked in LANGUAGES else "en"


class Teller:
    """Tells frames in one language."""

    def __init__(self, limits: Limits, lang: str) -> None:
        self.limits = limits
        self.lang = lang

    def clauses(self, frame: Frame) -> dict[str, str]:
        """The clauses of a frame by name, empty where there is nothing to tell."""
        heads = {"round": "replay.round", "idle": "replay.idle", "end": "replay.end"}
        head = self._t(heads[frame.kind], n=frame.round, start=clock(frame.start), end=clock(frame.end))
        after = []
        if frame.kind == "round":
            after.append(self._tokens(frame))
        if frame.after:
            what = self._list(self._happening(told) for told in frame.after)
            after.append(self._t("replay.after", list=what))
        if frame.kind == "end":
            after.append(self._totals(frame))
        return {
            "head": head,
            "before": self._happenings("replay.before", frame.before),
            "runs": self._seats(frame) + self._overlap(frame),
            "waits": self._queue(frame),
            "pages": self._pages(frame),
            "during": self._happenings("replay.during", frame.during),
            "after": self._t("list.stop").join(after),
        }

    def sentence(self, frame: Frame) -> str:
        """A frame told in one go."""
        return self._t("list.stop").join(clause for clause in self.clauses(frame).values() if clause)

    def _t(self, key: str, **values: Any) -> str:
        return t(key, self.lang, **values)

    def _list(self, parts: Iterable[str], separator: str = "list.comma") -> str:
        return self._t(separator).join(parts)

    def _happenings(self, key: str, happenings: list[Happening]) -> str:
        if not happenings:
            return ""
        groups = itertools.groupby(happenings, key=lambda told: told.data.get("at", told.t))
        listed = [
            self._t("replay.at", at=clock(at), list=self._list(map(self._happening, group)))
            for at, group in groups
        ]
        return self._t(key, list=self._list(listed, "list.semicolon"))

    def _happening(self, told: Happening) -> str:
        key, data = f"replay.{told.kind}", told.data
        if told.kind == "submit":
            key += "_prefilled" * data["prefilled"]
            return self._t(
                key, id=name(told.id), prompt=data["prompt_tokens"], bound=data["max_output_tokens"]
            )
        if told.kind == "admit":
            key += "_cached" * (data["cached"] > 0)
            return self._t(key, id=name(told.id), seat=data["lane"] + 1, cached=data["cached"])
        if told.kind == "preempt" and data["to"] == told.id:
            return self._t(f"{key}_lost", id=name(told.id))
        if told.kind == "preempt":
            return self._t(f"{key}_{data['mode']}", id=name(told.id), to=name(data["to"]))
        if told.kind.startswith("capacity"):
            return self._t(key, seats=data["seats"])
        said = self._t(key, id=name(told.id))
        reason = data.get("reason")
        if reason is None:
            return said
        known = f"replay.why_{reason}"
        return self._t(
            "replay.because", list=said, reason=self._t(known) if known in STRINGS else name(reason)
        )

    def _tokens(self, frame: Frame) -> str:
        if not frame.tokens:
            return self._t("replay.no_tokens")
        listed = self._list(self._t("replay.token", id=name(id_), index=index) for id_, index in frame.tokens)
        return self._t("replay.tokens", list=listed)

    def _overlap(self, frame: Frame) -> str:
        """What is fixed while the round runs, and what it computes for nothing since it was fixed itself."""
        said = ""
        if frame.fixed is not None:
            number, items = frame.fixed
            listed = self._list(
                (self._t(DOES[does], id=name(id_), new=new, context=s) for id_, new, s, does in items),
                "list.semicolon",
            )
            said += self._t("list.stop") + self._t("replay.fixed", n=number, list=listed)
        if frame.wasted:
            listed = self._list(map(name, frame.wasted))
            said += self._t("list.stop") + self._t("replay.wasted", list=listed)
        return said

    def _seats(self, frame: Frame) -> str:
        parts = [
            self._t(DOES[seat.does], id=name(seat.id), new=seat.new, context=seat.context)
            for seat in frame.seats
            if seat is not None
        ]
        if frame.idle_seats:
            parts.append(self._t("replay.along", count=frame.idle_seats))
        taken = len(frame.seats) - frame.seats.count(None)
        empty = frame.limit - taken - frame.idle_seats
        if empty > 0 and (frame.kind != "end" or parts):
            parts.append(self._t("replay.empty_waited" if frame.waiting else "replay.empty", count=empty))
        return self._t("replay.runs", list=self._list(parts, "list.semicolon")) if parts else ""

    def _queue(self, frame: Frame) -> str:
        if not frame.waiting:
            return self._t("replay.nobody")
        key = "replay.waits" if len(frame.queue) == frame.waiting else "replay.waits_first"
        said = self._t(key, count=frame.waiting, list=self._waiting(frame.queue))
        if frame.news:
            said += self._t("list.stop") + self._t("replay.waits_news", list=self._waiting(frame.news))
        return said

    def _waiting(self, queue: list[Waiting]) -> str:
        listed = []
        for (reason, swapped), group in itertools.groupby(queue, key=lambda waiting: waiting[1:]):
            why = self._t(WAITS[reason]) if reason in WAITS else name(str(reason))
            if swapped:
                why = self._t("replay.on_host", reason=why)
            names = self._list(name(waiting.id) for waiting in group)
            listed.append(self._t("replay.because", list=names, reason=why))
        return self._list(listed, "list.semicolon")

    def _pages(self, frame: Frame) -> str:
        pages, pool = frame.pages, self.limits.pool
        more = self._t("replay.shared", count=pages.shared) if pages.shared else ""
        more += self._t("replay.cached", count=pages.cached) if pages.cached else ""
        more += self._t("replay.kept", count=pages.held) if pages.held else ""
        of = self._t("replay.no_limit") if pool is None else self._t("replay.pool", pool=pool)
        reserved = pages.in_use + pages.promised
        return self._t("replay.pages", used=pages.in_use, reserved=reserved, pool=of, more=more)

    def _totals(self, frame: Frame) -> str:
        shown = {
            key: count
            for key, count in frame.totals.items()
            if count or key in ("submitted", "finish", "emitted")
        }
        pairs = [f"{self._t(TOTALS[key])} {count}" for key, count in shown.items()]
        return self._t("replay.totals", list=self._list(pairs))


class Narrator:
    """A journal told as it is read: feed it the first line, then the events; each gives the sentences it completes."""

    def __init__(self, header: Event, lang: str | None = None) -> None:
        limits = Limits.of(header)
        self._fold = FrameFold(limits)
        self._teller = Teller(limits, lang or default_language())

    def feed(self, event: Event) -> Iterator[str]:
        """One event. Raises ValueError where it can't follow from those before it."""
        for frame in self._fold.feed(event):
            yield self._teller.sentence(frame)

    def close(self) -> Iterator[str]:
        """What is left to tell when no more events come."""
        for frame in self._fold.close():
            yield self._teller.sentence(frame)
