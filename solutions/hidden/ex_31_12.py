"""Hidden checks of exercise 31.12 (Q31.12)."""

import random
from collections import Counter
from fractions import Fraction

import labkit
from labkit.grade.checks import Trial, Verdict, function, partly, right, value, wrong

# ---------------------------------------------------------------------------------------------- a: the stall


def one_server(g, sends):
    """When each request ends: one server, in order; what is to start in the stall starts at its end."""
    free, ends = Fraction(0), []
    for sent in sends:
        start = max(sent, free)
        if g["stall_start"] <= start < g["stall_end"]:
            start = Fraction(g["stall_end"])
        free = start + g["service"]
        ends.append(free)
    return ends


def open_loop(g):
    sends = [k * Fraction(g["gap"]) for k in range(g["count"])]
    return sends, one_server(g, sends)


def closed_loop(g):
    sends, ends = [Fraction(0)], []
    while True:
        ends = one_server(g, sends)
        following = ends[-1] + g["think"]
        if following >= g["count"] * g["gap"]:
            return sends, ends
        sends.append(following)


def one_connection(g):
    intended = [k * Fraction(g["gap"]) for k in range(g["count"])]
    sends = []
    for meant in intended:
        ends = one_server(g, sends)
        sends.append(max(meant, ends[-1]) if ends else meant)
    return intended, sends, one_server(g, sends)


def over(g, starts, ends):
    return sum(end - start > g["limit"] for start, end in zip(starts, ends, strict=True))


def sent(g):
    def inside(sends):
        return sum(g["stall_start"] <= at < g["stall_end"] for at in sends)

    return {"open": inside(open_loop(g)[0]), "closed": inside(closed_loop(g)[0])}


def slow(g):
    intended, sends, ends = one_connection(g)
    return {
        "open": over(g, *open_loop(g)),
        "closed": over(g, *closed_loop(g)),
        "connection_sent": over(g, sends, ends),
        "connection_intended": over(g, intended, ends),
    }


# ----------------------------------------------------------------------------------- c, d: a journal, read anew

ENDED = {"cancel": "cancelled", "expire": "expired", "fail": "failed"}


class Story:
    """What a journal tells of one request, times in ns."""

    def __init__(self, submit):
        self.sent = submit["t"]
        self.intended = submit.get("intended", submit["t"])
        self.direct = submit["direct"]
        self.tokens, self.got = [], []
        self.end, self.kind = None, "unknown"
        self.slow = False

    @property
    def succeeded(self):
        """All tokens are out and with the client."""
        return self.kind == "finished" and len(self.got) == len(self.tokens)


def stories(events):
    found = {}
    for event in events:
        kind, t = event["event"], event["t"]
        one = found.get(event.get("id"))
        if kind == "submit":
            found[event["id"]] = Story(event)
        elif kind == "token":
            one.tokens.append(t)
            if one.direct:
                one.got.append(t)
        elif kind == "deliver":
            one.got.append(event["at"])
        elif kind == "pause":
            one.slow = True
        elif kind == "finish":
            one.kind = "finished"
        elif kind == "reject":
            one.kind, one.end = "rejected", t
        elif kind in ENDED:
            one.kind, one.end = ENDED[kind], t
            one.slow = one.slow or event["reason"] == "slow_reader"
    return found


def counts(events, ttft_limit, total_limit, start="intended", success="succeeded"):
    said = stories(events).values()
    kinds = Counter(one.kind for one in said)
    good = [one for one in said if (one.succeeded if success == "succeeded" else one.kind == "finished")]
    on_target = sum(
        bool(one.got)
        and one.got[0] - getattr(one, start) <= ttft_limit * 10**9
        and one.got[-1] - getattr(one, start) <= total_limit * 10**9
        for one in good
    )
    ended = {kind: kinds[kind] for kind in ("rejected", "cancelled", "expired", "failed")}
    return {
        "submitted": len(said),
        "admitted": len(said) - kinds["rejected"],
        "succeeded": len(good),
        "on_target": on_target,
        **ended,
        "unknown": len(said) - len(good) - sum(ended.values()),
    }


def seats_taken(events, ttft_limit, total_limit):
    taken = sum(event["event"] == "admit" for event in events)
    return counts(events, ttft_limit, total_limit) | {"admitted": taken}


