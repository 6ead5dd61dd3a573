"""Exercise 31.12: open and closed loops, and a plan of evidence in which each statistic names its denominator."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Choice, Form, Function, Listing, Maybe, Number, Record, Whole

SECONDS = Number("秒")
RATIO = Listing(Number(), 2)
COUNTS = ("提交数", "接纳数", "成功数", "达标成功数", "拒绝数", "取消数", "未知数")
TERMS = (
    *COUNTS,
    "观察时长",
    "重算词元",
    "原始词元",
    "新生成词元",
    "总执行词元",
    "缓冲词元对时间的积分",
    "被读走词元",
    "缓冲非空时间",
    "慢客户端数",
)
RATIOS = (
    "提交率",
    "成功吞吐",
    "有效吞吐",
    "接纳率",
    "用户所见达标率",
    "接纳后取消率",
    "去向不明率",
    "重算放大",
    "新生成占比",
    "平均缓冲占用",
    "消费速率",
    "慢客户端比例",
)
SIGNALS = (
    "队首年龄持续增长",
    "重算词元之比与抢占、换出事件同升",
    "缓冲占用升而消费速率低于产生速率",
    "显存余量下降",
    "成功请求的平均时延上升",
)
PLAN: dict[str, Form] = {
    "loop": Choice(("开放环", "闭合环")),
    "schedule": Choice(("开跑前排定", "收到响应后再排", "按当前吞吐调整")),
    "clock": Choice(("负载机的外部时钟", "工作进程的时钟", "各请求开始执行时归零的时钟")),
    "latency_from": Choice(("计划发送时刻", "实际发送时刻", "开始执行时刻")),
    "unfinished": Choice(("留作删失样本", "删去", "按已完成计入")),
    "window": Choice(("固定时长", "成功数凑够为止")),
    "counts": Listing(Choice((*COUNTS, "显存余量"))),
}


def _at(kind: str, ms: int, **fields: Any) -> dict[str, Any]:
    return {"event": kind, "t": ms * 10**6, **fields}


# A tiny journal for the public checks: one request that is served, one that was turned away.
SMALL = [
    _at("submit", 0, id="a", prompt_tokens=4, max_output_tokens=1, direct=True),
    _at("submit", 1, id="b", prompt_tokens=4, max_output_tokens=1, direct=True),
    _at("reject", 1, id="b", reason="queue_full"),
    _at("plan", 1, round=0, items=[["a", 4, 0, "prefill"]]),
    _at("admit", 1, id="a", context=0),
    _at("token", 11, id="a", index=1),
    _at("finish", 11, id="a", reason=None),
    _at("round", 11, round=0, start=10**6),
    _at("submit", 12, id="c", prompt_tokens=4, max_output_tokens=1, direct=True),
    _at("until", 15),
]


def draw(rng: random.Random) -> Given:
    """Another stall: it holds up several requests and leaves time to catch up; no send falls on its ends."""
    service = Fraction(rng.choice([1, 2]), 100)
    gap = service * rng.choice([4, 5])
    start = gap * rng.randint(6, 12) - 2 * service  # between two sends, and nothing is being served
    stall = gap * rng.randint(7, 12)
    return {
        "gap": gap,
        "service": service,
        "think": gap - service,
        "stall_start": start,
        "stall_end": start + stall,
        "count": rng.randint(40, 60),
        "limit": Fraction("0.255"),
    }


def _whole_account(counts: Any) -> bool:
    found = counts(SMALL, 1.0, 1.0)
    parts = ("rejected", "succeeded", "cancelled", "expired", "failed", "unknown")
    return bool(found["submitted"] == sum(found[part] for part in parts))


EXERCISE = Exercise(
    id="31.12",
    title="开放环、闭合环与证据方案",
    minutes=100,
    difficulty=3,
    statement="""
一次压测要回答两件事：用什么方式发请求，凭什么下结论。本题先比较两种环，再拟一份证据方案，最后从日志里算出方案要的统计量。
书中没有给出停顿的数，a 的数由本题约定。

## a 计算：同一次停顿，三种发法

