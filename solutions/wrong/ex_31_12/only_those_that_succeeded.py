# expects: latency survivors

# %% c-latency
def latency(events, percent):
    known, least = [], []
    for one in follow(events).values():
        if one["end"] == "succeeded":
            known.append((one["at"] - one["meant"]) / 1e9)
        elif False:
            least.append(((events[-1]["t"] if one["at"] is None else one["at"]) - one["meant"]) / 1e9)
    n = len(known) + len(least)
    rank = (percent * n + 99) // 100
    low = sorted(known + least)[rank - 1] if n else None
    high = sorted(known)[rank - 1] if n and rank <= len(known) else None
    return {"low": low, "high": high, "of": n, "censored": len(least)}
