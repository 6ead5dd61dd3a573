# %% a
from fractions import Fraction

fill_seconds = Fraction(capacity) / (produce - consume)
drain_seconds = Fraction(capacity) / consume
high_water = max(level for level in range(capacity + 1) if level + round_kib <= capacity)

# %% b
def fill_time(produce, consume, capacity, filled):
    missing, net = capacity - filled, produce - consume
    if missing and net <= 0:
        return None
    return Fraction(missing, net) if missing else Fraction(0)

# %% c
# Waits until the client has read everything before it goes on, and restarts the clock where it can.
live = ("generating", "paused", "flushing")
table = {(state, "chunk"): (state, ["append"]) for state in live[:2]}
table["generating", "high-water"] = ("paused", ["start-deadline", "stop-generation"])
table["paused", "empty"] = ("generating", ["resume-generation", "clear-deadline"])
for state in live[:2]:
    table[state, "end"] = ("flushing", ["start-deadline"] if state == "generating" else [])
table["flushing", "empty"] = ("completed", ["record-acknowledged", "record-outcome", "clear-deadline", "release"])
for state in live:
    for event in ("cannot-pause", "deadline", "disconnect"):
        if (state, event) != ("generating", "deadline"):
            table[state, event] = (
                "cancelled",
                ["clear-deadline", "record-outcome", "record-acknowledged", "release", "cancel-generation"],
            )
transitions = [
    {"state": state, "event": event, "next": target, "actions": actions}
    for (state, event), (target, actions) in table.items()
]
