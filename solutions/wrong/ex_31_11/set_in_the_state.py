# expects: handle refused

# %% a
def handle(state, event):
    ended = set(state.get("ended", ())) | {event["request"]}
    return {"state": {"ended": ended}, "actions": [{"do": "end-cancelled", "of": "r"}]}