一台服务器按发到的次序逐个处理请求，每个用 {service} 秒。它在 {stall_start} 秒停顿，到 {stall_end} 秒恢复；轮到在这段时间里开始的请求，一律从恢复时起开始。三种发法各跑一遍：

- **开放环**：第 k 个请求在 k × {gap} 秒发出，k = 0, 1, …, {count} − 1，不管前面的有没有返回。
- **闭合环**：只有一个用户，0 秒发第一个，以后收到响应再想 {think} 秒就发下一个。只计早于 {count} × {gap} 秒发出的请求。
- **单连接**：发送计划与开放环相同，但只有一条连接；前一个返回之前，到点的请求留在客户端里，连接一空就发。

`sent`：停顿期间（含起点，不含终点）发出的请求数，`{{"open": 开放环, "closed": 闭合环}}`。
`slow`：时延超过 {limit} 秒的请求数。键 `open`、`closed` 从发送算起；`connection_sent` 是单连接从实际发送算起，`connection_intended` 是单连接从计划发送算起。

## b 方案：把方案写成数据

要答的问题是：请求由外部按固定到达流送来，服务在突发下撑不撑得住？

- `plan`：字典，七个键。`loop` 取 `开放环`、`闭合环`；`schedule`（到达时刻何时定）取 `开跑前排定`、`收到响应后再排`、`按当前吞吐调整`；`clock` 取 `负载机的外部时钟`、`工作进程的时钟`、`各请求开始执行时归零的时钟`；`latency_from` 取 `计划发送时刻`、`实际发送时刻`、`开始执行时刻`；`unfinished`（未完成的请求怎么办）取 `留作删失样本`、`删去`、`按已完成计入`；`window`（观察何时结束）取 `固定时长`、`成功数凑够为止`；`counts` 是要报告的请求数的列表，从 `提交数`、`接纳数`、`成功数`、`达标成功数`、`拒绝数`、`取消数`、`未知数`、`显存余量` 里选，次序不论。
- `ratios`：字典，键是下面十二个统计量，值是 `{{"numerator": 分子, "denominator": 分母}}`，都从词表里选。
  统计量：`提交率`、`成功吞吐`、`有效吞吐`（三者都是每秒多少个请求）；`接纳率`（送来的有多少被接纳）；`用户所见达标率`（送来的有多少达标，被拒的也算没达标）；`接纳后取消率`、`去向不明率`、`慢客户端比例`（三者都对被接纳的请求而言）；`重算放大`（为每个原始词元重算了多少）；`新生成占比`（执行的工作有多少变成新输出）；`平均缓冲占用`（词元）；`消费速率`（有东西可读时，客户端每秒读走多少词元）。
  词表：`提交数`、`接纳数`、`成功数`、`达标成功数`、`拒绝数`、`取消数`、`未知数`、`观察时长`、`重算词元`、`原始词元`、`新生成词元`、`总执行词元`、`缓冲词元对时间的积分`、`被读走词元`、`缓冲非空时间`、`慢客户端数`。
- `evidence`：字典，键 `过载`、`重算放大`、`慢消费者`，值是最能把它与另外两种分开的信号，取自 `队首年龄持续增长`、`重算词元之比与抢占、换出事件同升`、`缓冲占用升而消费速率低于产生速率`、`显存余量下降`、`成功请求的平均时延上升`。

## 日志

c、d 的函数拿到的 `events` 是一份日志的事件列表，按发生次序排好，形式是 labkit.journal/1（与本题无关的事件和字段已经去掉）。每个事件是字典，都有 `event`（种类）和 `t`（时刻，整数纳秒）；观察从 0 开始，到最后一个事件（`until`）的 `t` 结束。

