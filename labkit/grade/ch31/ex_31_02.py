"""Exercise 31.2: static and continuous batching when a round of one sequence is shorter than a round of two."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from labkit.grade import expressions
from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Choice, Expression, Function, Listing, Number, Record, near

MS = Number("毫秒")
NAMES = ("A", "B", "C")
TIMES = Record(dict.fromkeys((*NAMES, "mean"), MS))
FORMULA = Expression({"t1": "positive", "t2": "positive"})


def draw(rng: random.Random) -> Given:
    """Others of the same kind: a round of two takes longer than one, but not twice as long, and A is the longest by far.

    So every question has an answer of one kind, and the ratio of the mean is not that of the last completion.
    """
    b, c = rng.randint(1, 3), rng.randint(1, 3)
    one = rng.randint(4, 12)
    two = rng.randint(one + 2, 2 * one - 1)
    return {"remaining": [b + 2 * c + rng.randint(1, 3), b, c], "round_ms": [one, two]}


def _mean_is_not_theirs(*names: str) -> Hint:
    def when(answers: Mapping[str, Any], given: Given) -> bool:
        return any(
            not near(3 * answers[name]["mean"], sum(answers[name][who] for who in NAMES)) for name in names
        )

    return Hint("mean-of-three", when)


def _at(formula: Any, t1: int = 7, t2: Fraction = Fraction(11)) -> Fraction:
    """A formula's value at one point, to compare the student's own formulas with each other."""
    return Fraction(float(expressions.evaluate(formula, {"t1": Fraction(t1), "t2": t2})))


def _total_gain(answers: Mapping[str, Any]) -> Fraction:
    before, after = (sum(map(_at, answers[name])) for name in ("static_formula", "continuous_formula"))
    return Fraction(before - after)


def _latest(times: Mapping[str, Fraction]) -> Fraction:
    return max(times[name] for name in NAMES)


EXERCISE = Exercise(
    id="31.2",
    title="轮时随序列数变化的两种批处理",
    minutes=50,
    difficulty=2,
    statement="""
两个座位，三个请求 A、B、C 同时在 0 时刻到达，预填充都已完成，还要输出的词元数依次是 `remaining = {remaining}`。一轮给每条还没有输出完的序列产生一个词元。一轮的毫秒数取决于这一轮计算几条序列，见表 `round_ms = {round_ms}`：第 1 项是一条，第 2 项是两条。

约定：座位按 A、B、C 的次序分配；输出完的请求当轮末尾返回，完成时间从 0 时刻算起；组批、换人不花时间。**静态**策略等一批全部输出完才换下一批，**连续**策略在每轮末尾让等待者坐进空座位，下一轮就参加计算。静态策略的内核有三种：

| `kernel` | 一轮计算几条 |
|---|---|
| `"stop"` | 本批还没有输出完的成员 |
| `"members"` | 本批全部成员，输出完的也算到批末 |
| `"seats"` | 全部座位，空座位也照算 |

- **a 计算**：内核为 `"stop"`，求 `static` 和 `continuous`，各是字典 `{{"A": 毫秒, "B": 毫秒, "C": 毫秒, "mean": 三者的平均}}`。再用列表 `later` 写出换成连续策略后完成得更晚的请求（没有就写空列表）。
- **b 计算**：静态策略改用另外两种内核，求 `members` 和 `seats`，字典同上。
- **c 推导**：把表换成符号 `t1`（一条）和 `t2`（两条），词元数不变，内核为 `"stop"`。写出完成时间 `static_formula`、`continuous_formula`（各是 A、B、C 三个 sympy 表达式的列表），静态减连续的平均完成时间 `gain`，连续减静态的 A 的完成时间 `delay_a`，以及使 `gain` 为 0 的比值 `t2/t1`，记作 `break_even`。
- **d 构造**：写函数 `static_ms(remaining, round_ms, kernel)` 和 `continuous_ms(remaining, round_ms)`，返回各请求完成毫秒数的列表。请求数任意，每个至少还要输出一个词元；座位数等于表的项数，计算 n 条的一轮用第 n 项。
- **e 解释**：若假设每轮一样长，会看不到什么？平均完成时间是否总由连续策略占优？内核接着计算时，a 的结果为什么不能沿用？

