"""Exercise 31.10: how long a buffer takes to fill, and the transition table of what happens then."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Choice, Function, Listing, Maybe, Number, Record, near

SECONDS = Number("秒")
STATES = ("generating", "paused", "flushing", "completed", "cancelled")
TERMINAL = ("completed", "cancelled")
EVENTS = ("chunk", "high-water", "low-water", "empty", "end", "cannot-pause", "deadline", "disconnect")
ACTIONS = (
    "append", "discard", "stop-generation", "resume-generation", "cancel-generation", "start-deadline",
    "clear-deadline", "record-outcome", "record-acknowledged", "release",
)  # fmt: skip
ROW = Record(
    {
        "state": Choice(STATES),
        "event": Choice(EVENTS),
        "next": Choice(STATES),
        "actions": Listing(Choice(ACTIONS)),
    }
)


def draw(rng: random.Random) -> Given:
    """Other numbers: output faster than the client reads; a round far smaller than the buffer."""
    consume = rng.randint(2, 9)
    net = rng.choice([rate for rate in range(3, 17) if rate != consume])  # filling and draining differ
    produce = consume + net
    capacity = rng.choice([32, 48, 96, 128, 256])
    return {"produce": produce, "consume": consume, "capacity": capacity, "round_kib": rng.randint(2, 9)}


def _ends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that enter a terminal state."""
    return [row for row in rows if row["next"] in TERMINAL and row["state"] not in TERMINAL]


def _acts_late(row: dict[str, Any]) -> bool:
    """Whether a row does more in a terminal state than discard."""
    return row["state"] in TERMINAL and bool({*row["actions"]} - {"discard"})


def _twice(rows: list[dict[str, Any]]) -> bool:
    return len({(row["state"], row["event"]) for row in rows}) < len(rows)


