"""Exercise 31.11: an event handler that cancelled requests cannot outlive, and the orders that break faulty ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.grade import values
from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Choice, Function, Listing, Maybe, Record, Whole

REQUESTS, PAGES = ("r", "s"), ("p", "q")
FIELDS: dict[str, tuple[str, ...]] = {
    "acquire": ("request", "page", "number", "generation"),
    "release": ("request", "page", "number"),
    "launch": ("page", "generation"),
    "fence": ("page", "generation"),
    "cancel": ("request",),
    "finish": ("request",),
    "preempted": ("request",),
}
ACTIONS = (
    "end-cancelled", "end-finished", "report-cancelled", "report-finished", "enqueue", "drop", "recycle", "refuse",
)  # fmt: skip
LONGEST = 10


@dataclass(frozen=True)
class PlainData:
    """Whatever may cross as plain data: the layout of a state is the student's own."""

    def describe(self) -> str:
        """See Form."""
        return "朴素数据"

    def read(self, value: Any) -> Any:
        """See Form."""
        return value

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        return bool(given == expected)


ACTION = Record({"do": Choice(ACTIONS), "of": Choice((*REQUESTS, *PAGES))})
EVENT = Record(
    {
        "kind": Choice(tuple(FIELDS)),
        "request": Maybe(Choice(REQUESTS)),
        "page": Maybe(Choice(PAGES)),
        "number": Maybe(Whole()),
        "generation": Maybe(Whole()),
    }
)


def event(kind: str, *fields: Any) -> Given:
    """An event as data: the fields that its kind has, in the order of FIELDS; None in the others."""
    made: Given = dict.fromkeys(("request", "page", "number", "generation"))
    return {"kind": kind, **made, **dict(zip(FIELDS[kind], fields, strict=True))}


def in_order(events: Sequence[Given]) -> bool:
    """Whether senders can have sent this: no release before its acquisition, no fence before its launch."""
    seen: set[tuple[Any, ...]] = set()
    for one in events:
        fields = tuple(one[name] for name in FIELDS[one["kind"]])
        if None in fields:
            return False
        if one["kind"] == "acquire":
            request, page, number, _ = fields
            if number < 1 or (number > 1 and ("acquire", request, page, number - 1) not in seen):
                return False
            fields = fields[:3]
        elif (one["kind"] == "release" and ("acquire", *fields) not in seen) or (
            one["kind"] == "fence" and ("launch", *fields) not in seen
        ):
            return False
        if (one["kind"], *fields) in seen and one["kind"] in ("acquire", "launch", "preempted"):
            return False
        seen.add((one["kind"], *fields))
    return len(events) <= LONGEST


def _differs_as_data(handle: Any) -> bool:
    """Whether the handler goes on differently once its state has travelled as plain data."""
    kept: Any = {}
    sent: Any = {}
    for one in (
        event("acquire", "r", "p", 1, 0),
        event("release", "r", "p", 1),
        event("release", "r", "p", 1),
    ):
        first, second = handle(kept, dict(one)), handle(sent, dict(one))
        if first["actions"] != second["actions"]:
            return True
        kept, sent = first["state"], values.decode(values.encode(second["state"]))
    return False


def _second(handle: Any, kind: str) -> list[str]:
    """What the handler does with an event of this kind for a request that was cancelled before."""
    after = handle({}, event("cancel", "r"))["state"]
    return [action["do"] for action in handle(after, event(kind, "r"))["actions"]]


def _out_of_order(name: str) -> Hint:
    return Hint("not-sendable", lambda a, g: not in_order(a[name]))


BREAKS = ("breaks_key", "breaks_queue", "breaks_fence", "breaks_generation")

