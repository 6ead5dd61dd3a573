# expects: at_door deadline-from-now

# %% c-door
def at_door(now, deadline, ahead, own, margin, queued, room, capacities):
    rate = sum(speed for at, speed in capacities if at <= now)
    if rate == 0 or queued >= room:
        return "拒绝"
    return "排队" if (ahead + own) / rate + margin <= deadline else "拒绝"
