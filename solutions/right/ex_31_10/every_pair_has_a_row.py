# %% a
import sympy as sp

t, x = sp.symbols("t x")
(fill_seconds,) = sp.solve(sp.Eq(produce * t - consume * t, capacity), t)
(drain_seconds,) = sp.solve(sp.Eq(capacity - consume * t, 0), t)
(high_water,) = sp.solve(sp.Eq(x + round_kib, capacity), x)

# %% b
import math


def fill_time(produce, consume, capacity, filled):
    seconds = 0.0 if filled >= capacity else math.inf
    if produce > consume:
        seconds = max(0.0, (capacity - filled) / (produce - consume))
    return seconds if math.isfinite(seconds) else None

# %% c
STATES = ["generating", "paused", "flushing", "completed", "cancelled"]
EVENTS = ["chunk", "high-water", "low-water", "empty", "end", "cannot-pause", "deadline", "disconnect"]


def what(state, event):
    if state in ("completed", "cancelled"):
        return state, ["discard"] if event == "chunk" else []
    if event == "chunk":
        return state, ["append"]
    if event == "end":
        return "flushing", ["start-deadline"]
    if event == "disconnect" or (event in ("cannot-pause", "deadline") and state != "generating"):
        return "cancelled", ["cancel-generation", "record-acknowledged", "record-outcome", "release"]
    if (state, event) == ("generating", "high-water"):
        return "paused", ["stop-generation", "start-deadline"]
    if (state, event) == ("paused", "low-water"):
        return "generating", ["resume-generation"]  # an old deadline finds no one in `generating`
    if (state, event) == ("flushing", "empty"):
        return "completed", ["record-outcome", "record-acknowledged", "release"]
    return state, []


transitions = []
for state in STATES:
    for event in EVENTS:
        target, actions = what(state, event)
        transitions.append({"state": state, "event": event, "next": target, "actions": actions})
