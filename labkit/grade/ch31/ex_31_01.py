"""Exercise 31.1: the measures of one request, and which of them may be added."""

from __future__ import annotations

import random
from fractions import Fraction

from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Choice, Function, Listing, Maybe, Number, Record, Truth, near

SECONDS = Number("秒")
STAGES = ("等待", "首词元时延减等待", "首词元时延", "解码间隔之和")
SLACK = Fraction(1, 10**6)


def draw(rng: random.Random) -> Given:
    """Other numbers: every time a decimal with two digits, arrival before start before first before last."""
    arrival = Fraction(rng.randint(1, 50), 10)
    start = arrival + Fraction(rng.randint(1, 9), 10)
    first = start + Fraction(rng.randint(1, 9), 10)
    count = rng.choice([11, 21, 26, 41, 51])
    gap = Fraction(rng.choice([2, 4, 6, 8]), 100)
    return {
        "arrival": arrival,
        "start": start,
        "first": first,
        "last": first + (count - 1) * gap,
        "count": count,
    }


def _over(answers: Given, given: Given) -> Fraction:
    """By how much TTFT and the gaps together exceed the time to the last token: 0 by the chapter's identity."""
    return Fraction(
        answers["ttft"] + (given["count"] - 1) * answers["tpot"] - (given["last"] - given["arrival"])
    )


def _beyond(answers: Given, given: Given) -> Fraction:
    """By how much the listed stages exceed the whole time."""
    return sum((stage["seconds"] for stage in answers["stages"]), Fraction(0)) - (
        given["last"] - given["arrival"]
    )


EXERCISE = Exercise(
    id="31.1",
    title="一个请求的三种时间",
    minutes=15,
    difficulty=1,
    statement="""
一个请求在 {arrival} 秒到达，{start} 秒第一次得到执行。客户端在 {first} 秒收到第 1 个词元，在 {last} 秒收到第 {count} 个，
也就是最后一个词元。所有时刻读自同一个时钟。

- **a 计算**：首词元时延 `ttft`、平均输出词元时间 `tpot`、首执行等待 `wait`，单位秒。
- **b 相加**：把从到达到最后一个词元的总时间写成互不重叠的几段 `stages`，每段是 `{{"name": 名称, "seconds": 秒数}}`，名称取自 `等待`、`首词元时延减等待`、`首词元时延`、`解码间隔之和`。再判断 `ttft_plus_wait_is_first_token`：“`ttft + wait` 等于从到达到首词元的时间”是否成立。
- **c 推广**：写函数 `measures(arrival, start, token_times)`，对任意请求返回字典，键为 `ttft`、`tpot`、`wait` 和 `itl`（词元间时延的列表）。没有定义的量填 `None`。
- **d 解释**：哪些量可以相加，为什么？等待在其中算几次？

数值答案的相对误差不超过十亿分之一即可，整数、分数、小数、sympy 数都行。可以用 Python 标准库、numpy 和 sympy；不可以用 labkit 的计量模块。
""",
    given={
        "arrival": Fraction(0),
        "start": Fraction("0.1"),
        "first": Fraction("0.3"),
        "last": Fraction("0.9"),
        "count": 31,
    },
    notes={
        "arrival": "到达，秒",
        "start": "第一次得到执行，秒",
        "first": "收到第 1 个词元，秒",
        "last": "收到最后一个词元，秒",
        "count": "词元个数",
    },
    draw=draw,
    misconceptions={
        "wait-twice": Misconception("首词元时延从到达算起，已经包含等待，等待不能再加一次。", "31.1"),
        "ttft-from-start": Misconception("首词元时延从到达算起，不是从开始执行算起。", "31.1"),
        "tpot-over-count": Misconception("平均的是间隔。间隔比词元少一个，除数不是词元个数。", "31.1"),
        "tpot-from-arrival": Misconception(
            "平均输出词元时间从首词元算起，首词元之前的时间不在里面。", "31.1"
        ),
        "itl-from-arrival": Misconception(
            "词元间时延是相邻两个词元之差，从第 2 个词元起才有；首词元之前那一段不是间隔。", "31.1"
        ),
        "wait-to-first": Misconception("首执行等待到第一次得到执行为止，不到首词元为止。", "31.1"),
        "tpot-zero": Misconception("只有一个词元时平均输出词元时间没有定义。没有定义不是 0。", "31.1"),
        "no-token-zero": Misconception("没有词元的请求没有首词元时延，应计入失败，不能以 0 代替。", "31.1"),
        "parts-overlap": Misconception(
            "各段互有重叠，加起来比总时间长。先从首词元时延里扣除等待，再列其余各段。", "31.1"
        ),
        "parts-missing": Misconception("各段加起来比总时间短，有一段时间没有列出。", "31.1"),
        "ms": Misconception("单位是秒，不是毫秒。", "31.1"),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.1",
            answers=(Answer("ttft", SECONDS), Answer("tpot", SECONDS), Answer("wait", SECONDS)),
            hints=(
                # The chapter's identity, on the student's own numbers: last token = TTFT + gaps × TPOT.
                Hint("wait-twice", lambda a, g: a["wait"] != 0 and near(_over(a, g), a["wait"])),
                Hint("ttft-from-start", lambda a, g: a["wait"] != 0 and near(_over(a, g), -a["wait"])),
                Hint("tpot-over-count", lambda a, g: near(_over(a, g), -a["tpot"])),
                Hint("ms", lambda a, g: max(a.values()) > 50 * (g["last"] - g["arrival"])),
            ),
        ),
        Part(
            "b",
            "compute",
            "31.1",
            answers=(
                Answer(
                    "stages",
                    Listing(Record({"name": Choice(STAGES), "seconds": SECONDS})),
                    points=2,
                ),
                Answer("ttft_plus_wait_is_first_token", Truth()),
            ),
            hints=(
                Hint("parts-overlap", lambda a, g: _beyond(a, g) > SLACK),
                Hint("parts-missing", lambda a, g: _beyond(a, g) < -SLACK),
            ),
        ),
        Part(
            "c",
            "build",
            "31.1",
            answers=(
                Answer(
                    "measures",
                    Function(
                        Record(
                            {
                                "ttft": Maybe(SECONDS),
                                "tpot": Maybe(SECONDS),
                                "wait": SECONDS,
                                "itl": Listing(SECONDS),
                            }
                        ),
                        example=(1.0, 1.5, [2.0, 2.25, 2.75]),
                    ),
                    points=3,
                ),
            ),
            hints=(
                Hint("tpot-zero", lambda a, g: a["measures"](1.0, 1.5, [2.0])["tpot"] == 0),
                Hint("itl-from-arrival", lambda a, g: len(a["measures"](1.0, 1.5, [2.0, 2.5])["itl"]) > 1),
            ),
        ),
        Part(
            "d",
            "explain",
            "31.1",
            manual=2,
        ),
    ),
)