| 种类 | 意思和字段 |
|---|---|
| `submit` | 请求 `id` 发到。`prompt_tokens`、`max_output_tokens`；`direct` 为真：词元一出来就算送达，没有 `deliver` 事件；`intended`：计划发送的时刻，没有这个字段就等于 `t` |
| `reject` | 被拒，`reason` 是原因 |
| `admit` | 得到座位，缓存里已有 `context` 个位置。被抢占的请求会再得一次座位 |
| `plan` | 第 `round` 轮的计划，`items` 每项是 `[id, 新位置数, 已有位置数, 阶段]`：这一轮计算位置“已有”到“已有 + 新 − 1” |
| `round` | 第 `round` 轮跑完，从 `start` 到 `t`。有计划而没有这个事件的轮，到观察结束还没有跑完 |
| `preempt` | 被抢占，`mode` 为 `recompute`：缓存全丢，以后重算 |
| `token` | 生成第 `index` 个词元 |
| `deliver` | 客户端读走第 `index` 个词元，`at` 是送达时刻 |
| `pause`、`resume` | 输出缓冲满，暂停生成；又有空位 |
| `cancel`、`expire`、`fail` | 取消、到期、失败，`reason` 是原因（`slow_reader`：因读得太慢而取消） |
| `finish` | 生成完毕。词元此时未必都已送达 |

名词：**接纳**＝没有被拒（哪怕还在排队）；**成功**＝有 `finish`，且观察结束前全部词元已经送达；**未知**＝观察结束时既没有成功，也没有被拒、取消、到期或失败。

## c 统计：请求与时延

- `counts(events, ttft_limit, total_limit)` 返回字典，值为整数，键为 `submitted`、`admitted`、`succeeded`、`on_target`、`rejected`、`cancelled`、`expired`、`failed`、`unknown`。**达标**＝成功，首词元和末词元的送达距计划发送分别不超过 `ttft_limit`、`total_limit` 秒。（真实的目标还应包括质量，日志里没有，本题不计。）
- `latency(events, percent)`：从计划发送到末词元送达的时延的百分位，`percent` 为 1 到 99 的整数。样本是全部被接纳的请求；没有成功的是删失样本，只知道“至少”到它的终态（没有终态则到观察结束）那么久。百分位取最近秩：n 个里从小到大第 ⌈percent·n/100⌉ 个。返回 `{{"low": …, "high": …, "of": n, "censored": 删失数}}`：`low` 把删失时延当作恰好这么久，`high` 把它当作无穷大；单位秒，无穷大或没有样本填 `None`。

## d 统计：工作与输出

比值一律写成 `[分子, 分母]`，不要相除：分母也要检查。

- `work(events)` 返回 `recompute`：`[重算词元, 原始词元]`；`new`：`[新生成词元, 总执行词元]`；`preemptions`：抢占次数，整数。只计跑完的轮。一个请求的同一位置再算一次就是重算；原始词元＝总执行词元 − 重算词元；计算一个位置就是执行一个词元。
- `output(events)` 返回 `occupancy`：`[缓冲词元对时间的积分（词元·秒）, 观察时长（秒）]`；`drain`：`[被读走的词元数, 缓冲非空的总时间（秒）]`；`slow`：`[慢客户端数, 接纳数]`。缓冲里是已经生成、还没有读走的词元（所有请求合计，`direct` 的不进缓冲），`deliver` 的 `t` 时离开；请求取消、到期或失败时它未读的词元当即丢弃。慢客户端＝至少有过一次 `pause`，或因 `slow_reader` 取消。

## e 解释

两种环各回答什么问题？你的方案怎样把过载、重算放大和慢消费者分开？为什么不能只报成功请求的平均时延？

