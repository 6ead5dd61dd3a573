# %% a
import numpy as np


def of(events, kind):
    return [e for e in events if e[1] == kind]


def table(events):
    """One row a request: arrival, seat, whether its tokens go straight out, when they come out and are read."""
    seat = {e[2]: e[0] for e in of(events, "admit")}
    rows = {}
    for t, _, name, _, direct in of(events, "submit"):
        made = [e[0] for e in of(events, "token") if e[2] == name]
        read = [e[0] for e in of(events, "deliver") if e[2] == name]
        rows[name] = (t, seat.get(name, np.inf), direct, np.array(made), np.array(read))
    return rows


def signals(events, times):
    rows = table(events).values()
    came = np.array([row[0] for row in rows])
    sat = np.array([row[1] for row in rows])
    ages = []
    for t in times:
        here = came[(came <= t) & (sat > t)]
        ages.append(int(t - here.min()) if here.size else 0)
    gaps = [np.diff(row[3]).max() for row in rows if row[3].size > 1]
    lag = [0]
    for _, _, direct, made, read in rows:
        if not direct:
            # After its k-th token: k made, less those read by then; a token read at that very time came before it.
            lag += [k + 1 - int((read < t).sum()) for k, t in enumerate(made)]
    chunks = [e[0] - e[2] for e in of(events, "round") if "prefill" in [i[2] for i in e[3]]]
    return {
        "queue_age": ages,
        "chunk_time": max(chunks) if chunks else None,
        "token_gap": max(gaps) if gaps else None,
        "output_buffer": max(lag),
    }

# %% b-levers
levers = dict(
    zip(
        ("慢客户端", "长提示阻塞解码", "持续超载"),
        (
            ("传播取消并释放资源", "让背压传到入口"),
            ("设阶段预算并保留预填充份额", "分块预填充"),
            ("增加饱和阶段的容量", "限制准入"),
        ),
    )
)

# %% b-diagnose
def diagnose(events):
    end = events[-1][0]
    quarter = np.linspace(0.75 * end, end, 400)
    overload = min(signals(events, list(quarter))["queue_age"]) > 0
    overload = overload and signals(events, [end])["queue_age"][0] * 5 > end
    rounds = of(events, "round")
    lasted = np.array([e[0] - e[2] for e in rounds]) / np.median([e[0] - e[2] for e in rounds])
    mixed = np.array([len({i[2] for i in e[3]}) == 2 for e in rounds])
    blocked = bool((lasted[mixed] > 3).any())
    slow = signals(events, [])["output_buffer"] > 2
    causes = {"慢客户端": slow, "长提示阻塞解码": blocked, "持续超载": bool(overload)}
    causes = [name for name, there in causes.items() if there]
    positions = [(i[1], i[2]) for e in rounds for i in e[3]]
    prefill = sum(n for n, phase in positions if phase == "prefill")
    answer = {"causes": causes, "levers": [x for name in causes for x in levers[name]], "stage": None, "interim": []}
    if overload:
        answer["stage"] = "预填充" if 2 * prefill > sum(n for n, _ in positions) else "解码"
        answer["interim"] = ("上线后核对积压消退", "按队列预算和期限排队或拒绝")
    return answer

# %% c-room
from fractions import Fraction

grows, shrinks = Fraction(arrivals) - Fraction(served_now), Fraction(served_later) - Fraction(arrivals)
waiting_room = {
    "backlog": grows * delay,
    "refused": grows * (delay - room / grows),
    "drain": grows * delay / shrinks,
    "drain_with_room": room / shrinks,
}

# %% c-door
def at_door(now, deadline, ahead, own, margin, queued, room, capacities):
    live = [rate for at, rate in capacities if not at > now]
    if not live or not queued < room:
        return "拒绝"
    latest_start = Fraction(deadline) - Fraction(margin) - Fraction(ahead + own, sum(live))
    return ("拒绝", "排队")[latest_start >= now]

# %% c-drained
def drained_at(events, live_at):
    rows = table(events).values()
    intervals = sorted((row[0], row[1]) for row in rows if row[1] > row[0])
    at = live_at
    for came, sat in intervals:
        if came <= at < sat:
            at = sat
    return None if at > events[-1][0] else int(at)