数值的相对误差不超过十亿分之一即可，表达式写成什么形状都行。可以用 Python 标准库、numpy 和 sympy，不能用 labkit。
""",
    given={"remaining": [4, 1, 1], "round_ms": [6, 10]},
    notes={
        "remaining": "A、B、C 还要输出的词元数",
        "round_ms": "计算一条、两条序列的一轮，毫秒",
    },
    draw=draw,
    misconceptions={
        "fixed-round": Misconception("轮时取决于这一轮计算几条序列，不是每轮都一样长。", "31.2"),
        "held": Misconception("静态批处理不禁止提前返回：先输出完的请求当轮就返回，不必等到批末。", "31.2"),
        "from-start": Misconception("完成时间从到达算起，要包含等座位的时间，不是从坐下那一刻算起。", "31.2"),
        "no-refill": Misconception("连续策略在空座位出现后的下一轮就补入等待者，不等整批结束。", "31.2"),
        "refilled": Misconception("静态策略在一批结束前不补入新请求。", "31.2"),
        "late-join": Misconception("座位在轮末空出，等待者下一轮就参加计算，中间不空一轮。", "31.2"),
        "shortest-first": Misconception("座位按到达次序分配，不按剩余长度排序。", "31.2"),
        "finished-still-counted": Misconception(
            "这种内核里，输出完的成员不再参加计算，轮时按剩下的条数查表。", "31.2"
        ),
        "computing-ignored": Misconception(
            "没有区分内核：有的内核对输出完的成员或空座位照样计算，轮时要按实际计算的条数重新计。", "31.2"
        ),
        "empty-seat-ignored": Misconception("空座位也参加计算时，每一轮都按全部座位计时。", "31.2"),
        "empty-seat-counted": Misconception("只算本批成员时，从未坐人的座位不参加计算。", "31.2"),
        "mean-of-three": Misconception(
            "平均完成时间是三个请求完成时间的平均，不是总时长除以请求数。", "31.2"
        ),
        "seconds": Misconception("单位是毫秒，不是秒。", "31.2"),
        "not-slower": Misconception(
            "逐个请求比较：平均变好，不等于每个请求都变早；共用一轮的请求要承受更长的轮时。", "31.2"
        ),
        "later-is-earlier": Misconception("要找的是换成连续策略后更晚的请求，不是更早的。", "31.2"),
        "sign": Misconception("差的方向反了，看清谁减谁。", "31.2"),
        "sum-not-mean": Misconception("比较的是平均完成时间，不是三个完成时间之和。", "31.2"),
        "numbers-not-symbols": Misconception("轮时要保留符号，代入数值就看不出结论何时改变。", "31.2"),
        "ratio-inverted": Misconception("要的是两条一轮的时间与一条一轮的时间之比，分子分母颠倒了。", "31.2"),
        "not-a-root": Misconception("把自己的比值代入自己的 gain，得到的不是 0。", "31.2"),
        "ratio-of-makespan": Misconception(
            "这个比值使最后一个请求的完成时间相等。题目比较的是平均完成时间。", "31.2"
        ),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.2",
            answers=(
                Answer("static", TIMES, points=2),
                Answer("continuous", TIMES, points=2),
                Answer("later", Listing(Choice(NAMES))),
            ),
            hints=(
                Hint("seconds", lambda a, g: _latest(a["static"]) < g["round_ms"][0]),
                _mean_is_not_theirs("static", "continuous"),
                Hint("held", lambda a, g: near(a["static"]["A"], a["static"]["B"])),
                Hint("from-start", lambda a, g: a["static"]["C"] < a["static"]["B"]),
                Hint("no-refill", lambda a, g: near(a["static"]["C"], a["continuous"]["C"])),
                Hint(
                    "fixed-round", lambda a, g: near(a["static"]["A"], g["remaining"][0] * g["round_ms"][1])
                ),
                Hint(
                    "not-slower",
                    lambda a, g: any(
                        (a["continuous"][n] > a["static"][n]) != (n in a["later"]) for n in NAMES
                    ),
                ),
            ),
        ),
        Part(
            "b",
            "compute",
            "31.2",
            answers=(Answer("members", TIMES, points=2), Answer("seats", TIMES, points=2)),
            hints=(
                _mean_is_not_theirs("members", "seats"),
                Hint("held", lambda a, g: near(a["members"]["A"], a["members"]["B"])),
                Hint("empty-seat-ignored", lambda a, g: near(a["members"]["C"], a["seats"]["C"])),
            ),
        ),
        Part(
            "c",
            "derive",
            "31.2",
            answers=(
                Answer("static_formula", Listing(FORMULA, 3), points=2),
                Answer("continuous_formula", Listing(FORMULA, 3), points=2),
                Answer("gain", FORMULA),
                Answer("delay_a", FORMULA),
                Answer("break_even", Number()),
            ),
            hints=(
                Hint(
                    "numbers-not-symbols", lambda a, g: not any(map(expressions.names, a["static_formula"]))
                ),
                Hint(
                    "fixed-round",
                    lambda a, g: not any("t1" in expressions.names(f) for f in a["static_formula"]),
                ),
                Hint("held", lambda a, g: near(_at(a["static_formula"][0]), _at(a["static_formula"][1]))),
                # The student's own formulas, compared with each other.
                Hint("sum-not-mean", lambda a, g: near(_at(a["gain"]), _total_gain(a))),
                Hint("sign", lambda a, g: near(3 * _at(a["gain"]), -_total_gain(a))),
                Hint("ratio-inverted", lambda a, g: 0 < a["break_even"] < 1),
                Hint("not-a-root", lambda a, g: not near(_at(a["gain"], 1, a["break_even"]), 0)),
            ),
        ),
        Part(
            "d",
            "build",
            "31.2",
            answers=(
                Answer("static_ms", Function(Listing(MS), example=([3, 1, 2, 1], [5, 8], "stop")), points=4),
                Answer("continuous_ms", Function(Listing(MS), example=([3, 1, 2, 1], [5, 8])), points=4),
            ),
            hints=(
                # Each compares two calls: what must make a difference has to make one.
                Hint("held", lambda a, g: len(set(a["static_ms"]([3, 1], [5, 8], "stop"))) == 1),
                Hint(
                    "from-start",
                    lambda a, g: (
                        len(set(a["static_ms"]([2, 2], [5], "stop"))) == 1
                        or len(set(a["continuous_ms"]([2, 2], [5]))) == 1
                    ),
                ),
                Hint(
                    "fixed-round",
                    lambda a, g: (
                        a["static_ms"]([2], [5, 8], "stop") == a["static_ms"]([2], [7, 8], "stop")
                        or a["continuous_ms"]([2], [5, 8]) == a["continuous_ms"]([2], [7, 8])
                    ),
                ),
                Hint(
                    "computing-ignored",
                    lambda a, g: (
                        a["static_ms"]([3, 1, 2], [5, 8], "stop")
                        == a["static_ms"]([3, 1, 2], [5, 8], "members")
                    ),
                ),
                Hint(
                    "empty-seat-ignored",
                    lambda a, g: (
                        a["static_ms"]([3, 1, 2], [5, 8], "members")
                        == a["static_ms"]([3, 1, 2], [5, 8], "seats")
                    ),
                ),
                Hint(
                    "no-refill",
                    lambda a, g: (
                        list(a["static_ms"]([3, 1, 2], [5, 8], "stop"))
                        == list(a["continuous_ms"]([3, 1, 2], [5, 8]))
                    ),
                ),
            ),
        ),
        Part(
            "e",
            "explain",
            "31.2",
            manual=3,
        ),
    ),
)
