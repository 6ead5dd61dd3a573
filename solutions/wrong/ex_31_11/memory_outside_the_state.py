# expects: handle outside-state

# %% a
ended = {}


def handle(state, event):
    who = event["request"]
    if event["kind"] in ("cancel", "finish"):
        if who in ended:
            return {"state": {}, "actions": [{"do": f"report-{ended[who]}", "of": who}]}
        ended[who] = "cancelled" if event["kind"] == "cancel" else "finished"
        return {"state": {}, "actions": [{"do": f"end-{ended[who]}", "of": who}]}
    return {"state": {}, "actions": []}
