"""Exercise 31.6: the number in the system as a step function, its area, and what a finite window cuts off."""

from __future__ import annotations

import random
from fractions import Fraction

from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Expression, Function, Listing, Number, Record, Whole, near
from labkit.grade.values import Expr

SECONDS = Number("秒")
EXACT = Number(rel=0)
WINDOW = Expression({"H": "count", "d": "count"})
F = Fraction


def draw(rng: random.Random) -> Given:
    """Other whole-second residences inside the window; the first begins and the second ends with it."""
    end = rng.randint(5, 9)
    late = rng.randint(1, end - 2)
    residences = [
        [0, rng.randint(2, end - 2)],
        [rng.randint(1, 2), end],
        [late, rng.randint(late + 1, end - 1)],
    ]
    return {"residences": residences, "window": [0, end], "cut": [F(1, 2), end - F(1, 2)]}


def _residual(answers: Given) -> Expr:
    """The full residences less the clipped ones, in the student's own expressions."""
    return Expr("Add", (answers["full"], Expr("Mul", (Expr("Number", (F(-1),)), answers["inside"]))))


EXERCISE = Exercise(
    id="31.6",
    title="阶梯函数下的面积",
    minutes=35,
    difficulty=2,
    statement="""
每个请求在系统里的时间记作 `[到达, 离开]`，左闭右开：到达那一刻在，离开那一刻已不在。各请求是 {residences}，观察窗 {window} 写明窗首与窗尾，单位都是秒。完成数的约定：离开时刻 c 满足 窗首 < c ≤ 窗尾 的请求算在窗内完成，恰在窗尾离开的也算。

- **a 计算**：系统内人数在窗内的阶梯函数 `steps`，是一列 `{{"start": 从, "end": 到, "count": 人数}}`，按时间次序首尾相接，铺满观察窗；人数为 0 的段也要写。再由它求面积 `area`（人·秒）、平均人数 `mean_number`、每秒完成数 `rate`、这些请求的平均逗留时间 `mean_residence`（秒）。若改为只数 窗首 ≤ c < 窗尾 的离开，每秒完成数是 `rate_half_open`。
- **b 截断**：同一批请求，改看 {cut} 这个窗。写出各请求落在窗内的时间 `clipped`（按请求次序，秒），它们的和 `cut_area`，以及完整逗留时间之和比它多出的 `excess`。
- **c 推导**：第 k 个请求（k = 0, 1, 2, …）在第 k 秒到达，逗留恰好 d 秒；观察窗是 [0, H]，d 和 H 是正整数，H ≥ d。考虑窗内到达的 H 个请求（k = 0 到 H − 1）。用符号 `H`、`d` 的 sympy 表达式写出：完整逗留时间之和 `full`，落在窗内的部分之和 `inside`，边界残余 `residual`（前者减后者），残余除以窗长 `residual_rate`，以及 H 趋于无穷时 `residual_rate` 的极限 `residual_limit` 和平均人数 `inside`/H 的极限 `mean_limit`。
- **d 推广**：写函数 `observe(residences, start, end)`，窗是任意的，请求可以在窗外开始或结束；还没有离开的请求，离开时刻写作 `None`。返回字典：各请求落在窗内的时间 `clipped`、面积 `area`、平均人数 `mean_number`、窗内完成数 `completions`（整数，约定同上）、每秒完成数 `rate`。所有时刻都是 `Fraction`，且 `start < end`；结果要精确，不经过浮点数。
- **e 解释**：a 的三个平均量有什么关系？有限窗里为什么必须在两端截断？长期的关系为什么还要求残余除以窗长趋于零？

a、b 的数值相对误差不超过十亿分之一即可。c 的等价写法都算对，但不能留下未求和的 `Sum`。可以用 Python 标准库、numpy 和 sympy，不可以用 labkit 的计量模块。
""",
    given={"residences": [[0, 2], [1, 3]], "window": [0, 3], "cut": [F(1, 2), F(5, 2)]},
    notes={
        "residences": "各请求的到达与离开，秒",
        "window": "观察窗，秒",
        "cut": "b 部分的观察窗，秒",
    },
    draw=draw,
    misconceptions={
        "full-residence": Misconception("窗外的时间也算进去了。每个请求只取它与观察窗的交集。", "31.4"),
        "clip-one-end": Misconception("只截了一端。窗首之前和窗尾之后都要截掉。", "31.4"),
        "only-inside": Misconception(
            "把跨过窗边界的请求整个丢掉了。它们落在窗内的那一段仍然占着系统。", "31.4"
        ),
        "negative": Misconception("与窗不相交的请求贡献零，不贡献负的时间。", "31.4"),
        "closed-end": Misconception("请求从离开那一刻起就不在系统里，之后的人数里不再有它。", "31.4"),
        "steps-gap": Misconception("各段没有首尾相接地铺满观察窗。", "31.4"),
        "half-open": Misconception(
            "按题中的约定，恰在窗尾离开的请求算在窗内完成，恰在窗首离开的不算。", "31.4"
        ),
        "rate-of-arrivals": Misconception("数的是到达，不是窗内的完成。", "31.4"),
        "not-per-second": Misconception("还没有除以窗长。", "31.4"),
        "divided-by-end": Misconception("窗长是窗尾减窗首，不是窗尾的时刻。", "31.4"),
        "mean-over-requests": Misconception("平均人数是面积除以窗长，不是除以请求数。", "31.4"),
        "mean-over-window": Misconception("平均逗留时间是面积除以请求数，不是除以窗长。", "31.4"),
        "unweighted": Misconception("各段人数没有按时间长短加权。", "31.4"),
        "never-left": Misconception("还没有离开的请求一直占到窗尾，但不算完成。", "31.4"),
        "little-broken": Misconception(
            "请求都在窗内开始和结束，平均人数应等于每秒完成数乘平均逗留时间，这三个数对不上。", "31.4"
        ),
        "residual-not-difference": Misconception("残余应等于完整逗留时间之和减去窗内部分之和。", "31.4"),
        "boundary-off-by-one": Misconception(
            "跨过窗尾的请求个数数错了：逗留恰好到窗尾为止的那一个没有残余。", "31.4"
        ),
        "residual-grows": Misconception("残余只来自窗尾附近的请求，个数由 d 决定，不随窗长增长。", "31.4"),
        "float": Misconception("数值对，但经过了浮点数，不再精确。请全程用 Fraction。", "31.4"),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.4",
            answers=(
                Answer(
                    "steps", Listing(Record({"start": SECONDS, "end": SECONDS, "count": Whole()})), points=2
                ),
                Answer("area", SECONDS),
                Answer("mean_number", Number()),
                Answer("rate", Number("个每秒")),
                Answer("mean_residence", SECONDS),
                Answer("rate_half_open", Number("个每秒")),
            ),
            hints=(
                Hint(
                    "steps-gap",
                    lambda a, g: (
                        [a["steps"][0]["start"], *(s["end"] for s in a["steps"])]
                        != [*(s["start"] for s in a["steps"]), g["window"][1]]
                        or a["steps"][0]["start"] != g["window"][0]
                    ),
                ),
                # The area has to be that of the student's own step function.
                Hint(
                    "unweighted",
                    lambda a, g: (
                        near(a["area"], sum(s["count"] for s in a["steps"]), 1e-9)
                        and not near(a["area"], sum(s["count"] * (s["end"] - s["start"]) for s in a["steps"]))
                    ),
                ),
                Hint("half-open", lambda a, g: near(a["rate"], a["rate_half_open"])),
                Hint("not-per-second", lambda a, g: near(a["mean_number"], a["area"])),
                Hint(
                    "little-broken",
                    lambda a, g: not near(a["mean_number"], a["rate"] * a["mean_residence"]),
                ),
            ),
        ),
        Part(
            "b",
            "compute",
            "31.4",
            answers=(
                Answer("clipped", Listing(SECONDS)),
                Answer("cut_area", SECONDS),
                Answer("excess", SECONDS),
            ),
            hints=(
                Hint(
                    "full-residence",
                    lambda a, g: max(a["clipped"]) > g["cut"][1] - g["cut"][0] or a["excess"] == 0,
                ),
            ),
        ),
        Part(
            "c",
            "derive",
            "31.4",
            answers=(
                Answer("full", WINDOW),
                Answer("inside", WINDOW, points=2),
                Answer("residual", WINDOW),
                Answer("residual_rate", WINDOW),
                Answer("residual_limit", WINDOW),
                Answer("mean_limit", WINDOW),
            ),
            hints=(
                Hint(
                    "residual-not-difference",
                    lambda a, g: not WINDOW.same(a["residual"], _residual(a), random.Random(0)),
                ),
            ),
        ),
        Part(
            "d",
            "build",
            "31.4",
            answers=(
                Answer(
                    "observe",
                    Function(
                        Record(
                            {
                                "clipped": Listing(EXACT),
                                "area": EXACT,
                                "mean_number": EXACT,
                                "completions": Whole(),
                                "rate": EXACT,
                            }
                        ),
                        example=([[F(0), F(2)], [F(1), None]], F(0), F(3)),
                    ),
                    points=4,
                ),
            ),
            hints=(
                Hint("negative", lambda a, g: min(a["observe"]([[F(0), F(1)]], F(2), F(3))["clipped"]) < 0),
                # One request cannot fill more than the window.
                Hint("full-residence", lambda a, g: a["observe"]([[F(0), F(9)]], F(2), F(3))["area"] > 1),
                Hint("only-inside", lambda a, g: a["observe"]([[F(0), F(9)]], F(2), F(3))["area"] == 0),
                Hint(
                    "float",
                    lambda a, g: (
                        type(a["observe"]([[F(0), F(1, 3)], [F(0), F(2, 3)]], F(0), F(7, 3))["mean_number"])
                        is float
                    ),
                ),
            ),
        ),
        Part(
            "e",
            "explain",
            "31.4",
            manual=3,
        ),
    ),
)
