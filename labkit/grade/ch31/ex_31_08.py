"""Exercise 31.8: high quantiles of two stages, the union bound, and joint laws that show what can and cannot be said."""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from labkit.grade import values
from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Function, Listing, Number, Record, Truth, near

MS = Number("毫秒")
F = Fraction
LAW = Function(Listing(Record({"x": MS, "y": MS, "p": Number()})), example=(F(100), F(200), F(99, 100)))
ASKED = (F(100), F(200), F(99, 100))


def draw(rng: random.Random) -> Given:
    """Other quantiles and another level."""
    return {
        "x_high": 10 * rng.randint(3, 40),
        "y_high": 10 * rng.randint(3, 40),
        "level": rng.choice([F(9, 10), F(95, 100), F(98, 100), F(99, 100)]),
    }


def _rows(law: Any) -> list[dict[str, Fraction]]:
    rows: list[dict[str, Fraction]] = LAW.read(values.decode(values.encode(law(*ASKED))))
    return rows


def _no_law(rows: list[dict[str, Fraction]]) -> bool:
    """Whether these are no probabilities of two times."""
    return not near(sum(row["p"] for row in rows), 1) or any(min(row.values()) < 0 for row in rows)


def _other_margins(rows: list[dict[str, Fraction]]) -> bool:
    """Whether a stage has another quantile than the one that was asked for."""
    return any(
        not _is_quantile(((row[stage], row["p"]) for row in rows), ASKED[place], ASKED[2])
        for place, stage in enumerate("xy")
    )


def _is_quantile(law: Iterable[tuple[Fraction, Fraction]], value: Fraction, level: Fraction) -> bool:
    pairs, slack = list(law), F(1, 10**9)
    below = sum((p for v, p in pairs if v < value * (1 - slack)), F(0))
    return (
        below < level - slack
        and sum((p for v, p in pairs if v <= value * (1 + slack)), F(0)) >= level - slack
    )


def _hints(name: str) -> tuple[Hint, ...]:
    return (
        Hint("not-a-law", lambda a, g: _no_law(_rows(a[name]))),
        Hint("margins", lambda a, g: not _no_law(_rows(a[name])) and _other_margins(_rows(a[name]))),
    )


