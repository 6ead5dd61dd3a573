"""What is sent to the browser: all frames of one or more runs, their sentences, and the words around them.

Everything goes in one piece, as JSON, compressed and in base64, so that the browser never has to ask again. A very
long run is cut: the first `MOST_STEPS` steps, fewer where they would not fit into `MOST_BYTES`, and a line says so.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from labkit.show.replay.frame import Frame
from labkit.show.replay.frames import frames
from labkit.show.replay.sentences import TOTALS, WAITS, Teller, name, printable
from labkit.show.replay.words import SHOWN, STRINGS
from labkit.show.text import t

MOST_STEPS = 5_000
MOST_BYTES = 1_200_000  # of base64; Jupyter drops what comes faster than some MB in a few seconds
QUEUE_ROWS = 6
LANES = 256  # as many are drawn

Packed = dict[str, Any]


class Index:
    """Numbers what repeats, in order of first use."""

    def __init__(self) -> None:
        self.of: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        """The number of `value`."""
        return self.of.setdefault(value, len(self.of))


def pack(runs: Mapping[str, Iterable[Mapping[str, Any]]], lang: str) -> Packed:
    """Journals by name as one JSON-able object in one language."""
    words = {key.removeprefix("replay."): t(key, lang) for key in SHOWN if "{" not in SHOWN[key]["en"]}
    words |= {key: STRINGS[f"replay.{key}"][lang] for key in ("map_counts", "map_fold", "more", "on_host")}
    words |= {"gap": t("list.stop", lang), "colon": t("list.colon", lang)}
    return {
        "lang": lang,
        "words": words,
        "runs": [_run(label, list(journal), lang) for label, journal in runs.items()],
    }


def encode(packed: Packed) -> str:
    """The object as it travels; a run that is too long is cut until it fits."""
    while True:
        text = json.dumps(packed, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode("ascii")
        longest = max(packed["runs"], key=lambda run: len(run["frames"]), default=None)
        if len(data) <= MOST_BYTES or longest is None or len(longest["frames"]) < 2:
            return data
        keep = max(1, int(len(longest["frames"]) * 0.9 * MOST_BYTES / len(data)))
        longest["frames"] = longest["frames"][:keep]
        longest["cut"] = _cut(keep, longest["total"], packed["lang"])


def decode(data: str) -> Packed:
    """The way back, for tests and for whoever wants to read it."""
    found: Packed = json.loads(zlib.decompress(base64.b64decode(data)))
    return found


def lane_height(lanes: int) -> int:
    """Pixels of a lane, so that all of them fit on a projector."""
    for most, height in ((3, 48), (6, 38), (10, 28), (16, 21)):
        if lanes <= most:
            return height
    return max(3, 360 // lanes)


def _cut(shown: int, total: int, lang: str) -> str:
    return t("replay.cut", lang, shown=f"{shown:,}", total=f"{total:,}")


def _run(label: str, journal: list[Any], lang: str) -> Packed:
    limits, found = frames(journal)
    teller, ids, states = Teller(limits, lang), Index(), Index()
    asked = {
        e["id"]: (e["prompt_tokens"], e["max_output_tokens"]) for e in journal[1:] if e["event"] == "submit"
    }
    shown = found[:MOST_STEPS]
    most = max((len(frame.seats) for frame in found), default=0)
    seats = max((frame.limit for frame in found), default=limits.seats)
    lanes = min(LANES, seats if seats <= 64 else max(most, 16))
    packed = [_frame(frame, teller, ids, states, lanes) for frame in shown]
    order = list(ids.of)
    return {
        "name": printable(label or limits.title),
        "seats": seats,
        "lanes": max(lanes, 1),
        "height": lane_height(max(lanes, 1)),
        "rows": min(QUEUE_ROWS, max((frame.waiting for frame in shown), default=0)),
        "pool": t("replay.no_limit", lang)
        if limits.pool is None
        else t("replay.pool", lang, pool=limits.pool),
        "most": limits.pool or max((f.pages.in_use + f.pages.promised for f in found), default=1) or 1,
        "fold": max(1, -(-limits.pool // len(found[0].cells))) if limits.pool and found[0].cells else 1,
        "ids": [name(id_) for id_ in order],
        "asked": [asked.get(id_, (0, 0)) for id_ in order],
        "reasons": [t(key, lang) for key in WAITS.values()],
        "totals": [t(key, lang) for key in TOTALS.values()],
        "states": [[[ids(owner) for owner in s.top], s.owners, s.used, s.cached] for s in states.of],
        "frames": packed,
        "total": len(found),
        "cut": _cut(len(shown), len(found), lang) if len(shown) < len(found) else "",
    }


def _frame(frame: Frame, teller: Teller, ids: Index, states: Index, lanes: int) -> Packed:
    reasons = list(WAITS)
    lane_of = {seat.id: lane for lane, seat in enumerate(frame.seats) if seat is not None}
    happened = [*frame.before, *frame.during, *frame.after]
    for told in happened:
        if told.kind == "submit":
            ids(told.id)
    cells: list[list[int]] = []
    for state, group in itertools.groupby(frame.cells):
        for owner in state.top:
            ids(owner)
        cells.append([states(state), sum(1 for _ in group)])
    left = [told for told in happened if told.kind != "admit" and told.data.get("lane") is not None]
    return {
        "kind": frame.kind,
        "start": frame.start,
        "end": frame.end,
        "seats": [
            [lane, ids(s.id), s.does, s.new, s.context, s.computed, s.emitted, s.unread]
            for lane, s in enumerate(frame.seats[:lanes])
            if s is not None
        ],
        "limit": frame.limit,
        "along": frame.idle_seats,
        "waiting": frame.waiting,
        "queue": [
            [ids(w.id), reasons.index(w.reason if w.reason in WAITS else None), int(w.swapped)]
            for w in frame.queue[:QUEUE_ROWS]
        ],
        "pages": list(frame.pages),
        "cells": cells,
        "tokens": [lane_of[id_] for id_, _ in frame.tokens if lane_of.get(id_, lanes) < lanes],
        "gone": [[o.data["lane"], o.t, int(o.kind == "finish")] for o in left if o.data["lane"] < lanes],
        "arrivals": [told.t for told in happened if told.kind == "submit"],
        "totals": [frame.totals[key] for key in TOTALS],
        "event": int(frame.eventful),
        "says": list(teller.clauses(frame).values()),
    }


def journals(given: Any, compare: Any = None, names: Iterable[str] | None = None) -> dict[str, list[Any]]:
    """Journals by name: of runs, journals (lists of events, their first line first) or journal files.

    A mapping gives its own names; else a run is named for its scenario's title.

    Raises:
        TypeError: something has no journal, such as a bare result object.
        ValueError: there are not as many names as runs.
    """
    if isinstance(given, Mapping) and "schema" not in given:
        return {str(label): _journal(run) for label, run in given.items()}
    found = [_journal(run) for run in ([given] if compare is None else [given, compare])]
    titles = [str(journal[0].get("scenario", {}).get("title") or "") for journal in found]
    labels = titles if names is None else [str(label) for label in names]
    if len(labels) != len(found):
        raise ValueError(f"given {len(labels)} names for {len(found)} runs, expected one each")
    if len(set(labels)) < len(labels):
        labels = [f"{label} {'AB'[at]}".strip() for at, label in enumerate(labels)]
    return dict(zip(labels, found, strict=True))


def _journal(run: Any) -> list[Any]:
    if isinstance(run, str | os.PathLike):
        from labkit.engine import journal

        return list(journal.read(os.fspath(run)))
    found = getattr(run, "journal", run)
    if isinstance(found, list | tuple) and found and isinstance(found[0], Mapping) and "scenario" in found[0]:
        return list(found)
    raise TypeError(
        f"given {type(run).__name__} without a journal, expected what labkit.run gives, a journal, or its file"
    )
