# %% b
plan = {
    "counts": ("未知数", "取消数", "拒绝数", "达标成功数", "成功数", "接纳数", "提交数"),
    "window": "固定时长 ",
    "unfinished": "留作删失样本",
    "latency_from": "计划发送时刻",
    "clock": "负载机的外部时钟",
    "schedule": "开跑前排定",
    "loop": " 开放环",
}
ratios = {}
for top, bottom, names in [
    ("提交数", "观察时长", ["提交率"]),
    ("成功数", "观察时长", ["成功吞吐"]),
    ("达标成功数", "观察时长", ["有效吞吐"]),
    ("接纳数", "提交数", ["接纳率"]),
    ("达标成功数", "提交数", ["用户所见达标率"]),
    ("取消数", "接纳数", ["接纳后取消率"]),
    ("未知数", "接纳数", ["去向不明率"]),
    ("慢客户端数", "接纳数", ["慢客户端比例"]),
    ("被读走词元", "缓冲非空时间", ["消费速率"]),
    ("重算词元", "原始词元", ["重算放大"]),
    ("新生成词元", "总执行词元", ["新生成占比"]),
    ("缓冲词元对时间的积分", "观察时长", ["平均缓冲占用"]),
]:
    ratios |= {name: {"denominator": bottom, "numerator": top} for name in names}
evidence = {
    "慢消费者": "缓冲占用升而消费速率低于产生速率",
    "重算放大": "重算词元之比与抢占、换出事件同升",
    "过载": "队首年龄持续增长",
}

# %% c-counts
from collections import Counter
from fractions import Fraction

import numpy as np


class Request:
    def __init__(self, events):
        of = lambda *kinds: [e for e in events if e["event"] in kinds]
        (self.submit,) = of("submit")
        self.meant = self.submit.get("intended", self.submit["t"])
        made = [e["t"] for e in of("token")]
        self.got = made if self.submit["direct"] else [e["at"] for e in of("deliver")]
        self.stop = next(iter(of("reject", "cancel", "expire", "fail")), None)
        self.good = bool(of("finish")) and len(self.got) == len(made)
        self.rejected = self.stop is not None and self.stop["event"] == "reject"
        self.slow = bool(of("pause")) or (self.stop or {}).get("reason") == "slow_reader"

    def seen(self, horizon):
        return (self.got[-1] if self.good else self.stop["t"] if self.stop else horizon) - self.meant


def requests_of(events):
    by_id = {}
    for e in events:
        if "id" in e:
            by_id.setdefault(e["id"], []).append(e)
    return [Request(mine) for mine in by_id.values()]


def counts(events, ttft_limit, total_limit):
    everyone = requests_of(events)
    stops = Counter(r.stop["event"] for r in everyone if r.stop)
    good = [r for r in everyone if r.good]
    limits = Fraction(ttft_limit) * 10**9, Fraction(total_limit) * 10**9
    return dict(
        submitted=len(everyone), admitted=len(everyone) - stops["reject"], succeeded=len(good),
        on_target=sum(r.got[0] - r.meant <= limits[0] and r.seen(0) <= limits[1] for r in good),
        rejected=stops["reject"], cancelled=stops["cancel"], expired=stops["expire"], failed=stops["fail"],
        unknown=len(everyone) - len(good) - sum(stops.values()),
    )

# %% c-latency
def latency(events, percent):
    inside = [r for r in requests_of(events) if not r.rejected]
    horizon = events[-1]["t"]
    rank = int(np.ceil(Fraction(percent * len(inside), 100)))
    bounds = {}
    for name, hidden in (("low", False), ("high", True)):
        times = sorted(float("inf") if hidden and not r.good else r.seen(horizon) / 1e9 for r in inside)
        bounds[name] = times[rank - 1] if times and np.isfinite(times[rank - 1]) else None
    return bounds | {"of": len(inside), "censored": sum(not r.good for r in inside)}

# %% d-work
def work(events):
    kinds = Counter(e["event"] for e in events)
    ran = [e["round"] for e in events if e["event"] == "round"]
    times_computed = Counter()
    for e in events:
        if e["event"] == "plan" and e["round"] in ran:
            for item in e["items"]:
                times_computed.update((item[0], item[2] + k) for k in range(item[1]))
    executed = sum(times_computed.values())
    original = len(times_computed)
    return {
        "recompute": (executed - original, original),
        "new": np.array([kinds["token"], executed]),
        "preemptions": kinds["preempt"],
    }

# %% d-output
def output(events):
    # Each token on its own: when it entered the buffer and when it left.
    horizon = events[-1]["t"]
    everyone = requests_of(events)
    direct = {e["id"] for e in events if e["event"] == "submit" and e["direct"]}
    left = {(e["id"], e["index"]): e["t"] for e in events if e["event"] == "deliver"}
    gone = {e["id"]: e["t"] for e in events if e["event"] in ("cancel", "expire", "fail")}
    stays = [
        (e["t"], left.get((e["id"], e["index"]), gone.get(e["id"], horizon)))
        for e in events
        if e["event"] == "token" and e["id"] not in direct
    ]
    filled, reached = 0, 0
    for begin, end in sorted(stays):
        filled += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return {
        "occupancy": [Fraction(sum(end - begin for begin, end in stays), 10**9), Fraction(horizon, 10**9)],
        "drain": [len(left), Fraction(filled, 10**9)],
        "slow": [sum(r.slow for r in everyone), sum(not r.rejected for r in everyone)],
    }
