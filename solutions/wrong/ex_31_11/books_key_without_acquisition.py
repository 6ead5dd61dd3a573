# expects: handle key-without-acquisition

# %% a
def handle(state, event):
    state = {
        "outcome": dict(state.get("outcome", {})),
        "references": [dict(one) for one in state.get("references", [])],
        "released": list(state.get("released", [])),
        "count": dict(state.get("count", {})),
        "pages": {name: dict(page) for name, page in state.get("pages", {}).items()},
    }
    who, name = event["request"], event["page"]
    outcome = state["outcome"].get(who)

    def answer(*actions):
        return {"state": state, "actions": [{"do": do, "of": of} for do, of in actions]}

    if event["kind"] in ("cancel", "finish"):
        if outcome:
            return answer((f"report-{outcome}", who))
        state["outcome"][who] = "cancelled" if event["kind"] == "cancel" else "finished"
        return answer((f"end-{state['outcome'][who]}", who))
    if event["kind"] == "preempted":
        return answer(("refuse", who) if outcome else ("enqueue", who))

    page = state["pages"].setdefault(name, {"generation": 0, "in_flight": False})
    if event["generation"] not in (None, page["generation"]):
        return answer(("refuse", name))
    users = [one for one in state["references"] if one["page"] == name]
    key = [who, name]
    if event["kind"] == "acquire":
        if outcome:
            return answer(("refuse", name))
        state["references"].append({"request": who, "page": name, "number": event["number"]})
        return answer()
    if event["kind"] == "launch":
        if not users:
            return answer(("refuse", name))
        page["in_flight"] = True
        return answer()
    actions = []
    if event["kind"] == "release":
        mine = {"request": who, "page": name, "number": event["number"]}
        if key in state["released"] or mine not in users:
            return answer(("refuse", name))
        state["released"].append(key)
        state["references"].remove(mine)
        users.remove(mine)
        actions.append(("drop", name))
    elif not page["in_flight"]:
        return answer(("refuse", name))
    else:
        page["in_flight"] = False
    if not users and not page["in_flight"]:
        page["generation"] += 1
        actions.append(("recycle", name))
    return answer(*actions)