EXERCISE = Exercise(
    id="31.11",
    title="取消、释放与重新入队：经得起任何次序的处理器",
    minutes=100,
    difficulty=3,
    statement="""
请求 `r`、`s` 引用物理页 `p`、`q`，一页可以由两者共享。取消、完成、抢占、释放、设备完成的消息各从各处来，次序不定，有的迟到，有的重复。写一个处理器，让已终止的请求不会复活，每次取得恰好释放一次，还有人在用的页不被回收。

**事件**是字典，总有五个键 `kind`、`request`、`page`、`number`、`generation`，用不到的是 `None`：

| `kind` | 用到的键 | 含义 |
|---|---|---|
| `acquire` | `request`、`page`、`number`、`generation` | 请求要取得页的一次引用。这是它第 `number` 次取得这一页（每对请求和页从 1 数起）；`generation` 是发出时看到的页代次 |
| `release` | `request`、`page`、`number` | 归还第 `number` 次取得 |
| `launch` | `page`、`generation` | 设备开始在这一页上读写 |
| `fence` | `page`、`generation` | 设备确认这些读写已经结束 |
| `cancel`、`finish` | `request` | 客户端取消；生成完成 |
| `preempted` | `request` | 抢占已完成，要求重新入队 |

`cancel`、`finish`、`release`、`fence` 可能重复送达。`acquire`、`preempted` 不重复；同一页同一代次至多一次 `launch`。事件之间只有这些次序有保证：`release` 在它的 `acquire` 之后，`fence` 在它的 `launch` 之后，同一对请求和页的 `acquire` 按 `number` 的次序；消息里的代次不会超前于页的当前代次。同一请求可以同时持有同一页两次。

**动作**是 `{{"do": 做什么, "of": 请求或页的名字}}`：

| `do` | 何时 |
|---|---|
| `end-cancelled`、`end-finished` | 请求到达终态；先到的决定是哪一个 |
| `report-cancelled`、`report-finished` | 已有终态的请求又来 `cancel` 或 `finish`：读出记录回答 |
| `enqueue` | 请求重新入队 |
| `drop` | 页的一次引用释放 |
| `recycle` | 页回收：没有引用，也没有未确认的设备读写。与使条件成立的那个动作或事件同时，排在 `drop` 之后 |
| `refuse` | 拒绝这个事件。`of` 是事件的页；没有页时是请求 |

接受 `acquire`、`launch`、`fence` 本身不产生动作，是空列表。页的代次从 0 起，每回收一次加 1。

**要保证的**：终态只到达一次，从不改变。终止了的请求不再取得页，不再入队；它已有的引用仍要由 `release` 归还。每次成功的取得恰好 `drop` 一次；取得被拒的，归还也被拒。代次不是当前代次的事件一律拒绝。没有引用的页不能 `launch`；没有未确认的读写时，`fence` 被拒。

- **a 构造**：`handle(state, event)`，返回 `{{"state": 新状态, "actions": [动作, …]}}`。第一次的 `state` 是空字典 `{{}}`，其余由你设计，但必须是朴素数据（数、字符串、`None`、列表、字典，字典的键是字符串；元组回来时变成列表），一切记忆都在其中。评分程序从外面以各种可能的次序驱动它。
- **b 找反例**：下面四个处理器各有一处错误，其余正确。为每个写出一列事件，使它的动作在**最后一个**事件上第一次与正确的不同。不超过 10 个事件，符合上面保证的次序，可用给出的 `make` 来写。
  - `breaks_key`：释放记录以（请求，页）为键：同一对第二次释放当作重复而拒绝。
  - `breaks_queue`：取消记下终态，并把请求从等待队列中删除；`preempted` 来时不再看终态，直接入队。
  - `breaks_fence`：引用归零就回收，不等设备确认。
  - `breaks_generation`：`fence` 不看代次，只要这一页有未确认的读写就当作确认。
- **c 解释**：证明任何次序之下都没有请求复活，也没有一次取得释放两次。真的并发时，到达终态这一步要怎样做？为什么（请求，页）不够做键，为什么只从队列中删除不够？

可以用 Python 标准库、numpy 和 sympy；不可以用 labkit 的调度与页表。
""",
    misconceptions={
        "not-plain": Misconception(
            "状态不是朴素数据：它来回一趟就变了样，例如元组变成列表，再用 `in` 就找不到。", "31.6"
        ),
        "outside-state": Misconception("记忆放在了 `state` 之外：同样的状态和事件，两次的结果不同。", "31.6"),
        "ends-twice": Misconception("终态到达了两次。它只由先到的决定，要比较并设置，不能直接写入。", "31.6"),
        "record-not-read": Misconception("重复的取消或迟到的完成应读出已有的终态记录来回答。", "31.6"),
        "not-ended": Misconception("请求没有终态，取消或完成应使它到达终态。", "31.6"),
        "revived": Misconception(
            "已终止的请求又入队了：迟到的抢占完成要先看终态，从队列中删除一次不够。", "31.6"
        ),
        "not-enqueued": Misconception("还没有终止的请求被抢占后没有回到队列。", "31.6"),
        "terminal-acquires": Misconception("已终止的请求又取得了页。", "31.6"),
        "terminal-keeps-pages": Misconception("请求终止之后，它持有的引用没有归还：资源泄漏。", "31.6"),
        "key-without-acquisition": Misconception(
            "同一请求归还一页后又取得它，第二次归还被当成重复：键里少了是第几次取得，引用泄漏。", "31.6"
        ),
        "holds-only-once": Misconception("同一请求同时持有同一页两次，后一次把前一次盖掉了。", "31.6"),
        "key-without-request": Misconception("把另一个请求的释放当成了重复：键里少了是谁的引用。", "31.6"),
        "released-twice": Misconception("同一次取得释放了两次，别人的引用会被它减掉。", "31.6"),
        "not-released": Misconception(
            "头一次归还没有释放引用。若在自己的笔记本里是对的，看看状态里有没有元组：它回来时变成列表。",
            "31.6",
        ),
        "release-of-refused": Misconception("取得被拒绝，就没有可归还的引用。", "31.6"),
        "recycled-in-flight": Misconception("设备的读写还没有确认结束，页就回收了。", "31.6"),
        "recycled-while-shared": Misconception("还有别的引用，共享的页就回收了。", "31.6"),
        "never-recycled": Misconception(
            "既没有引用也没有在途读写的页没有回收；后到的那个条件也要触发回收。", "31.6"
        ),
        "old-generation": Misconception("接受了旧代次的事件：页已回收再用，它说的是从前的那一页。", "31.6"),
        "generation-not-advanced": Misconception("拒绝了当前代次的事件：回收时页的代次没有前进。", "31.6"),
        "launch-without-reference": Misconception("没有任何引用的页上不能开始设备读写。", "31.6"),
        "fence-twice": Misconception("没有未确认的读写，却接受了设备完成。", "31.6"),
        "not-sendable": Misconception(
            "这列事件不可能发生：次序、编号、代次不合题目的保证，或者太长。", "31.6"
        ),
        "does-not-break": Misconception("在这列事件上，有错的处理器与正确的动作完全相同。", "31.6"),
        "breaks-earlier": Misconception("在最后一个事件之前动作就已经不同；截到第一次不同为止。", "31.6"),
    },
    parts=(
        Part(
            "a",
            "build",
            "31.6",
            answers=(
                Answer(
                    "handle",
                    Function(
                        Record({"state": PlainData(), "actions": Listing(ACTION)}),
                        example=({}, event("acquire", "r", "p", 1, 0)),
                    ),
                    points=8,
                ),
            ),
            hints=(
                Hint(
                    "outside-state",
                    lambda a, g: (
                        a["handle"]({}, event("cancel", "r")) != a["handle"]({}, event("cancel", "r"))
                    ),
                ),
                Hint("ends-twice", lambda a, g: "end-cancelled" in _second(a["handle"], "cancel")),
                Hint("revived", lambda a, g: "enqueue" in _second(a["handle"], "preempted")),
                Hint("not-plain", lambda a, g: _differs_as_data(a["handle"])),
            ),
        ),
        Part(
            "b",
            "build",
            "31.6",
            answers=(
                Answer("breaks_key", Listing(EVENT), points=2),
                Answer("breaks_queue", Listing(EVENT)),
                Answer("breaks_fence", Listing(EVENT)),
                Answer("breaks_generation", Listing(EVENT), points=2),
            ),
            hints=tuple(map(_out_of_order, BREAKS)),
        ),
        Part(
            "c",
            "explain",
            "31.6",
            manual=5,
        ),
    ),
)