EXERCISE = Exercise(
    id="31.10",
    title="输出缓冲：填满之后",
    minutes=60,
    difficulty=3,
    statement="""
服务以每秒 {produce} KiB 生成输出，客户端以每秒 {consume} KiB 读取，输出缓冲的容量是 {capacity} KiB，开始时是空的。按匀速的流体计算。

- **a 计算**：从空到满的时间 `fill_seconds`；满了之后停止生成，读空需要的时间 `drain_seconds`；单位秒。实际上输出按轮到来：一轮开始后不能撤回，至多再产生 {round_kib} KiB，这期间客户端可能一点也不读。求高水位 `high_water`（KiB）：缓冲中已有的超过它，就不能再开始新的一轮。
- **b 推广**：写函数 `fill_time(produce, consume, capacity, filled)`：缓冲中已有 `filled` 时还要多少秒填满；永远填不满就返回 `None`。已经满了是 0 秒。
- **c 构造**：把一个流的输出缓冲写成转换表 `transitions`：一列 `{{"state": 状态, "event": 事件, "next": 下一状态, "actions": [动作, …]}}`。评分程序在外面用许多随机的读者驱动它：快的、慢的、停一阵又回来的、永远不读的、断开的。起始状态是 `generating`。表中没有的（状态，事件）一律忽略：状态不变，什么也不做。
- **d 解释**：为什么不能任缓冲增长，也不能丢掉词元继续送？为什么要记最后已确认的事件号？背压还要传到哪里？

状态：

| 状态 | 含义 |
|---|---|
| `generating` | 正常生成 |
| `paused` | 已停止新的生成，等客户端读 |
| `flushing` | 输出已全部生成并放进缓冲，只等客户端读完 |
| `completed`、`cancelled` | 终态：完整送达；已取消 |

事件：

| 事件 | 含义 |
|---|---|
| `chunk` | 一轮的输出到了，要么放进缓冲，要么丢弃；停止或取消之前已开始的一轮仍会送来 |
| `high-water` | 放入之后，缓冲达到高水位。留下的余地恰够途中的那一轮 |
| `low-water` | 客户端确认之后，缓冲回落到低水位 |
| `empty` | 客户端确认之后，缓冲空了 |
| `end` | 生成完了；紧跟在最后一个 `chunk` 之后，客户端还没有读它 |
| `cannot-pause` | 引擎对 `stop-generation` 的回答：这个请求不能暂停，它会继续生成 |
| `deadline` | 期限到了。它足够任何还在读的客户端（包括停一阵又回来的）读空一整个缓冲 |
| `disconnect` | 客户端断开 |

动作，按列出的次序执行：

| 动作 | 含义 |
|---|---|
| `append`、`discard` | 把这个 `chunk` 放进缓冲；丢弃它 |
| `stop-generation`、`resume-generation` | 不再开始新的一轮；重新开始 |
| `cancel-generation` | 取消生成，一定成功 |
| `start-deadline`、`clear-deadline` | 从现在起计期限（已有的作废）；撤销期限 |
| `record-outcome` | 记下这一行的 `next` 作为终态 |
| `record-acknowledged` | 记下客户端最后确认的事件号 |
| `release` | 释放缓冲和请求占用的资源；此后确认号也不在了 |

要求：缓冲从不超过容量；还在读的客户端得到完整的流；少了任何一个词元就不能叫 `completed`，它要求全部生成、全部确认；不再读的客户端不能永远占着资源；客户端断开就立即取消；到达终态时生成已经结束，终态与最后已确认的事件号各记一次，资源恰好释放一次；终态之后还会有迟到的事件，终态不变，除了 `discard` 什么也不做。

数值的相对误差不超过十亿分之一即可。可以用 Python 标准库、numpy 和 sympy；不可以用 labkit 的引擎。
""",
    given={"produce": 12, "consume": 4, "capacity": 64, "round_kib": 6},
    notes={
        "produce": "生成，KiB 每秒",
        "consume": "读取，KiB 每秒",
        "capacity": "缓冲容量，KiB",
        "round_kib": "一轮至多产生，KiB",
    },
    draw=draw,
    misconceptions={
        "drain-ignored": Misconception("填充时客户端也在读：净流入是生成减去读取。", "31.5"),
        "rates-added": Misconception("读取使缓冲变少，要从生成速率中减去，不是加上。", "31.5"),
        "still-producing": Misconception("停止生成之后没有流入，读空的时间只由读取速率决定。", "31.5"),
        "stop-at-the-top": Misconception("到顶才停太晚：途中的一轮还会到来，缓冲就溢出了。", "31.5"),
        "mark-minus-net": Misconception("高水位要假定客户端在这一轮里一点也不读，余地是整整一轮。", "31.5"),
        "never-fills-negative": Misconception(
            "读得不比生成慢，缓冲永远填不满；没有这个时间，它不是负数或 0。", "31.5"
        ),
        "filled-ignored": Misconception("缓冲里已有一部分，只需填满剩下的。", "31.5"),
        "two-rows": Misconception("同一个状态和事件有两行，不知道该按哪一行走。", "31.5"),
        "leaves-terminal": Misconception("终态不是最后的：有一行离开了它，或改写了它。", "31.5"),
        "acts-after-end": Misconception("终态之后迟到的事件还引起了动作；那时只能丢弃。", "31.5"),
        "overflow": Misconception("缓冲超过了容量：到高水位没有停止新的生成，积压没有上界。", "31.5"),
        "cannot-pause-ignored": Misconception(
            "引擎说不能暂停，生成还在继续，缓冲终会溢出；这时只能取消。", "31.5"
        ),
        "lost-called-full": Misconception(
            "丢了词元还叫完整的流：停止之前已经开始的一轮在暂停之后才到，也要放进缓冲。", "31.5"
        ),
        "tokens-lost": Misconception("有一轮的输出没有放进缓冲，词元丢了。", "31.5"),
        "appended-twice": Misconception("放进缓冲的不是刚到的那一轮，或者同一轮放了两次。", "31.5"),
        "completed-early": Misconception("生成完了不等于送达：客户端还没有确认全部词元。", "31.5"),
        "cancels-at-once": Misconception("到高水位就取消了只是慢一些的客户端；先暂停，给它期限。", "31.5"),
        "cancels-a-reader": Misconception("客户端还在读，没有断开，期限也没有到，流却取消了。", "31.5"),
        "pauses-too-soon": Misconception(
            "客户端跟得上，没有到高水位，却去暂停，遇到不能暂停的请求就取消了它。", "31.5"
        ),
        "never-resumes": Misconception("客户端读到了低水位，生成却没有恢复。", "31.5"),
        "stale-deadline": Misconception(
            "客户端已经追上，上一次暂停的期限还在走，后来取消了一个好好的流。", "31.5"
        ),
        "waits-forever": Misconception("客户端不再读，流永远停在那里占着资源：等待要有期限。", "31.5"),
        "flush-waits-forever": Misconception(
            "生成完了之后客户端不再读，流永远停在那里：读完剩下的也要有期限。", "31.5"
        ),
        "end-missed": Misconception("最后一轮可能在暂停之后才到，这时生成完了的消息没有人处理。", "31.5"),
        "never-completes": Misconception("全部词元都已确认，流却没有到达完成的终态。", "31.5"),
        "disconnect-ignored": Misconception("客户端已经断开，流没有立即取消。", "31.5"),
        "keeps-generating": Misconception("流已取消，生成还在继续或只是暂停：取消要传到引擎。", "31.5"),
        "not-released": Misconception("到了终态，资源没有释放。", "31.5"),
        "released-early": Misconception("还没有到终态就释放了缓冲。", "31.5"),
        "released-twice": Misconception("资源释放了两次。", "31.5"),
        "outcome-not-recorded": Misconception("没有恰好记一次终态。", "31.5"),
        "acknowledged-not-recorded": Misconception(
            "没有恰好记一次最后已确认的事件号；释放之后再记就已经没有了。", "31.5"
        ),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.5",
            answers=(
                Answer("fill_seconds", SECONDS),
                Answer("drain_seconds", SECONDS),
                Answer("high_water", Number("KiB")),
            ),
            hints=(
                Hint("drain-ignored", lambda a, g: near(a["fill_seconds"] * g["produce"], g["capacity"])),
                Hint(
                    "rates-added",
                    lambda a, g: a["fill_seconds"] * g["produce"] < Fraction(99, 100) * g["capacity"],
                ),
                Hint("still-producing", lambda a, g: near(a["drain_seconds"], a["fill_seconds"])),
                Hint("stop-at-the-top", lambda a, g: a["high_water"] >= g["capacity"]),
            ),
        ),
        Part(
            "b",
            "build",
            "31.5",
            answers=(Answer("fill_time", Function(Maybe(SECONDS), example=(9, 5, 40, 10)), points=2),),
            hints=(
                Hint("never-fills-negative", lambda a, g: (a["fill_time"](3, 5, 40, 10) or 0) < 0),
                Hint(
                    "filled-ignored",
                    lambda a, g: a["fill_time"](9, 5, 40, 10) == a["fill_time"](9, 5, 40, 20),
                ),
            ),
        ),
        Part(
            "c",
            "build",
            "31.5",
            answers=(Answer("transitions", Listing(ROW), points=6),),
            hints=(
                Hint("two-rows", lambda a, g: _twice(a["transitions"])),
                Hint(
                    "leaves-terminal",
                    lambda a, g: any(
                        r["state"] in TERMINAL and r["next"] != r["state"] for r in a["transitions"]
                    ),
                ),
                Hint(
                    "waits-forever",
                    lambda a, g: not any("start-deadline" in row["actions"] for row in a["transitions"]),
                ),
                Hint(
                    "not-released",
                    lambda a, g: any("release" not in row["actions"] for row in _ends(a["transitions"])),
                ),
                Hint("acts-after-end", lambda a, g: any(map(_acts_late, a["transitions"]))),
                Hint(
                    "released-early",
                    lambda a, g: any(
                        "release" in row["actions"] and row["next"] not in TERMINAL
                        for row in a["transitions"]
                    ),
                ),
                Hint(
                    "completed-early",
                    lambda a, g: any(
                        row["event"] == "end" and row["next"] == "completed"
                        for row in _ends(a["transitions"])
                    ),
                ),
                Hint(
                    "acknowledged-not-recorded",
                    lambda a, g: any(
                        "record-acknowledged" not in row["actions"] for row in _ends(a["transitions"])
                    ),
                ),
                Hint(
                    "outcome-not-recorded",
                    lambda a, g: any(
                        "record-outcome" not in row["actions"] for row in _ends(a["transitions"])
                    ),
                ),
            ),
        ),
        Part(
            "d",
            "explain",
            "31.5",
            manual=3,
        ),
    ),
)
