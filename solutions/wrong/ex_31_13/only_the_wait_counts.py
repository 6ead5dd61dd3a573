# expects: at_door own-forgotten

# %% c-door
def at_door(now, deadline, ahead, own, margin, queued, room, capacities):
    rate = sum(speed for at, speed in capacities if at <= now)
    if rate == 0 or queued >= room:
        return "拒绝"
    return "排队" if (ahead) / rate + margin <= deadline - now else "拒绝"
