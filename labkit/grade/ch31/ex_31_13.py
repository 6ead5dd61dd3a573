"""Exercise 31.13: four signals side by side, the cause behind a bad tail, its lever, and what to do meanwhile."""

from __future__ import annotations

import random
from typing import Any

from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Choice, Function, Listing, Maybe, Number, Record, Whole

MICROSECONDS = Number("微秒")
CAUSES = ("持续超载", "长提示阻塞解码", "慢客户端")
STAGES = ("预填充", "解码")
LEVERS = (
    "限制准入",
    "增加饱和阶段的容量",
    "分块预填充",
    "设阶段预算并保留预填充份额",
    "让背压传到入口",
    "传播取消并释放资源",
    "增加 KV 显存",
    "加大输出缓冲",
    "解码总是优先",
    "放宽期限",
)
INTERIM = ("按队列预算和期限排队或拒绝", "上线后核对积压消退", "先全部接纳", "把已下单的容量计入服务率")
SMALL: list[list[Any]] = [
    [0, "submit", "a", 8, True],
    [0, "admit", "a"],
    [20, "token", "a", 1],
    [20, "round", 0, [["a", 8, "prefill"]], 3],
    [30, "token", "a", 2],
    [30, "round", 20, [["a", 1, "decode"]], 3],
    [30, "finish", "a"],
    [40, "until"],
]


def draw(rng: random.Random) -> Given:
    """Another shortage: some are turned away, and the new capacity is enough."""
    served = rng.choice([4, 5, 8, 10])
    arrivals = served + rng.choice([2, 4, 5])
    delay = rng.choice([20, 30, 40, 60])
    return {
        "arrivals": arrivals,
        "served_now": served,
        "delay": delay,
        "served_later": arrivals + rng.choice([3, 4, 6]),
        "room": (arrivals - served) * delay // 2 + rng.randint(-5, 4),
    }


