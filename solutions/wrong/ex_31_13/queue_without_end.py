# expects: at_door no-queue-limit

# %% c-door
def at_door(now, deadline, ahead, own, margin, queued, room, capacities):
    rate = sum(speed for at, speed in capacities if at <= now)
    if rate == 0:
        return "拒绝"
    return "排队" if (ahead + own) / rate + margin <= deadline - now else "拒绝"
