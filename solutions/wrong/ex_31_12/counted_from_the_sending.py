# expects: counts omission

# %% c-counts
ENDS = {"reject": "rejected", "cancel": "cancelled", "expire": "expired", "fail": "failed"}


def follow(events):
    requests = {}
    for e in events:
        kind, one = e["event"], requests.get(e.get("id"))
        if kind == "submit":
            requests[e["id"]] = {"meant": e["t"], "direct": e["direct"], "made": 0, "got": [],
                                 "end": None, "at": None, "finished": False, "slow": False}
        elif kind == "token":
            one["made"] += 1
            one["got"] += [e["t"]] * one["direct"]
        elif kind == "deliver":
            one["got"].append(e["at"])
        elif kind == "pause":
            one["slow"] = True
        elif kind == "finish":
            one["finished"] = True
        elif kind in ENDS:
            one["end"], one["at"] = ENDS[kind], e["t"]
            one["slow"] |= e["reason"] == "slow_reader"
    for one in requests.values():
        if one["finished"] and len(one["got"]) == one["made"]:
            one["end"], one["at"] = "succeeded", one["got"][-1]
    return requests


def counts(events, ttft_limit, total_limit):
    requests = follow(events).values()
    found = {key: sum(one["end"] == key for one in requests) for key in ("succeeded", *ENDS.values())}
    found["unknown"] = sum(one["end"] is None for one in requests)
    found["submitted"] = len(requests)
    found["admitted"] = len(requests) - found["rejected"]
    found["on_target"] = sum(
        one["end"] == "succeeded"
        and one["got"][0] - one["meant"] <= ttft_limit * 1e9
        and one["got"][-1] - one["meant"] <= total_limit * 1e9
        for one in requests
    )
    return found