def ever_seated(events, ttft_limit, total_limit):
    seated = {event["id"] for event in events if event["event"] == "admit"}
    return counts(events, ttft_limit, total_limit) | {"admitted": len(seated)}


def ended_only(events, ttft_limit, total_limit):
    found = counts(events, ttft_limit, total_limit)
    lost = found["unknown"]
    return found | {
        "submitted": found["submitted"] - lost,
        "admitted": found["admitted"] - lost,
        "unknown": 0,
    }


def last_time(events):
    return max(event["t"] for event in events)


def ranked(values, percent):
    rank = -(-percent * len(values) // 100)
    return sorted(values)[rank - 1] if 0 < rank <= len(values) else None


def latency(events, percent, start="intended", keep="bounds"):
    exact, least, horizon = [], [], last_time(events)
    for one in stories(events).values():
        if one.kind == "rejected" and keep != "rejected":
            continue
        from_when = getattr(one, start)
        if one.succeeded:
            exact.append(one.got[-1] - from_when)
        elif keep != "successes":
            least.append((horizon if one.end is None else one.end) - from_when)
    low = ranked(exact + least, percent)
    rank = -(-percent * (len(exact) + len(least)) // 100)
    high = sorted(exact)[rank - 1] if 0 < rank <= len(exact) else None
    if keep == "exact":
        high = low
    seconds = [None if ns is None else Fraction(ns, 10**9) for ns in (low, high)]
    return {"low": seconds[0], "high": seconds[1], "of": len(exact + least), "censored": len(least)}


def work(events):
    ran = {event["round"] for event in events if event["event"] == "round"}
    high, executed, again = Counter(), 0, 0
    for event in events:
        if event["event"] == "plan" and event["round"] in ran:
            for name, new, context, _ in event["items"]:
                executed += new
                again += max(0, min(high[name], context + new) - context)
                high[name] = max(high[name], context + new)
    generated = sum(event["event"] == "token" for event in events)
    return {
        "recompute": [again, executed - again],
        "new": [generated, executed],
        "preemptions": sum(event["event"] == "preempt" for event in events),
    }


def work_but(**ways):
    def way(events):
        found = work(events)
        return found | {key: change(found, events) for key, change in ways.items()}

    return way


def planned(events):
    """Rounds that were planned and had not ended are counted too."""
    rounds = [e | {"event": "round"} for e in events if e["event"] == "plan"]
    return work([*events, *rounds])


def prompts_again(events):
    """The whole context of a preempted request counted as recomputed, whether or not it was computed again."""
    found, high, again = work(events), Counter(), 0
    for event in events:
        if event["event"] == "plan":
            for name, new, context, _ in event["items"]:
                high[name] = max(high[name], context + new)
        elif event["event"] == "preempt":
            again += high[event["id"]]
    executed = found["new"][1]
    return found | {"recompute": [again, executed - again]}


def output(events, weigh="time"):
    direct = {e["id"]: e["direct"] for e in events if e["event"] == "submit"}
    unread, held, area, filled, read, before = Counter(), 0, 0, 0, 0, 0
    sizes = []
    for event in events:
        t, kind, name = event["t"], event["event"], event.get("id")
        area += held * (t - before)
        filled += (t - before) * (held > 0)
        before = t
        if kind == "token" and not direct[name]:
            unread[name] += 1
            held += 1
        elif kind == "deliver":
            unread[name] -= 1
            held -= 1
            read += 1
        elif kind in ENDED:
            held -= unread.pop(name, 0)
        sizes.append(held)
    said = stories(events).values()
    second = Fraction(1, 10**9)
    occupancy = [area * second, before * second] if weigh == "time" else [sum(sizes), len(sizes)]
    return {
        "occupancy": occupancy,
        "drain": [read, filled * second],
        "slow": [sum(one.slow for one in said), sum(one.kind != "rejected" for one in said)],
    }


def output_but(**ways):
    def way(events):
        found = output(events)
        return found | {key: change(found, events) for key, change in ways.items()}

    return way


# ----------------------------------------------------------------------------------------------------- runs

FIELDS = {
    "submit": ("id", "prompt_tokens", "max_output_tokens", "direct", "intended"),
    "admit": ("id", "context"),
    "reject": ("id", "reason"),
    "plan": ("round", "items"),
    "round": ("round", "start"),
    "token": ("id", "index"),
    "deliver": ("id", "index", "at"),
    "pause": ("id",),
    "resume": ("id",),
    "preempt": ("id", "mode"),
    "cancel": ("id", "reason"),
    "expire": ("id", "reason"),
    "fail": ("id", "reason"),
    "finish": ("id", "reason"),
}


def told(journal):
    """The events that the exercise shows, with the fields that its table names. Empty plans run nothing."""
    return [
        {"event": e["event"], "t": e["t"]} | {key: e[key] for key in FIELDS[e["event"]] if key in e}
        for e in journal
        if e.get("event") in FIELDS and e.get("items") != []
    ]


def scenario(rng: random.Random, connections: int | None):
    """A short run on a crowded server: a small pool, a short queue, readers of every speed."""
    requests, at = [], 0
    for number in range(rng.randint(9, 13)):
        at += rng.randint(0, 60)
        prompt, out = rng.choice([8, 16, 24, 40]), rng.randint(2, 12)
        one = {
            "id": f"r{number}",
            "arrival": at / 1000,
            "prompt_tokens": prompt,
            "output_tokens": out,
            "max_output_tokens": out + rng.randint(0, 6),
        }
        luck = rng.random()
        if luck < 0.35:
            one["reader"] = {
                "tokens_per_second": rng.choice([10, 20, 40, 400]),
                "buffer_tokens": rng.randint(2, 5),
                "on_full": "pause",
            }
            if rng.random() < 0.5:
                one["reader"] |= {"on_full": "cancel", "patience_seconds": 0.06}
        elif luck < 0.5 and connections is None:
            one["cancel_at"] = (at + rng.randint(1, 200)) / 1000
        elif luck < 0.6 and connections is None:
            one["fail_at"] = (at + rng.randint(1, 200)) / 1000
        elif luck < 0.7:
            one["deadline"] = (at + rng.randint(100, 300)) / 1000
        requests.append(one)
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 64, "seats": 3, "kv_bytes": rng.randint(5, 8) * 16 * 65536},
        "policy": {"admission": "grow", "preemption": "recompute", "prefill_chunk": 16, "max_queue": 3},
        "cost": {"kind": "linear", "fixed": rng.choice([0.005, 0.008, 0.01]), "per_token": 0.0005},
        "requests": requests,
    }
    if connections:
        document["connections"] = connections
    return document


