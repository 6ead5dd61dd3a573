"""Hidden checks of exercise 31.13 (Q31.13): fresh runs of the engine, told apart by what they are made of."""

import itertools
import random
from collections import Counter
from fractions import Fraction
from statistics import median

import labkit
from labkit.grade.checks import Trial, Verdict, function, partly, right, value, wrong
from labkit.grade.exercise import CONSTANT
from labkit.grade.forms import FormError

OVERLOAD, PROMPT, READER = "持续超载", "长提示阻塞解码", "慢客户端"
CAUSES = (OVERLOAD, PROMPT, READER)
LEVERS = {
    OVERLOAD: {"限制准入", "增加饱和阶段的容量"},
    PROMPT: {"分块预填充", "设阶段预算并保留预填充份额"},
    READER: {"让背压传到入口", "传播取消并释放资源"},
}
LEVERS_WRONG = {
    "增加 KV 显存": "memory-is-capacity",
    "加大输出缓冲": "bigger-buffer",
    "解码总是优先": "prefill-starved",
    "放宽期限": "looser-deadline",
}
INTERIM = {"按队列预算和期限排队或拒绝", "上线后核对积压消退"}

# ------------------------------------------------------------------------------------------------ fresh journals


def compact(journal, until, full=False):
    """The exercise's short form of a journal observed up to `until` ns: lists, times in microseconds.

    `full`: with a pool of just the pages that this run held or had promised at its peak, which changes nothing in it.
    """
    budget = journal[0]["scenario"]["budget"]
    pool = budget["kv_bytes"] // (budget["page_tokens"] * budget["bytes_per_token"])
    if full:
        pool = max(e["pages_reserved"] for e in journal if e.get("event") == "round")
    rows, items = [], {}
    for e in journal[1:]:
        kind, t = e["event"], e["t"] // 1000
        if e["t"] > until:
            break
        if kind == "submit":
            rows.append([t, kind, e["id"], e["prompt_tokens"], e["direct"]])
        elif kind == "plan":
            items[e["round"]] = [[name, new, phase] for name, new, _, phase in e["items"]]
        elif kind == "round":
            rows.append([t, kind, e["start"] // 1000, items[e["round"]], pool - e["pages_reserved"]])
        elif kind in ("token", "deliver"):
            rows.append([t, kind, e["id"], e["index"]])
        elif kind in ("admit", "finish"):
            rows.append([t, kind, e["id"]])
    return [*rows, [until // 1000, "until"]]


def scenario(rng, causes, stage, confusing):
    """One crowd of requests, and the causes at work on it; `confusing`: what looks like a cause and is none."""
    round_us = round(10 ** rng.uniform(2.7, 6))  # a round of decodes, in µs
    second = round_us / 10**6
    seats = rng.randint(5, 6)
    prompt, out = (4, rng.randint(11, 14)) if stage == "解码" else (24, 2)
    busy = 1.05 * out + 0.2  # rounds in a seat
    load = rng.uniform(2.5, 4) if OVERLOAD in causes else rng.uniform(0.3, 0.4)
    gap = busy / seats / load
    requests, at = [], 0.0
    crowd = (26, 32) if stage == "解码" else (80, 90)  # so short requests that more of them are seen
    for _ in range(rng.randint(*(crowd if OVERLOAD in causes else (16, 22)))):
        at += gap * rng.uniform(0.8, 1.2)
        requests.append({"at": at, "prompt_tokens": prompt, "output_tokens": out})
    if PROMPT in causes or "chunked" in confusing:
        for beside in (requests[4], requests[9]):
            beside["output_tokens"] = max(out, 10)
            requests.append(
                {"at": beside["at"] + 2.5, "prompt_tokens": rng.randint(900, 1400), "output_tokens": 2}
            )
    if "quiet" in confusing:
        requests.append({"at": at + 3 * out + 8, "prompt_tokens": rng.randint(900, 1400), "output_tokens": 2})
    if "burst" in confusing:
        requests += [
            {"at": requests[5]["at"], "prompt_tokens": 8, "output_tokens": 3} for _ in range(3 * seats)
        ]
    for number, one in enumerate(requests[2:6]):
        slow = READER in causes and number < 2
        if slow or "readers" in confusing:
            speed = (rng.uniform(0.1, 0.15) if slow else 5) / second
            one["reader"] = {"tokens_per_second": round(speed, 6), "buffer_tokens": 9, "on_full": "pause"}
            one["output_tokens"] = 14 if slow else one["output_tokens"]
    requests.sort(key=lambda one: one["at"])
    for number, one in enumerate(requests):  # neither a name nor its place tells what a request is there for
        one["id"] = f"r{number:02}"
        one["arrival"] = round(one.pop("at") * second, 6)
    pages = sorted(((r["prompt_tokens"] + r["output_tokens"]) // 16 + 1 for r in requests), reverse=True)
    return {
        "schema": "labkit.scenario/1",
        "budget": {
            "tokens": 4096,
            "seats": seats,
            "kv_bytes": (sum(pages[:seats]) + rng.randint(60, 400)) * 16 * 65536,
        },
        "policy": {"prefill_chunk": 24 if "chunked" in confusing else None},
        "cost": {"kind": "linear", "fixed": second, "per_token": second / 100},
        "requests": requests,
    }


def drawn(rng: random.Random, causes=(), stage="解码", confusing=()):
    """A fresh journal of which everything that the exercise promises is true."""
    for _ in range(200):
        journal = labkit.run(scenario(rng, causes, stage, confusing), check=False).journal
        last = max(e["t"] for e in journal if e.get("event") == "submit")
        if OVERLOAD not in causes:
            last = max(e["t"] for e in journal if e.get("event") == "admit")
            last = round(last * rng.uniform(1.15, 1.3))
        rows = compact(journal, last // 1000 * 1000, "full" in confusing)
        if clear(rows, causes, stage):
            return rows
    raise AssertionError(f"no clear journal for {causes}, {stage}, {confusing}")


def clear(rows, causes, stage):
    """Whether the journal keeps the exercise's promises: each cause is plain to see or plainly absent."""
    end = rows[-1][0]
    instants = [row[0] for row in rows]
    late = [oldest(rows, at) for at in instants if at >= 0.75 * end]
    half = [oldest(rows, at) for at in instants if at >= 0.5 * end]
    overloaded = min(half) > 0 and oldest(rows, end) > end / 4
    calm = min(late) == 0
    rounds = [row for row in rows if row[1] == "round"]
    usual = median(row[0] - row[2] for row in rounds)
    beside = [
        (row[0] - row[2]) / usual for row in rounds if {item[2] for item in row[3]} == {"prefill", "decode"}
    ]
    stretched = max(beside, default=0)
    four = signals(rows, [])
    most = four["output_buffer"]
    work = Counter()
    for row in rounds:
        for _, new, phase in row[3]:
            work[phase] += new
    share = work["prefill" if stage == "预填充" else "decode"] / sum(work.values())
    return (
        None not in four.values()
        and (overloaded if OVERLOAD in causes else calm)
        and (stretched >= 5 if PROMPT in causes else stretched <= 2.5)
        and (most >= 8 if READER in causes else most <= 2)
        and (OVERLOAD not in causes or (stage == "解码" and PROMPT in causes) or share >= 0.65)
    )


# ---------------------------------------------------------------------------------------------- a: four signals


def oldest(events, when):
    """Age at `when` of the request that has waited longest for its seat; 0 where none waits."""
    waiting = {}
    for e in events:
        if e[0] > when:
            break
        if e[1] == "submit":
            waiting[e[2]] = e[0]
        elif e[1] == "admit":
            waiting.pop(e[2])
    return when - min(waiting.values(), default=when)


def signals(events, times):
    rounds = [e for e in events if e[1] == "round"]
    prefills = [e[0] - e[2] for e in rounds if any(item[2] == "prefill" for item in e[3])]
    direct = {e[2]: e[4] for e in events if e[1] == "submit"}
    last, gaps, unread, most = {}, [], Counter(), 0
    for e in events:
        if e[1] == "token":
            if e[2] in last:
                gaps.append(e[0] - last[e[2]])
            last[e[2]] = e[0]
            unread[e[2]] += not direct[e[2]]
            most = max(most, unread[e[2]])
        elif e[1] == "deliver":
            unread[e[2]] -= 1
    return {
        "queue_age": [oldest(events, when) for when in times],
        "chunk_time": max(prefills, default=None),
        "token_gap": max(gaps, default=None),
        "output_buffer": most,
    }


def signals_but(**ways):
    def way(events, times):
        found = signals(events, times)
        return found | {key: change(events, times) for key, change in ways.items()}

    return way


def any_round(events, times):
    return max((e[0] - e[2] for e in events if e[1] == "round"), default=None)


def pooled_gap(events, times):
    """Between any two tokens of the server, whoever they belong to."""
    at = [e[0] for e in events if e[1] == "token"]
    return max((b - a for a, b in itertools.pairwise(at)), default=None)


def in_system(events, times):
    """Age of the oldest request that has not finished, running ones too."""
    ages = []
    for when in times:
        here = {}
        for e in events:
            if e[0] <= when:
                if e[1] == "submit":
                    here[e[2]] = e[0]
                elif e[1] == "finish":
                    here.pop(e[2])
        ages.append(when - min(here.values(), default=when))
    return ages


def all_tokens(events, times):
    """Direct tokens counted as unread."""
    unread, most = Counter(), 0
    for e in events:
        if e[1] == "token":
            unread[e[2]] += 1
            most = max(most, unread[e[2]])
        elif e[1] == "deliver":
            unread[e[2]] -= 1
    return most


def asked(rng):
    rows = drawn(rng, *rng.choice(KINDS))
    end = rows[-1][0]
    return rows, sorted(rng.sample(range(end), 4))


TELLING = [
    [0, "submit", "a", 8, True],
    [0, "admit", "a"],
    [5, "submit", "b", 4, False],
    [20, "token", "a", 1],
    [20, "round", 0, [["a", 8, "prefill"]], 3],
    [50, "token", "a", 2],
    [50, "round", 20, [["a", 1, "decode"]], 3],
    [60, "token", "a", 3],
    [60, "round", 50, [["a", 1, "decode"]], 3],
    [60, "finish", "a"],
    [155, "admit", "b"],
    [170, "token", "b", 1],
    [170, "round", 155, [["b", 4, "prefill"]], 3],
    [190, "token", "b", 2],
    [190, "round", 170, [["b", 1, "decode"]], 3],
    [190, "finish", "b"],
    [195, "until"],
]

# --------------------------------------------------------------------------------------------- b: the diagnosis

# causes, the stage of the overload, what confuses
KINDS = (
    ((), "解码", ("full",)),
    ((), "解码", ("burst",)),
    ((), "解码", ("chunked",)),
    ((), "解码", ("quiet",)),
    ((), "解码", ("readers",)),
    ((OVERLOAD,), "解码", ()),
    ((OVERLOAD,), "解码", ("readers", "full")),
    ((OVERLOAD,), "预填充", ()),
    ((PROMPT,), "解码", ()),
    ((PROMPT,), "解码", ("burst", "readers")),
    ((READER,), "解码", ()),
    ((READER,), "解码", ("chunked",)),
    ((OVERLOAD, READER), "解码", ()),
    ((PROMPT, READER), "解码", ("full",)),
)
GENERAL = ("false-alarm", "missed", "one-cause")  # said only where nothing more telling is known
FALSE_ALARM = {
    (OVERLOAD, "full"): "memory-is-capacity",
    (OVERLOAD, "burst"): "spike-is-overload",
    (PROMPT, "chunked"): "length-is-blocking",
    (PROMPT, "quiet"): "nobody-blocked",
    (READER, "readers"): "reader-is-slow",
}


def slower(rows, factor):
    """The same run on a clock that many times as slow."""
    return [
        [row[0] * factor, row[1], *([row[2] * factor, *row[3:]] if row[1] == "round" else row[2:])]
        for row in rows
    ]


def asked_of(trial: Trial, rows):
    try:
        return trial.call(rows)
    except FormError:
        return None


def diagnose(trial: Trial) -> Verdict:
    trial.call(drawn(trial.rng))  # whatever has no form at all is told so
    cases = [(kind, drawn(trial.rng, *kind)) for kind in KINDS]
    said = [asked_of(trial, rows) for _, rows in cases]
    if None in said:
        return wrong()
    if all(one == said[0] for one in said):
        return wrong(CONSTANT)
    faults = [
        fault
        for ((causes, stage, confusing), _), one in zip(cases, said, strict=True)
        for fault in faults_of(causes, stage, confusing, one)
    ]
    if not faults:
        return right()
    for rows in (rows for kind, rows in cases if len(kind[0]) < 2):
        answers = [set(asked_of(trial, slower(rows, k))["causes"]) for k in (1, 30, 1000, 30_000)]
        if any(answer != answers[0] for answer in answers):
            return wrong("fixed-threshold")
    missed = {cause for cause, _ in faults}
    share = Fraction(sum(cause not in missed for cause in CAUSES), 5)
    if not missed & set(CAUSES):
        share += Fraction(("stage" not in missed) + ("levers" not in missed), 5)
    found = Counter(key for _, key in faults)
    telling = [key for key in found if key not in GENERAL] or list(found)
    return partly(share, max(telling, key=found.__getitem__))


def faults_of(causes, stage, confusing, said):
    """What is wrong with one diagnosis: (what it concerns, the misconception)."""
    found = []
    for cause in CAUSES:
        if cause in said["causes"] and cause not in causes:
            known = [FALSE_ALARM[cause, c] for c in confusing if (cause, c) in FALSE_ALARM]
            if cause == PROMPT and READER in causes:
                known.append("gap-is-prompt")  # only its own pauses are long
            found.append((cause, known[0] if known else "false-alarm"))
        elif cause in causes and cause not in said["causes"]:
            found.append((cause, "one-cause" if len(causes) > 1 else "missed"))
    if found:
        return found
    if said["stage"] != (stage if OVERLOAD in causes else None):
        found.append(("stage", "wrong-stage"))
    levers = set().union(*(LEVERS[cause] for cause in causes))
    extra = sorted(set(said["levers"]) - levers)
    found.extend(("levers", LEVERS_WRONG.get(lever, "wrong-lever")) for lever in extra)
    if levers - set(said["levers"]):
        found.append(("levers", "wrong-lever"))
    if set(said["interim"]) != (INTERIM if OVERLOAD in causes else set()):
        found.append(("levers", "interim"))
    return found


def levers(trial: Trial) -> Verdict:
    given = trial.answer()
    for cause in CAUSES:
        for lever in given[cause]:
            if lever in LEVERS_WRONG:
                return wrong(LEVERS_WRONG[lever])
    return right() if all(set(given[c]) == LEVERS[c] for c in CAUSES) else wrong("wrong-lever")


# ------------------------------------------------------------------------------ c: until the new capacity is live


def backlog(g):
    return (g["arrivals"] - g["served_now"]) * g["delay"]


def spare(g):
    return g["served_later"] - g["arrivals"]


def waiting_room(g):
    return {
        "backlog": backlog(g),
        "drain": Fraction(backlog(g)) / spare(g),
        "refused": backlog(g) - g["room"],
        "drain_with_room": Fraction(g["room"]) / spare(g),
    }


def room_but(**ways):
    return lambda g: waiting_room(g) | {key: change(g) for key, change in ways.items()}


def at_door(now, deadline, ahead, own, margin, queued, room, capacities, wrong_way=""):
    live = sum(rate for at, rate in capacities if at <= now or wrong_way == "ordered")
    if queued >= room and wrong_way != "no-room":
        return "拒绝"
    if live == 0:
        return "拒绝"
    need = Fraction(ahead) / live
    if wrong_way != "own":
        need += Fraction(own) / live
    if wrong_way != "margin":
        need += Fraction(margin)
    left = Fraction(deadline) - (0 if wrong_way == "absolute" else Fraction(now))
    return "拒绝" if need > left or (wrong_way == "strict" and need == left) else "排队"


def arriving(rng):
    """Work, rates and times in whole numbers and quarters: near the limit, on either side of it or on it."""
    now = rng.randint(0, 40)
    rate = rng.choice([2, 4])  # powers of two: floats add without rounding
    capacities = [[0, rate], [rng.choice([now + 10, now + 1, max(0, now - 5)]), rate]]
    live = sum(rate for at, rate in capacities if at <= now)
    ahead, own, margin = rng.randint(4, 60), rng.randint(2, 8), rng.choice([0, 0.5, 2])
    need = (ahead + own) / live + margin
    deadline = now + need + rng.choice([-3, -1, -0.25, 0, 0.25, 1, 3])
    room = rng.randint(2, 12)
    return (
        now,
        deadline,
        ahead,
        own,
        margin,
        rng.choice([0, room - 1, room - 1, room, room + 3]),
        room,
        capacities,
    )


DOOR_ALWAYS = (
    (10, 20.0, 12, 4, 2, 3, 8, [[0, 2], [15, 6]]),  # fits at all that is live only without margin: 8 + 2 = 10
    (10, 19.0, 12, 4, 2, 3, 8, [[0, 2], [15, 6]]),
    (10, 17.0, 12, 4, 0, 3, 8, [[0, 2], [15, 6]]),
    (10, 13.0, 12, 4, 0, 3, 8, [[0, 2], [15, 6]]),
    (10, 60.0, 12, 4, 2, 8, 8, [[0, 2]]),
    (10, 60.0, 12, 4, 2, 7, 8, [[0, 2]]),
    (10, 13.0, 12, 4, 0, 3, 8, [[0, 2], [10, 2]]),
    (10, 60.0, 12, 4, 2, 0, 8, [[12, 2]]),
)


def drained_at(events, live_at):
    waiting = 0
    for number, e in enumerate(events):
        waiting += (e[1] == "submit") - (e[1] == "admit")
        later = number + 1 == len(events) or events[number + 1][0] > e[0]
        if later and waiting == 0 and e[0] >= live_at:
            return e[0]
        # nobody waits when it goes live
        if later and waiting == 0 and number + 1 < len(events) and events[number + 1][0] > live_at > e[0]:
            return live_at
    return None


def before_live(events, live_at):
    return drained_at(events, 0)


def server_empty(events, live_at):
    """Until nobody is in the system, running ones included."""
    ended = [[e[0], "admit" if e[1] == "finish" else e[1]] for e in events if e[1] != "admit"]
    return drained_at(ended, live_at)


def at_end_only(events, live_at):
    return events[-1][0] if drained_at(events, live_at) is not None else None


def growing(rng):
    """A queue that builds up until seats are added; they may be too few, or come too late to see it drain."""
    second = rng.choice([0.001, 0.01, 0.1])
    count, late = rng.randint(18, 26), rng.randint(30, 50)
    more = rng.choice([2, 5, 6, 8])
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 4096, "seats": 8, "kv_bytes": 400 * 16 * 65536},
        "cost": {"kind": "linear", "fixed": second},
        "capacity_changes": [{"at": 0, "seats": 2}, {"at": second, "live_at": late * second, "seats": more}],
        "requests": [
            {"id": f"r{n:02}", "arrival": round((n * 3 + rng.randint(0, 2)) * second, 6), "prompt_tokens": 8,
             "output_tokens": rng.randint(6, 9)}
            for n in range(count)
        ],
    }  # fmt: skip
    journal = labkit.run(document, check=False).journal
    end = max(e["t"] for e in journal if e.get("event") == "submit")
    return compact(journal, int(end * rng.uniform(1.0, 1.4))), round(late * second * 10**6)


CALM_THEN_CROWDED = [
    [0, "submit", "a", 8, True],
    [0, "admit", "a"],
    [5, "submit", "b", 8, True],
    [30, "finish", "a"],
    [30, "admit", "b"],
    [40, "submit", "c", 8, True],
    [60, "finish", "b"],
    [60, "admit", "c"],
    [60, "submit", "d", 8, True],
    [80, "admit", "d"],
    [90, "submit", "e", 8, True],
    [99, "until"],
]

CHECKS = {
    "signals": function(
        signals,
        asked,
        always=((TELLING, [0, 30, 55, 180]),),
        cases=3,
        wrong_ways={
            "any-round": signals_but(chunk_time=any_round),
            "pooled-gap": signals_but(token_gap=pooled_gap),
            "in-system": signals_but(queue_age=in_system),
            "direct-unread": signals_but(output_buffer=all_tokens),
        },
    ),
    "levers": levers,
    "diagnose": diagnose,
    "waiting_room": value(
        waiting_room,
        {
            "counted-early": room_but(backlog=lambda g: 0, drain=lambda g: 0, refused=lambda g: 0),
            "arrivals-stop": room_but(
                drain=lambda g: Fraction(backlog(g)) / g["served_later"],
                drain_with_room=lambda g: Fraction(g["room"]) / g["served_later"],
            ),
            "room-twice": room_but(drain_with_room=lambda g: Fraction(backlog(g)) / spare(g)),
            "all-arrivals": room_but(
                backlog=lambda g: g["arrivals"] * g["delay"],
                drain=lambda g: Fraction(g["arrivals"] * g["delay"]) / spare(g),
                refused=lambda g: g["arrivals"] * g["delay"] - g["room"],
            ),
        },
    ),
    "at_door": function(
        at_door,
        arriving,
        always=DOOR_ALWAYS,
        cases=14,
        wrong_ways={
            "counted-early": lambda *a: at_door(*a, wrong_way="ordered"),
            "own-forgotten": lambda *a: at_door(*a, wrong_way="own"),
            "margin-forgotten": lambda *a: at_door(*a, wrong_way="margin"),
            "no-queue-limit": lambda *a: at_door(*a, wrong_way="no-room"),
            "deadline-from-now": lambda *a: at_door(*a, wrong_way="absolute"),
            "on-time-refused": lambda *a: at_door(*a, wrong_way="strict"),
        },
    ),
    "drained_at": function(
        drained_at,
        growing,
        always=(
            (CALM_THEN_CROWDED, 35),
            (CALM_THEN_CROWDED, 50),
            (CALM_THEN_CROWDED, 85),
            (CALM_THEN_CROWDED, 95),
        ),
        wrong_ways={
            "before-live": before_live,
            "server-empty": server_empty,
            "at-end": at_end_only,
        },
    ),
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "d": (
        "1 分：同一到达负载（开放环）下并排看队首年龄、预填充轮时、词元间隔、输出缓冲，"
        "而不是单看一个。1 分：超载是队列持续增长且设备饱和，限准入、加该阶段容量；"
        "长提示是间隔随长轮突增，分块、阶段预算并留预填充份额；慢客户端是生成完而输出积压，"
        "背压、取消。1 分：显存余量只是一种容量，不能证明计算和输出路径来得及。1 分："
        "扩容要启动和预热，其间按队列预算和期限排队或拒绝，生效后核对积压消退。"
    ),
}
