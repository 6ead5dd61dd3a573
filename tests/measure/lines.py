"""Small journals written by hand: times in ms, turned into the events that a run would write."""

MS = 10**6
HEADER = {
    "schema": "labkit.journal/1",
    "scenario": {"requests": []},
    "executor": {"kind": "virtual"},
    "seed": None,
    "unit": "ns",
}


def submit(
    name,
    at,
    *,
    prompt=4,
    bound=100,
    tenant="default",
    direct=True,
    deadline=None,
    intended=None,
    prefilled=False,
):
    event = {
        "event": "submit", "t": at * MS, "id": name, "prompt_tokens": prompt, "max_output_tokens": bound,
        "tenant": tenant, "priority": 0, "deadline": None if deadline is None else deadline * MS,
        "prefilled": prefilled, "direct": direct,
    }  # fmt: skip
    return event | ({} if intended is None else {"intended": intended * MS})


def plan(number, at, *items):
    """Items as (id, new positions, context, phase)."""
    return {
        "event": "plan",
        "t": at * MS,
        "round": number,
        "items": [list(item) for item in items],
        "notes": [],
    }


def ran(number, start, end, **more):
    shown = {"waiting": 0, "pages_in_use": 1, "pages_reserved": 1, "idle_seats": 0}
    return {"event": "round", "t": end * MS, "round": number, "start": start * MS} | shown | more


def admit(name, at, context=0, cached=0):
    return {
        "event": "admit",
        "t": at * MS,
        "id": name,
        "epoch": 0,
        "context": context,
        "cached": cached,
        "shared": [],
    }


def token(name, at, index):
    return {"event": "token", "t": at * MS, "id": name, "epoch": 0, "index": index}


def tokens(name, *times):
    return [token(name, at, index) for index, at in enumerate(times, start=1)]


def deliver(name, read, index, at=None):
    return {
        "event": "deliver",
        "t": read * MS,
        "id": name,
        "index": index,
        "at": (read if at is None else at) * MS,
    }


def end(kind, name, at, reason=None):
    return {"event": kind, "t": at * MS, "id": name, "epoch": 0, "reason": reason}


def in_order(*events):
    """The events sorted by time; those of one instant stay as they are given."""
    flat = [e for part in events for e in (part if isinstance(part, list) else [part])]
    return sorted(flat, key=lambda event: event["t"])
