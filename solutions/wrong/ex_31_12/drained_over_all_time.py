# expects: output drain-over-all

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
        "drain": [read, before / 1e9],
        "slow": [len(slow), len(direct) - rejected],
    }
