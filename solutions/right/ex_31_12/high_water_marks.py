# %% a
# Closed forms and a little care: floats as given.
held = sum(stall_start <= k * gap < stall_end for k in range(count))
starts = [k * gap for k in range(count)]
ends = []
for t in starts:
    start = max([t, *ends[-1:]])
    ends.append((stall_end if stall_start <= start < stall_end else start) + service)
late = sum(e - s > limit for s, e in zip(starts, ends))
# The closed loop and the single connection have one request under way: one alone meets the stall.
sent = {"closed": 1, "open": held}
slow = {"open": late, "closed": 1, "connection_sent": 1, "connection_intended": late}

# %% c-counts
ENDS = {"reject": "rejected", "cancel": "cancelled", "expire": "expired", "fail": "failed"}


def follow(events):
    requests = {}
    for e in events:
        kind, one = e["event"], requests.get(e.get("id"))
        if kind == "submit":
            requests[e["id"]] = {"meant": e.get("intended", e["t"]), "direct": e["direct"], "made": 0, "got": [],
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

# %% c-latency
def latency(events, percent):
    known, least = [], []
    for one in follow(events).values():
        if one["end"] == "succeeded":
            known.append((one["at"] - one["meant"]) / 1e9)
        elif one["end"] != "rejected":
            least.append(((events[-1]["t"] if one["at"] is None else one["at"]) - one["meant"]) / 1e9)
    n = len(known) + len(least)
    rank = (percent * n + 99) // 100
    low = sorted(known + least)[rank - 1] if n else None
    high = sorted(known)[rank - 1] if n and rank <= len(known) else None
    return {"low": low, "high": high, "of": n, "censored": len(least)}

# %% d-work
def work(events):
    ran = {e["round"] for e in events if e["event"] == "round"}
    executed, again, high = 0, 0, {}
    for e in events:
        if e["event"] == "plan" and e["round"] in ran:
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

# %% d-output
def output(events):
    direct = {e["id"]: e["direct"] for e in events if e["event"] == "submit"}
    unread, area, filled, read, before, sizes = dict.fromkeys(direct, 0), 0, 0, 0, 0, []
    for e in events:
        held = sum(unread.values())
        area, filled = area + held * (e["t"] - before), filled + (e["t"] - before) * (held > 0)
        before = e["t"]
        if e["event"] == "token":
            unread[e["id"]] += not direct[e["id"]]
        elif e["event"] == "deliver":
            unread[e["id"]] -= 1
            read += 1
        elif e["event"] in ("cancel", "expire", "fail"):
            unread[e["id"]] = 0
        sizes.append(sum(unread.values()))
    slow = {e["id"] for e in events if e["event"] == "pause" or e.get("reason") == "slow_reader"}
    rejected = sum(e["event"] == "reject" for e in events)
    return {
        "occupancy": [area / 1e9, before / 1e9],
        "drain": [read, filled / 1e9],
        "slow": [len(slow), len(direct) - rejected],
    }
