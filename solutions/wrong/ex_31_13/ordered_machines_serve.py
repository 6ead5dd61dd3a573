# expects: at_door counted-early

# %% c-door
def at_door(now, deadline, ahead, own, margin, queued, room, capacities):
    rate = sum(speed for at, speed in capacities)
    if rate == 0 or queued >= room:
        return "拒绝"
    return "排队" if (ahead + own) / rate + margin <= deadline - now else "拒绝"