EXERCISE = Exercise(
    id="31.8",
    title="两个阶段的分位数能不能相加",
    minutes=45,
    difficulty=3,
    statement="""
一个请求先后经过两个阶段，用时 X 和 Y，都非负，单位毫秒。时间的 `level` 分位数是使 Pr(时间 ≤ v) ≥ `level` 的最小的 v；p99 就是 0.99 分位数。已知 X 的 {level} 分位数是 {x_high}，Y 的 {level} 分位数是 {y_high}，两者如何相依不知道。以下把 {x_high} 与 {y_high} 之和记作 s。

- **a 计算**：由并集界，`tail_bound` 是 Pr(X + Y > s) 的上界，`coverage` 是由它保证的 Pr(X + Y ≤ s) 的下界。另取两阶段在同一个水平上的分位数相加，只凭并集界，要保证总时延不超过这个和的概率不小于 {level}，这个水平至少是 `stage_level`。再判断六句话，`claims` 是字典，键为 `"A"` 到 `"F"`，值为 True 或 False：
    - A：总时延的 {level} 分位数一定等于 s。
    - B：总时延超过 s 的概率，不大于两阶段各自超过的概率之和。
    - C：只要两阶段独立，总时延的 {level} 分位数就等于 s。
    - D：B 要求两阶段独立才成立。
    - E：存在一种相依关系，使总时延的 {level} 分位数恰好等于 s。
    - F：逐个请求把两阶段的用时相加，再对这些和取分位数，得到的就是总时延的分位数。
- **b 构造**：写三个函数，参数都是 `(x_high, y_high, level)`，均为 `Fraction`，`x_high`、`y_high` 为正，0.5 < `level` < 1。返回一个联合分布：列表，每项是 `{{"x": X 的值, "y": Y 的值, "p": 概率}}`，值非负，概率非负、总和为 1。每个分布里 X、Y 的 `level` 分位数必须恰是 `x_high`、`y_high`。
    - `attaining`：Pr(X + Y > `x_high` + `y_high`) 恰等于并集界，即 2(1 − `level`)。
    - `together`：两阶段同升同降（X 较大的项，Y 不会较小），X、Y 各至少取两个值，且 X + Y 的 `level` 分位数恰是 `x_high + y_high`。
    - `apart`：两阶段独立，X、Y 各至少取两个值，但 X + Y 的 `level` 分位数不是 `x_high + y_high`。
- **c 测量**：写函数 `measure(pairs, level)`。`pairs` 是若干请求的 `[x, y]`，每个请求权重相同，至少一个；`level` 是 `Fraction`，0 < `level` < 1。分位数按上面的定义取（取样本中的值，不插值）。返回字典：`measured`，总时延的 `level` 分位数；`added`，两阶段 `level` 分位数之和；`safe`，按 a 的做法，由 `level` 求出两阶段共用的更高水平，取两阶段在那个水平上的分位数之和。
- **d 解释**：给出 {level} 水平上一个成立的陈述，说明为什么独立也救不了“分位数相加”。

概率的绝对误差不超过十亿分之一、时间的相对误差不超过十亿分之一即可。可以用 Python 标准库、numpy 和 sympy，不可以用 labkit 的推导。
""",
    given={"x_high": 100, "y_high": 200, "level": F(99, 100)},
    notes={
        "x_high": "X 的 level 分位数，毫秒",
        "y_high": "Y 的 level 分位数，毫秒",
        "level": "分位数水平",
    },
    draw=draw,
    misconceptions={
        "percentile-sum": Misconception("分位数不能相加：两阶段分位数之和不是总时延的同一分位数。", "31.5"),
        "same-tail": Misconception("两个阶段各有一份尾概率，并集界是它们之和。", "31.5"),
        "independence-assumed": Misconception("用了独立性。题中没有给出独立，并集界也不需要它。", "31.5"),
        "both-slow": Misconception(
            "算的是两个阶段同时超过的概率。只要有一个阶段超过，和就可能超过 s。", "31.5"
        ),
        "same-level": Misconception("两阶段的水平都没有提高，尾概率之和就超过了允许的尾概率。", "31.5"),
        "level-lowered": Misconception("方向反了：要保证总时延，各阶段的水平要提高，不能降低。", "31.5"),
        "tail-for-level": Misconception("这里问的是水平，不是尾概率（或者相反）。", "31.5"),
        "independent-adds": Misconception("独立也不能使分位数相加：两阶段很少同时都慢。", "31.5"),
        "never-adds": Misconception(
            "有些相依关系下分位数恰好可以相加，例如同升同降；只是不能当作一般规律。", "31.5"
        ),
        "sum-not-measured": Misconception(
            "同一请求的两阶段之和就是它的总时延，直接对它取分位数没有问题。", "31.5"
        ),
        "bound-not-true": Misconception(
            "总时延超过 s 时，至少有一个阶段超过了自己的分位数，所以概率不大于两者之和。", "31.5"
        ),
        "not-a-law": Misconception(
            "这不是两个非负时间的联合分布：概率要非负、总和为 1，时间要非负。", "31.5"
        ),
        "margins": Misconception("有一个阶段的 level 分位数不是所要求的值。取等号的那一侧也要检查。", "31.5"),
        "same-requests": Misconception(
            "两个阶段在同一批请求上一起变慢，只付出一份尾概率。要达到并集界，两件坏事不能同时发生。", "31.5"
        ),
        "slow-but-not-over": Misconception(
            "有的项里一个阶段虽然超过了自己的分位数，另一个却太快，和没有超过 s。", "31.5"
        ),
        "not-comonotone": Misconception("两阶段没有同升同降：有两项的 X 与 Y 大小次序相反。", "31.5"),
        "one-value": Misconception("有一个阶段只取一个值，题中要求至少取两个。", "31.5"),
        "not-independent": Misconception("两阶段不独立：有的取值对的概率不等于各自概率之积。", "31.5"),
        "still-adds": Misconception("在这个分布里分位数恰好相加，没有成为反例。", "31.5"),
        "interpolated": Misconception("分位数取样本中的值，不在两个样本之间插值。", "31.5"),
        "rank": Misconception("名次差了一位：取的是使占比达到 level 的最小的值。", "31.5"),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.5",
            answers=(
                Answer("tail_bound", Number()),
                Answer("coverage", Number()),
                Answer("stage_level", Number()),
                Answer("claims", Record({key: Truth() for key in "ABCDEF"}), points=2),
            ),
            hints=(
                Hint("tail-for-level", lambda a, g: not near(a["tail_bound"] + a["coverage"], 1)),
                Hint("level-lowered", lambda a, g: F(1, 2) < a["stage_level"] < g["level"] - F(1, 10**6)),
                Hint("tail-for-level", lambda a, g: a["stage_level"] < F(1, 2)),
                Hint("same-level", lambda a, g: near(a["stage_level"], g["level"])),
                Hint("percentile-sum", lambda a, g: a["claims"]["A"]),
            ),
        ),
        Part(
            "b",
            "build",
            "31.5",
            answers=(
                Answer("attaining", LAW, points=3),
                Answer("together", LAW, points=2),
                Answer("apart", LAW, points=2),
            ),
            hints=_hints("attaining") + _hints("together") + _hints("apart"),
        ),
        Part(
            "c",
            "build",
            "31.5",
            answers=(
                Answer(
                    "measure",
                    Function(
                        Record({"measured": MS, "added": MS, "safe": MS}),
                        example=([[3, 5], [4, 1], [9, 2], [1, 8]], F(3, 4)),
                    ),
                    points=3,
                ),
            ),
            hints=(
                # Of two requests, half of the sample lies at or below the smaller sum.
                Hint(
                    "interpolated", lambda a, g: 3 < a["measure"]([[1, 2], [3, 4]], F(1, 2))["measured"] < 7
                ),
                Hint("rank", lambda a, g: a["measure"]([[1, 2], [3, 4]], F(1, 2))["measured"] == 7),
            ),
        ),
        Part(
            "d",
            "explain",
            "31.5",
            manual=2,
        ),
    ),
)
