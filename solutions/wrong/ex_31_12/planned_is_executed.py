# expects: work planned-counts

# %% d-work
def work(events):
    ran = {e["round"] for e in events if e["event"] == "round"}
    executed, again, high = 0, 0, {}
    for e in events:
        if e["event"] == "plan":
            for name, new, context, _ in e["items"]:
                executed += new
                again += max(0, min(high.get(name, 0), context + new) - context)
                high[name] = max(high.get(name, 0), context + new)
    tokens = sum(e["event"] == "token" for e in events)
    return {
        "recompute": [again, executed - again],
        "new": [tokens, executed],
        "preemptions": sum(e["event"] == "preempt" for e in events),
    }
