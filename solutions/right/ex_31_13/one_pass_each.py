# %% a
def signals(events, times):
    queue_age = []
    for t in times:
        waiting = {}
        for e in events:
            if e[0] <= t and e[1] == "submit":
                waiting[e[2]] = e[0]
            elif e[0] <= t and e[1] == "admit":
                waiting.pop(e[2], None)
        queue_age.append(max((t - at for at in waiting.values()), default=0))
    rounds = [e for e in events if e[1] == "round"]
    chunk_time = max((e[0] - e[2] for e in rounds if any(i[2] == "prefill" for i in e[3])), default=None)
    last, token_gap, unread, most = {}, None, {}, 0
    direct = {e[2] for e in events if e[1] == "submit" and e[4]}
    for e in events:
        if e[1] == "token":
            before, last[e[2]] = last.get(e[2]), e[0]
            if before is not None:
                token_gap = max(token_gap or 0, e[0] - before)
            if e[2] not in direct:
                unread[e[2]] = unread.get(e[2], 0) + 1
                most = max(most, unread[e[2]])
        elif e[1] == "deliver":
            unread[e[2]] -= 1
    return {"queue_age": queue_age, "chunk_time": chunk_time, "token_gap": token_gap, "output_buffer": most}

# %% b-levers
levers = {
    "持续超载": ["增加饱和阶段的容量", "限制准入"],
    "长提示阻塞解码": ["分块预填充", "设阶段预算并保留预填充份额"],
    "慢客户端": ["让背压传到入口", "传播取消并释放资源"],
}

# %% b-diagnose
from statistics import median


def diagnose(events):
    end = events[-1][0]
    instants = sorted({e[0] for e in events})
    ages = signals(events, instants)["queue_age"]
    late = [age for t, age in zip(instants, ages) if t >= end / 2]
    rounds = [e for e in events if e[1] == "round"]
    usual = median(e[0] - e[2] for e in rounds)
    beside = [e[0] - e[2] for e in rounds if {i[2] for i in e[3]} == {"prefill", "decode"}]
    four = signals(events, [])
    overloaded = min(late) > 0 and late[-1] > end / 6
    blocked = max(beside, default=0) > 4 * usual
    backlogged = four["output_buffer"] >= 5
    causes = [name for name, found in zip(levers, (overloaded, blocked, backlogged)) if found]
    new = {phase: sum(i[1] for e in rounds for i in e[3] if i[2] == phase) for phase in ("prefill", "decode")}
    return {
        "causes": causes,
        "stage": ("预填充" if new["prefill"] > new["decode"] else "解码") if overloaded else None,
        "levers": sum((levers[cause] for cause in causes), []),
        "interim": ["按队列预算和期限排队或拒绝", "上线后核对积压消退"] if overloaded else [],
    }

# %% c-room
waiting_room = {
    "backlog": (arrivals - served_now) * delay,
    "drain": (arrivals - served_now) * delay / (served_later - arrivals),
    "refused": (arrivals - served_now) * delay - room,
    "drain_with_room": room / (served_later - arrivals),
}

# %% c-door
def at_door(now, deadline, ahead, own, margin, queued, room, capacities):
    rate = sum(speed for at, speed in capacities if at <= now)
    if rate == 0 or queued >= room:
        return "拒绝"
    return "排队" if (ahead + own) / rate + margin <= deadline - now else "拒绝"

# %% c-drained
def drained_at(events, live_at):
    here = 0
    for number, e in enumerate(events):
        here += (e[1] == "submit") - (e[1] == "admit")
        following = events[number + 1][0] if number + 1 < len(events) else None
        if here == 0 and following != e[0]:
            if e[0] >= live_at:
                return e[0]
            if following is not None and following > live_at:
                return live_at
    return None