数值的相对误差不超过十亿分之一即可。隐藏检查用别的日志。可以用 Python 标准库、numpy 和 sympy，不可以用 labkit。
""",
    given={
        "gap": Fraction("0.05"),
        "service": Fraction("0.01"),
        "think": Fraction("0.04"),
        "stall_start": Fraction("0.48"),
        "stall_end": Fraction("0.98"),
        "count": 40,
        "limit": Fraction("0.255"),
    },
    notes={
        "gap": "计划的发送间隔，秒",
        "service": "处理一个请求，秒",
        "think": "闭合环用户的思考时间，秒",
        "stall_start": "停顿开始，秒",
        "stall_end": "恢复，秒",
        "count": "计划发送的请求数",
        "limit": "时延界限，秒",
    },
    draw=draw,
    misconceptions={
        "closed-keeps-rate": Misconception(
            "闭合环的用户要等响应，服务停顿时它也停了，不会照原来的速率继续发。", "31.7"
        ),
        "open-waits": Misconception("开放环按计划发送，不等响应；停顿期间到点的请求照样发出。", "31.7"),
        "omission": Misconception(
            "从实际发送算起，请求在客户端里等的那一段就不见了，这正是协调遗漏。时延要从计划发送算起。",
            "31.7",
        ),
        "only-the-stall": Misconception(
            "慢的请求不等于停顿期间发出的请求：有的只等到停顿的尾巴，并不超限；恢复以后还要消化积压。",
            "31.7",
        ),
        "closed-for-burst": Misconception(
            "外部到达流不因服务变慢而变慢。闭合环会自己降速，答不了这个问题。", "31.7"
        ),
        "schedule-follows": Misconception(
            "到达计划不能跟着完成速度走，否则拥塞期间该到的请求就漏掉了。", "31.7"
        ),
        "server-clock": Misconception(
            "服务一侧的时钟看不到请求在到达之前的等待，也会随服务一起停。应由外部时钟驱动并计时。", "31.7"
        ),
        "window-by-count": Misconception(
            "凑够成功数才停，观察时长就由服务快慢决定，过载时积压和未完成的请求也看不全。", "31.7"
        ),
        "counts-missing": Misconception(
            "报告的请求数不全，或混进了不是请求数的量。每个提交的请求都要能查到去向。", "31.7"
        ),
        "share-of-successes": Misconception(
            "从用户看，被拒和失败的请求也没有达标。只在成功者或被接纳者中算，分母就换了人群。", "31.7"
        ),
        "recompute-over-executed": Misconception(
            "重算放大是重算词元与原始词元之比；以总执行词元为分母是另一个比值。", "31.6"
        ),
        "over-submitted": Misconception(
            "被拒的请求从没进入系统，不会取消，也不会变成慢客户端；这里的分母是接纳数。", "31.7"
        ),
        "memory-tells": Misconception(
            "显存余量分不出这三种情形。要看队列、重算和输出缓冲各自的信号。", "31.7"
        ),
        "mean-tells": Misconception(
            "成功请求的平均时延三种情形都可能升高，还漏掉了没成功的，分不出是哪一种。", "31.7"
        ),
        "causes-swapped": Misconception(
            "信号与原因对不上。过载看排队，重算看执行的词元，慢消费者看输出一侧。", "31.7"
        ),
        "admit-events": Misconception(
            "admit 是得到座位，被抢占的请求会得到几次；接纳数的是请求，不是事件。", "31.7"
        ),
        "admitted-is-seated": Misconception(
            "没有被拒就是被接纳，哪怕到观察结束还在排队；不能只数得到过座位的。", "31.7"
        ),
        "finish-is-delivered": Misconception(
            "生成完毕不等于送达。输出还压在缓冲里的请求，观察结束时并没有成功。", "31.7"
        ),
        "unknown-dropped": Misconception("观察结束时还没有结局的请求也是提交的，不能从样本里消失。", "31.7"),
        "survivors": Misconception("删去没有成功的请求再算百分位，恰好删去了最慢的那些。", "31.7"),
        "censored-exact": Misconception(
            "删失样本只知道至少这么久，不能当作恰好这么久；上界里它是无穷大。", "31.7"
        ),
        "rejected-in": Misconception(
            "被拒的请求没有在系统里逗留，不是时延样本；它们另外计数，不能把百分位拉低。", "31.7"
        ),
        "new-is-computed": Misconception(
            "新生成词元是输出的词元，不是第一次计算的位置；提示的位置算过，并不产生输出。", "31.6"
        ),
        "preempted-is-recomputed": Misconception(
            "被抢占时丢掉的位置，只有真的再算一次才是重算；要看后来跑了什么。", "31.6"
        ),
        "planned-counts": Misconception("有计划而没有跑完的轮还没有执行，不能计入。", "31.6"),
        "per-event": Misconception(
            "平均占用按时间加权。事件有疏有密，按事件平均偏向变化频繁的时候。", "31.7"
        ),
        "drain-over-all": Misconception(
            "缓冲空着的时候没有东西可读，不能算进消费速率的分母，否则快的读者也显得慢。", "31.7"
        ),
        "slow-over-submitted": Misconception("被拒的请求没有输出可读，慢客户端比例的分母是接纳数。", "31.7"),
        "account": Misconception("各种去向加起来不等于提交数，有请求漏计或重计。", "31.7"),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.7",
            answers=(
                Answer("sent", Record({"open": Whole(), "closed": Whole()})),
                Answer(
                    "slow",
                    Record(
                        dict.fromkeys(("open", "closed", "connection_sent", "connection_intended"), Whole())
                    ),
                    points=2,
                ),
            ),
            hints=(
                Hint("closed-keeps-rate", lambda a, g: a["sent"]["closed"] == a["sent"]["open"] > 1),
                Hint(
                    "omission",
                    lambda a, g: (
                        a["slow"]["connection_intended"]
                        == a["slow"]["connection_sent"]
                        < a["sent"]["open"] / 3
                    ),
                ),
            ),
        ),
        Part(
            "b",
            "build",
            "31.7",
            answers=(
                Answer("plan", Record(PLAN), points=2),
                Answer(
                    "ratios",
                    Record(
                        {
                            n: Record({"numerator": Choice(TERMS), "denominator": Choice(TERMS)})
                            for n in RATIOS
                        }
                    ),
                    points=3,
                ),
                Answer("evidence", Record({n: Choice(SIGNALS) for n in ("过载", "重算放大", "慢消费者")})),
            ),
            hints=(
                Hint("counts-missing", lambda a, g: len(set(a["plan"]["counts"])) < 4),
                Hint(
                    "recompute-over-executed",
                    lambda a, g: (
                        a["ratios"]["重算放大"]["denominator"] == a["ratios"]["新生成占比"]["denominator"]
                    ),
                ),
                Hint("causes-swapped", lambda a, g: len(set(a["evidence"].values())) < 3),
            ),
        ),
        Part(
            "c",
            "build",
            "31.7",
            answers=(
                Answer(
                    "counts",
                    Function(
                        Record(
                            dict.fromkeys(
                                (
                                    "submitted",
                                    "admitted",
                                    "succeeded",
                                    "on_target",
                                    "rejected",
                                    "cancelled",
                                    "expired",
                                    "failed",
                                    "unknown",
                                ),
                                Whole(),
                            )
                        ),
                        example=(SMALL, 1.0, 1.0),
                    ),
                    points=3,
                ),
                Answer(
                    "latency",
                    Function(
                        Record(
                            {
                                "low": Maybe(SECONDS),
                                "high": Maybe(SECONDS),
                                "of": Whole(),
                                "censored": Whole(),
                            }
                        ),
                        example=(SMALL, 50),
                    ),
                    points=3,
                ),
            ),
            hints=(
                Hint("account", lambda a, g: not _whole_account(a["counts"])),
                Hint("survivors", lambda a, g: a["latency"](SMALL, 50)["censored"] == 0),
            ),
        ),
        Part(
            "d",
            "build",
            "31.6",
            answers=(
                Answer(
                    "work",
                    Function(
                        Record({"recompute": RATIO, "new": RATIO, "preemptions": Whole()}), example=(SMALL,)
                    ),
                    points=3,
                ),
                Answer(
                    "output",
                    Function(Record({"occupancy": RATIO, "drain": RATIO, "slow": RATIO}), example=(SMALL,)),
                    points=3,
                ),
            ),
            hints=(
                Hint(
                    "slow-over-submitted",
                    lambda a, g: a["output"](SMALL)["slow"][1] == a["counts"](SMALL, 1.0, 1.0)["submitted"],
                ),
            ),
        ),
        Part(
            "e",
            "explain",
            "31.7",
            manual=4,
        ),
    ),
)