def observed(events, until):
    """The journal of an observation that ends at `until`, whatever happens later."""
    return [e for e in events if e["t"] <= until] + [{"event": "until", "t": until}]


def fresh(rng: random.Random, connections=(None, 3)):
    """A fresh run, observed for a part of its time: the last round may be under way, output may be unread."""
    events = told(labkit.run(scenario(rng, rng.choice(connections))).journal)
    return observed(events, rng.randint(last_time(events) // 2, last_time(events)))


def event(kind, t, **fields):
    return {"event": kind, "t": t * 10**6, **fields}


def submit(t, name, direct=True, **more):
    return event("submit", t, id=name, prompt_tokens=4, max_output_tokens=3, direct=direct, **more)


def deliver(t, name, index):
    return event("deliver", t, id=name, index=index, at=t * 10**6)


# By hand, one of everything; a preempted request is computed again, and one never gets its seat.
TELLING = [
    submit(0, "a"),
    submit(0, "b", direct=False),
    submit(2, "c", intended=0),
    submit(2, "w"),
    submit(2, "v"),
    submit(3, "x"),
    event("reject", 3, id="x", reason="queue_full"),
    event("plan", 3, round=0, items=[["a", 4, 0, "prefill"], ["b", 4, 0, "prefill"]]),
    event("admit", 3, id="a", context=0),
    event("admit", 3, id="b", context=0),
    event("token", 13, id="a", index=1),
    event("token", 13, id="b", index=1),
    event("round", 13, round=0, start=3 * 10**6),
    event("plan", 13, round=1, items=[["b", 1, 4, "decode"], ["c", 4, 0, "prefill"]]),
    event("preempt", 13, id="a", mode="recompute"),
    event("admit", 13, id="c", context=0),
    event("token", 23, id="b", index=2),
    event("pause", 23, id="b"),
    event("token", 23, id="c", index=1),
    event("finish", 23, id="c", reason=None),
    event("round", 23, round=1, start=13 * 10**6),
    event("plan", 23, round=2, items=[["a", 5, 0, "prefill"]]),
    event("admit", 23, id="a", context=0),
    deliver(33, "b", 1),
    event("token", 43, id="a", index=2),
    event("finish", 43, id="a", reason=None),
    event("round", 43, round=2, start=23 * 10**6),
    event("plan", 43, round=3, items=[["b", 1, 5, "decode"]]),
    event("resume", 43, id="b"),
    event("token", 53, id="b", index=3),
    event("finish", 53, id="b", reason=None),
    event("round", 53, round=3, start=43 * 10**6),
    deliver(60, "b", 2),
    event("plan", 70, round=4, items=[["w", 4, 0, "prefill"]]),
    event("until", 90),
]
# One is preempted and given up before it is computed again.
GIVEN_UP = [
    submit(0, "a"),
    submit(0, "b"),
    event("plan", 0, round=0, items=[["a", 4, 0, "prefill"], ["b", 4, 0, "prefill"]]),
    event("admit", 0, id="a", context=0),
    event("admit", 0, id="b", context=0),
    event("token", 10, id="a", index=1),
    event("token", 10, id="b", index=1),
    event("round", 10, round=0, start=0),
    event("plan", 10, round=1, items=[["b", 1, 4, "decode"]]),
    event("preempt", 10, id="a", mode="recompute"),
    event("cancel", 12, id="a", reason=None),
    event("token", 20, id="b", index=2),
    event("finish", 20, id="b", reason=None),
    event("round", 20, round=1, start=10 * 10**6),
    event("until", 25),
]


def counting(rng):
    return fresh(rng), rng.uniform(0.02, 0.1), rng.uniform(0.05, 0.3)


# ------------------------------------------------------------------------------------------------- b: the plan

PLAN = {
    "loop": "开放环",
    "schedule": "开跑前排定",
    "clock": "负载机的外部时钟",
    "latency_from": "计划发送时刻",
    "unfinished": "留作删失样本",
    "window": "固定时长",
}
PLAN_WRONG = {
    "loop": "closed-for-burst",
    "schedule": "schedule-follows",
    "clock": "server-clock",
    "latency_from": "omission",
    "unfinished": "survivors",
    "window": "window-by-count",
}
RATIOS = {
    "提交率": ("提交数", "观察时长"),
    "成功吞吐": ("成功数", "观察时长"),
    "有效吞吐": ("达标成功数", "观察时长"),
    "接纳率": ("接纳数", "提交数"),
    "用户所见达标率": ("达标成功数", "提交数"),
    "接纳后取消率": ("取消数", "接纳数"),
    "去向不明率": ("未知数", "接纳数"),
    "重算放大": ("重算词元", "原始词元"),
    "新生成占比": ("新生成词元", "总执行词元"),
    "平均缓冲占用": ("缓冲词元对时间的积分", "观察时长"),
    "消费速率": ("被读走词元", "缓冲非空时间"),
    "慢客户端比例": ("慢客户端数", "接纳数"),
}
EVIDENCE = {
    "过载": "队首年龄持续增长",
    "重算放大": "重算词元之比与抢占、换出事件同升",
    "慢消费者": "缓冲占用升而消费速率低于产生速率",
}


def plan(trial: Trial) -> Verdict:
    given = trial.answer()
    bad = [PLAN_WRONG[key] for key, wanted in PLAN.items() if given[key] != wanted]
    if set(given["counts"]) != {"提交数", "接纳数", "成功数", "达标成功数", "拒绝数", "取消数", "未知数"}:
        bad.append("counts-missing")
    return right() if not bad else wrong(bad[0])


def ratios(trial: Trial) -> Verdict:
    given = trial.answer()
    bad = [
        name
        for name, (top, bottom) in RATIOS.items()
        if (given[name]["numerator"], given[name]["denominator"]) != (top, bottom)
    ]
    if not bad:
        return right()
    key = ""
    if given["用户所见达标率"]["denominator"] in ("成功数", "接纳数"):
        key = "share-of-successes"
    elif given["重算放大"]["denominator"] == "总执行词元":
        key = "recompute-over-executed"
    elif given["消费速率"]["denominator"] == "观察时长":
        key = "drain-over-all"
    elif any(
        given[name]["denominator"] == "提交数" for name in ("接纳后取消率", "慢客户端比例", "去向不明率")
    ):
        key = "over-submitted"
    return partly(Fraction(2, 3), key) if len(bad) == 1 else wrong(key)


def evidence(trial: Trial) -> Verdict:
    given = trial.answer()
    if given == EVIDENCE:
        return right()
    if "显存余量下降" in given.values():
        return wrong("memory-tells")
    if "成功请求的平均时延上升" in given.values():
        return wrong("mean-tells")
    return wrong("causes-swapped")


CHECKS = {
    "sent": value(
        sent,
        {
            "closed-keeps-rate": lambda g: {"open": sent(g)["open"], "closed": sent(g)["open"]},
            "open-waits": lambda g: {"open": sent(g)["closed"], "closed": sent(g)["closed"]},
        },
    ),
    "slow": value(
        slow,
        {
            "omission": lambda g: slow(g) | {"connection_intended": slow(g)["connection_sent"]},
            "closed-keeps-rate": lambda g: slow(g) | {"closed": slow(g)["open"]},
            "only-the-stall": lambda g: (
                slow(g) | dict.fromkeys(("open", "connection_intended"), sent(g)["open"])
            ),
        },
    ),
    "plan": plan,
    "ratios": ratios,
    "evidence": evidence,
    "counts": function(
        counts,
        counting,
        always=((TELLING, 0.042, 0.06), (TELLING, 0.022, 0.0225), (GIVEN_UP, 0.1, 0.1)),
        wrong_ways={
            "admit-events": seats_taken,
            "admitted-is-seated": ever_seated,
            "finish-is-delivered": lambda *a: counts(*a, success="finished"),
            "omission": lambda *a: counts(*a, start="sent"),
            "unknown-dropped": ended_only,
        },
    ),
    "latency": function(
        latency,
        lambda rng: (fresh(rng), rng.choice([50, 75, 90, 99])),
        always=((TELLING, 50), (TELLING, 10), (TELLING, 25), (TELLING, 75), (GIVEN_UP, 50)),
        wrong_ways={
            "survivors": lambda *a: latency(*a, keep="successes"),
            "omission": lambda *a: latency(*a, start="sent"),
            "censored-exact": lambda *a: latency(*a, keep="exact"),
            "rejected-in": lambda *a: latency(*a, keep="rejected"),
        },
    ),
    "work": function(
        work,
        lambda rng: (fresh(rng, (None,)),),
        always=((TELLING,), (GIVEN_UP,)),
        wrong_ways={
            "recompute-over-executed": work_but(recompute=lambda w, e: [w["recompute"][0], w["new"][1]]),
            "new-is-computed": work_but(new=lambda w, e: [w["recompute"][1], w["new"][1]]),
            "preempted-is-recomputed": prompts_again,
            "planned-counts": planned,
        },
    ),
    "output": function(
        output,
        lambda rng: (fresh(rng),),
        always=((TELLING,), (GIVEN_UP,)),
        wrong_ways={
            "per-event": lambda e: output(e, weigh="events"),
            "drain-over-all": output_but(drain=lambda o, e: [o["drain"][0], o["occupancy"][1]]),
            "slow-over-submitted": output_but(
                slow=lambda o, e: [o["slow"][0], sum(x["event"] == "submit" for x in e)]
            ),
        },
    ),
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "e": (
        "1 分：开放环答固定外部到达下会不会积压，闭合环答固定并发用户感到的响应；"
        "闭合环过载时自行降速，不能证明突发下稳定。1 分：协调遗漏的来由与改正，从计划发送计时。"
        "1 分：过载看队首年龄持续增长，重算看重算词元之比与抢占、换出同升，"
        "慢消费者看缓冲占用与消费速率，并说清分母。1 分：未完成、到期、取消的请求留在样本里，"
        "只报成功者的平均就丢了最慢的。"
    ),
}
