# %% a
import copy
import json


def do(action, name):
    return {"do": action, "of": name}


def on_end(state, event):
    word = {"cancel": "cancelled", "finish": "finished"}[event["kind"]]
    known = state["ended"].setdefault(event["request"], word + "!")
    if known.endswith("!"):
        state["ended"][event["request"]] = word
        return [do(f"end-{word}", event["request"])]
    return [do(f"report-{known}", event["request"])]


def on_preempted(state, event):
    if event["request"] in state["ended"]:
        return None
    return [do("enqueue", event["request"])]


def on_acquire(state, event):
    if event["request"] in state["ended"]:
        return None
    state["keys"][json.dumps([event["request"], event["page"], event["number"]])] = "held"
    state["count"][event["page"]] += 1
    return []


def on_launch(state, event):
    if state["count"][event["page"]] == 0:
        return None
    state["flying"][event["page"]] = True
    return []


def on_release(state, event):
    key = json.dumps([event["request"], event["page"], event["number"]])
    if state["keys"].get(key) != "held":
        return None
    state["keys"][key] = "released"
    state["count"][event["page"]] -= 1
    return [do("drop", event["page"])]


def on_fence(state, event):
    if not state["flying"][event["page"]]:
        return None
    state["flying"][event["page"]] = False
    return []


HANDLERS = {
    "cancel": on_end, "finish": on_end, "preempted": on_preempted,
    "acquire": on_acquire, "launch": on_launch, "release": on_release, "fence": on_fence,
}


def handle(state, event):
    state = copy.deepcopy(state) or {
        "ended": {}, "keys": {}, "count": {"p": 0, "q": 0}, "flying": {"p": False, "q": False},
        "generation": {"p": 0, "q": 0},
    }
    page = event["page"]
    stale = event["generation"] is not None and event["generation"] < state["generation"][page]
    actions = None if stale else HANDLERS[event["kind"]](state, event)
    if actions is None:
        return {"state": state, "actions": [do("refuse", page or event["request"])]}
    if event["kind"] in ("release", "fence") and not state["count"][page] and not state["flying"][page]:
        state["generation"][page] += 1
        actions.append(do("recycle", page))
    return {"state": state, "actions": actions}