EXERCISE = Exercise(
    id="31.13",
    title="显存还有余，尾延迟却在变坏",
    minutes=100,
    difficulty=3,
    statement="""
一个服务显存还有余量，尾延迟却一直变坏。三种病都可能是原因：持续超载、长提示阻塞解码、慢客户端造成的输出积压；也可能几种病并存，或者其实没病。本题从日志里取出四个信号，并排比较，作出诊断，选出对症的手段，再定下扩容生效之前的规矩。

## 日志

`events` 是一份观察的日志，由 labkit.journal/1 压成紧凑的列表，按发生次序排好。每项是 `[时刻, 种类, …]`，时刻是整数**微秒**；观察从 0 开始，到 `until` 的时刻结束。

| 项 | 意思 |
|---|---|
| `[t, "submit", id, 提示长度, direct]` | 请求到达。`direct` 为真：词元一出来客户端就收到，没有 `deliver`，不占输出缓冲 |
| `[t, "admit", id]` | 得到座位，不再排队（本题没有拒绝、取消和抢占） |
| `[t, "round", start, items, free]` | 一轮从 `start` 跑到 `t`；`items` 每项是 `[id, 新位置数, "prefill" 或 "decode"]`；`free` 是既没占用也没预留的 KV 页数 |
| `[t, "token", id, k]` | 生成第 k 个词元 |
| `[t, "deliver", id, k]` | 客户端读走第 k 个词元 |
| `[t, "finish", id]` | 生成完毕；缓冲里可能还有没读走的词元 |
| `[t, "until"]` | 观察结束 |

同一时刻的几个事件全部处理完，才算是“那一时刻”的状态。

## a 信号

写函数 `signals(events, times)`，返回字典，时间单位都是微秒：

- `queue_age`：列表，`times` 中每个时刻的队首年龄，即排队最久的请求已经排了多久；没有人排队时为 0。
- `chunk_time`：含有预填充的轮中最长的轮时；没有这样的轮时为 `None`。
- `token_gap`：同一个请求相邻两个词元的生成间隔，取所有请求中最长的；没有间隔时为 `None`。
- `output_buffer`：一个请求已经生成而客户端还没有读走的词元数，取所有请求、所有时间中最大的。

## b 诊断

- `levers`：字典，键是 `持续超载`、`长提示阻塞解码`、`慢客户端`，值是对症手段的列表，各选**两项**，次序不论。可选：`限制准入`、`增加饱和阶段的容量`、`分块预填充`、`设阶段预算并保留预填充份额`、`让背压传到入口`、`传播取消并释放资源`、`增加 KV 显存`、`加大输出缓冲`、`解码总是优先`、`放宽期限`。
- `diagnose(events)` 返回字典：
  - `causes`：病的列表，取自上面三种，可以有几个，没病就是空列表；
  - `stage`：持续超载时饱和的阶段，`预填充` 或 `解码`，以新位置数占多数的为准；没有超载就是 `None`；
  - `levers`：所有病的对症手段合在一起；
  - `interim`：扩容生效前后的规矩，取自 `按队列预算和期限排队或拒绝`、`上线后核对积压消退`、`先全部接纳`、`把已下单的容量计入服务率`；该守的都列出；没有超载就是空列表。

隐藏的日志是引擎新跑出来的，时间尺度从毫秒到秒不等，长度、座位数、到达率也各不相同，所以写死“多少微秒算慢”行不通：同一份日志放慢一千倍，诊断应当不变。它们不会模棱两可：

| 病 | 有 | 没有 |
|---|---|---|
| 持续超载 | 后半段一直有人排队，结束时的队首年龄超过观察时长的四分之一 | 最后四分之一的时间里，队列空过 |
| 长提示阻塞解码 | 有一轮既有预填充又有别的请求在解码，轮时不小于全部轮时中位数的 5 倍 | 既有预填充又有解码的轮，轮时都不超过中位数的 2.5 倍 |
| 慢客户端 | 有请求积下至少 8 个没读走的词元 | 没读走的词元从不超过 2 个 |

没病的日志里也会有看起来吓人的东西：一阵很快消化掉的突发；很长但分了块、或独自计算的提示；读得及时的客户端；用光的显存。有病的日志里显存可能很空。

## c 扩容生效之前

请求每秒到 {arrivals} 个，眼下每秒只能完成 {served_now} 个。新机器已经下单，{delay} 秒后才能服务，那时每秒共完成 {served_later} 个，到达率不变。按流体近似（不计随机波动），从没有积压时算起：

- `waiting_room`：字典。`backlog`：来者不拒，到新机器生效时积压多少个请求；`drain`：此后多少秒消化完；`refused`：若队列最多容 {room} 个，满了就拒，到生效时共拒了多少个；`drain_with_room`：这种做法下，生效后多少秒消化完。
- `at_door(now, deadline, ahead, own, margin, queued, room, capacities)`：请求到达时返回 `"排队"` 或 `"拒绝"`。`now`、`deadline` 是绝对时刻（秒）；`ahead` 是排在前面的工作量，`own` 是它自己的工作量；`margin` 是余量（秒）；`queued` 是已在排队的个数，`room` 是队列预算；`capacities` 是 `[生效时刻, 每秒完成的工作量]` 的列表。规矩：排队数已到预算就拒绝；否则只凭此刻已经生效的容量（生效时刻 ≤ `now`，速率相加）估计，前面的做完再做自己的，加上余量仍不晚于期限就排队（恰好相等算来得及），不然就拒绝。没有已生效的容量就拒绝。
- `drained_at(events, live_at)`：核对积压确实消退。返回不早于 `live_at`（微秒）、没有人排队的第一个时刻；到观察结束都没有，返回 `None`。`events` 的形式同上（`live_at` 时就没有人排队，返回 `live_at`）。

## d 解释

你怎样做这次诊断：在什么负载下、并排看哪些信号、各指向哪一种病？为什么显存余量不能证明容量够用？扩容生效之前怎样处置？

数值的相对误差不超过十亿分之一即可。可以用 Python 标准库、numpy 和 sympy，不可以用 labkit。
""",
    given={"arrivals": 12, "served_now": 8, "delay": 30, "served_later": 16, "room": 50},
    notes={
        "arrivals": "到达，每秒个数",
        "served_now": "眼下完成，每秒个数",
        "delay": "新机器多久后生效，秒",
        "served_later": "生效后完成，每秒个数",
        "room": "队列预算，个",
    },
    draw=draw,
    misconceptions={
        "any-round": Misconception(
            "预填充的轮时只看含有预填充的轮；把纯解码的轮也算进来，就看不出是谁拖长了一轮。", "31.3"
        ),
        "pooled-gap": Misconception(
            "词元间隔是同一个请求的两个词元之间的，不是全服务相邻两个词元之间的。", "31.7"
        ),
        "in-system": Misconception("队首年龄只看还在排队的请求；已经得到座位的正在服务，不是排队。", "31.7"),
        "direct-unread": Misconception(
            "direct 的词元一生成客户端就收到，不在输出缓冲里；缓冲里只有生成了还没读走的。", "31.5"
        ),
        "fixed-threshold": Misconception(
            "把同一份日志整体放慢，诊断就变了：阈值写成了固定的时间。应与同一份日志里的其他量相比。", "31.7"
        ),
        "memory-is-capacity": Misconception(
            "显存余量说明不了计算和输出路径的能力：显存满不等于超载，显存空也不等于能按时完成。", "31.7"
        ),
        "spike-is-overload": Misconception(
            "队列有过一阵高峰，后来消化掉了，这是突发，不是持续超载。要看队首年龄是否一直增长。", "31.5"
        ),
        "length-is-blocking": Misconception(
            "提示长不等于阻塞。分了块的长提示每轮只占一点时间，并不拖住解码；要看轮时。", "31.3"
        ),
        "nobody-blocked": Misconception("那一轮虽长，却没有别的请求在解码，没有谁被它拖住。", "31.3"),
        "gap-is-prompt": Misconception(
            "词元间隔变长不一定是长提示：读得慢的客户端缓冲满了，它自己的生成也会停。要与轮时并排看。", "31.5"
        ),
        "reader-is-slow": Misconception("有客户端在读，不等于读得慢。要看没读走的词元是否积了起来。", "31.5"),
        "one-cause": Misconception("几种病可以并存，找到一种还要看其余的信号。", "31.7"),
        "missed": Misconception("有一份病得很明显的日志被判为没病。逐一对照四个信号。", "31.7"),
        "false-alarm": Misconception("把一份没有这种病的日志判成了有。逐一对照四个信号。", "31.7"),
        "wrong-stage": Misconception(
            "超载时要说出是哪个阶段饱和，容量才加得对：看执行的新位置里哪个阶段占多数；没有超载就没有饱和的阶段。",
            "31.7",
        ),
        "wrong-lever": Misconception(
            "手段与病不对应。超载要管入口和容量，长提示要管分块和份额，慢客户端要管背压和取消。", "31.7"
        ),
        "bigger-buffer": Misconception(
            "加大输出缓冲只是晚一点满。客户端读得慢于生成，多大的缓冲都会满。", "31.5"
        ),
        "prefill-starved": Misconception("解码总是优先，等待的提示就没有份额，首词元会一直等下去。", "31.3"),
        "looser-deadline": Misconception("放宽期限改的是目标，不是服务；积压照样增长。", "31.7"),
        "interim": Misconception(
            "扩容要时间。超载时，生效前按队列预算和期限排队或拒绝，生效后还要核对积压真的消退；没有超载就不需要。",
            "31.5",
        ),
        "counted-early": Misconception(
            "新机器还没有就绪就不能计入服务能力，生效之前只有原来的容量。", "31.5"
        ),
        "arrivals-stop": Misconception(
            "消化积压时新请求还在来，能用来消化的只是服务率与到达率之差。", "31.5"
        ),
        "all-arrivals": Misconception("积压是到达与完成之差，不是到达的总数。", "31.5"),
        "room-twice": Misconception(
            "满了才拒：积压里超出队列预算的才是被拒的，消化的也只有留在队列里的。", "31.5"
        ),
        "own-forgotten": Misconception("按期完成要算上它自己的服务时间，不只是等待。", "31.5"),
        "margin-forgotten": Misconception("估计会有误差，余量要算进去。", "31.5"),
        "no-queue-limit": Misconception("队列到了预算就要拒绝，期限宽裕也不例外。", "31.5"),
        "deadline-from-now": Misconception("期限是绝对时刻，剩下的时间要从现在算起。", "31.5"),
        "on-time-refused": Misconception("恰好在期限完成算来得及。", "31.5"),
        "before-live": Misconception("扩容生效以前队列空过，不能证明积压在扩容以后消退。", "31.5"),
        "server-empty": Misconception("积压指排队的请求。正在服务的请求没有走光，并不说明还有积压。", "31.5"),
        "at-end": Misconception("要的是积压第一次消尽的时刻，不是观察结束的时刻。", "31.5"),
    },
    parts=(
        Part(
            "a",
            "build",
            "31.7",
            answers=(
                Answer(
                    "signals",
                    Function(
                        Record(
                            {
                                "queue_age": Listing(MICROSECONDS),
                                "chunk_time": Maybe(MICROSECONDS),
                                "token_gap": Maybe(MICROSECONDS),
                                "output_buffer": Whole(),
                            }
                        ),
                        example=(SMALL, [0, 25, 40]),
                    ),
                    points=4,
                ),
            ),
            hints=(
                Hint("direct-unread", lambda a, g: a["signals"](SMALL, [])["output_buffer"] > 0),
                Hint("in-system", lambda a, g: max(a["signals"](SMALL, [25])["queue_age"]) > 0),
            ),
        ),
        Part(
            "b",
            "build",
            "31.7",
            answers=(
                Answer("levers", Record({cause: Listing(Choice(LEVERS), 2) for cause in CAUSES}), points=2),
                Answer(
                    "diagnose",
                    Function(
                        Record(
                            {
                                "causes": Listing(Choice(CAUSES)),
                                "stage": Maybe(Choice(STAGES)),
                                "levers": Listing(Choice(LEVERS)),
                                "interim": Listing(Choice(INTERIM)),
                            }
                        ),
                        example=(SMALL,),
                    ),
                    points=5,
                ),
            ),
            hints=(
                Hint(
                    "memory-is-capacity",
                    lambda a, g: any("增加 KV 显存" in each for each in a["levers"].values()),
                ),
                Hint(
                    "bigger-buffer", lambda a, g: any("加大输出缓冲" in each for each in a["levers"].values())
                ),
                Hint("false-alarm", lambda a, g: bool(a["diagnose"](SMALL)["causes"])),
            ),
        ),
        Part(
            "c",
            "build",
            "31.5",
            answers=(
                Answer(
                    "waiting_room",
                    Record(
                        {
                            "backlog": Number("个"),
                            "drain": Number("秒"),
                            "refused": Number("个"),
                            "drain_with_room": Number("秒"),
                        }
                    ),
                    points=2,
                ),
                Answer(
                    "at_door",
                    Function(
                        Choice(("排队", "拒绝")),
                        example=(10, 60.0, 12, 4, 0.5, 3, 8, [[0, 2], [15, 6]]),
                    ),
                    points=3,
                ),
                Answer("drained_at", Function(Maybe(MICROSECONDS), example=(SMALL, 10)), points=2),
            ),
            hints=(
                Hint("counted-early", lambda a, g: a["waiting_room"]["backlog"] == 0),
                Hint(
                    "room-twice",
                    lambda a, g: a["waiting_room"]["drain_with_room"] >= a["waiting_room"]["drain"],
                ),
            ),
        ),
        Part(
            "d",
            "explain",
            "31.7",
            manual=4,
        ),
    ),
)
