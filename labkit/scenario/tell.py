"""A journal told in sentences, round by round: `replay --text`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labkit.core.errors import escaped
from labkit.core.types import NS_PER_SECOND

Event = dict[str, Any]

WAITS = {
    "tokens": "the round's token budget is used up",
    "seats": "all seats are taken",
    "pages": "there are not enough free pages",
    "seconds": "the round would take too long",
    "bypass": "an earlier one has been passed often enough",
    "batch": "the batch in progress is closed",
    "window": "the batch is still being collected",
    "swapped": "a swapped request comes back first",
    "reader": "its own reader has not made room",
    "preempted": "it has just given way",
}
ENDS = {
    "finish": "finishes",
    "reject": "is rejected",
    "cancel": "is cancelled",
    "expire": "expires",
    "fail": "fails",
}


class Teller:
    """Feed it events in order; each gives the lines that it adds to the story. Keeps only the plan in
    progress.
    """

    def __init__(self) -> None:
        self._plan: Event | None = None
        self._tokens: list[str] = []

    def tell(self, event: Event) -> Iterator[str]:
        """The sentences that follow from one event; most events only add to the next round's."""
        kind, at = event["event"], _at(event["t"])
        name = escaped(event.get("id", ""))
        if kind == "submit":
            yield (
                f"{at}  {name} arrives: {_count(event['prompt_tokens'], 'prompt token')}, "
                f"at most {_count(event['max_output_tokens'], 'output token')}."
            )
        elif kind == "plan":
            self._plan = event
            for waiting, reason in event["notes"]:
                yield f"{at}  {escaped(waiting)} waits: {WAITS.get(reason, escaped(reason))}."
        elif kind == "token":
            self._tokens.append(name)
        elif kind == "round":
            yield from self._round(event)
        elif kind in ENDS:
            reason = f" ({escaped(event['reason'])})" if event.get("reason") else ""
            yield f"{at}  {name} {ENDS[kind]}{reason}."
        elif kind == "preempt":
            how = "its pages go to the host" if event.get("mode") == "swap" else "its cache is dropped"
            yield f"{at}  {name} gives way to {escaped(str(event.get('for')))}: {how}."
        elif kind == "swap_in":
            yield f"{at}  {name} comes back from the host."
        elif kind in ("pause", "resume"):
            yield f"{at}  {name} " + (
                "pauses: its reader's buffer is full." if kind == "pause" else "goes on."
            )
        elif kind == "wake":
            yield from _wake(event, at)
        elif kind == "until":
            yield f"{at}  The observation ends."

    def _round(self, event: Event) -> Iterator[str]:
        took = (event["t"] - event["start"]) / NS_PER_SECOND
        items = self._plan["items"] if self._plan else []
        parts = [
            f"{escaped(name)} decodes at {context}"
            if phase == "decode"
            else f"{escaped(name)} prefills {new_tokens} after {context}"
            for name, new_tokens, context, phase in items
        ]
        idle = event.get("idle_seats", 0)
        if idle:
            parts.append(f"{_count(idle, 'ended member')} computed along")
        yield (
            f"{_at(event['start'])}  Round {event['round']}, {took:.6g} s: {'; '.join(parts)}. "
            f"{_count(event['waiting'], 'request')} waiting, {_count(event['pages_in_use'], 'page')} in use."
        )
        if self._tokens:
            yield f"{_at(event['t'])}  Tokens for {', '.join(self._tokens)}."
        self._tokens = []


def _wake(event: Event, at: str) -> Iterator[str]:
    if event["reason"] == "idle":
        yield f"{at}  Nothing can run; next at {_at(event['at']).strip()}."
    elif event["reason"].startswith("capacity"):
        verb = "is ordered" if event["reason"].endswith("ordered") else "is live"
        yield f"{at}  Capacity of {_count(event['seats'], 'seat')} {verb}."


def _at(ns: int) -> str:
    return f"{ns / NS_PER_SECOND:.6f} s"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
