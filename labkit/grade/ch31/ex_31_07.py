"""Exercise 31.7 (elective): the M/M/1 queue step by step, and what batching takes from under it."""

from __future__ import annotations

import random
from fractions import Fraction

from labkit.grade.exercise import Answer, Exercise, Hint, Misconception, Part
from labkit.grade.forms import Choice, Expression, Function, Listing, Number, Record
from labkit.grade.values import Expr

SPEED = {"lam": "positive", "mu": "positive"}
LOAD = Expression({"rho": "fraction"})
LAW = Expression({"rho": "fraction", "n": "whole"})
TERM = Expression({"rho": "fraction", "n": "count"})
TRANSFORM = Expression({**SPEED, "z": "positive"})
TAIL = Expression({**SPEED, "t": "positive"})
QUANTILE = Expression({**SPEED, "p": "fraction"})
ONE = Expr("Number", (Fraction(1),))
ASSUMPTIONS = ("泊松到达", "单服务台", "独立指数服务", "先到先服务", "无限等待空间", "无放弃", "不违反")
BREAKS = Record({key: Choice(ASSUMPTIONS) for key in "ABCDEFG"})


def _minus(first: Expr, second: Expr) -> Expr:
    return Expr("Add", (first, Expr("Mul", (Expr("Number", (Fraction(-1),)), second))))


def _at(expr: Expr, name: str, value: int) -> Expr:
    """The expression with a number in place of a symbol."""
    if expr == Expr("Symbol", (name,)):
        return Expr("Number", (Fraction(value),))
    return Expr(expr.head, tuple(_at(a, name, value) if isinstance(a, Expr) else a for a in expr.args))


def _differ(form: Expression, first: Expr, second: Expr) -> bool:
    return not form.same(first, second, random.Random(0))


EXERCISE = Exercise(
    id="31.7",
    title="推导 M/M/1，再看连续批处理拿走了什么",
    minutes=60,
    difficulty=3,
    elective=True,
    statement="""
泊松到达，速率 `lam`；一个服务台，各次服务时间独立、服从速率 `mu` 的指数分布；先到先服务，等待空间无限，没有人放弃；`rho` = `lam`/`mu` < 1。a、b、c 的每个答案是一个 sympy 表达式，只用表中列出的符号；等价写法都算对，但不能留下未求和的 `Sum`，也不能留下 `Piecewise`（取收敛的那一支）。

| 部分 | 名字 | 含义 | 可用符号 |
|---|---|---|---|
| **a 平衡** | `flow_up` | 稳态下单位时间里人数由 n 变为 n + 1 的平均次数；`p` 表示恰有 n 人的概率 | `lam`、`mu`、`p` |
| | `flow_down` | 单位时间里人数由 n + 1 变为 n 的平均次数；`q` 表示恰有 n + 1 人的概率 | `lam`、`mu`、`q` |
| | `law_from_empty` | 由两者相等逐级递推，用空闲概率 `p0` 写出恰有 n 人的概率 | `rho`、`n`、`p0` |
| | `empty` | 归一化后的空闲概率 | `rho` |
| | `law` | 恰有 n 人的概率 | `rho`、`n` |
| **b 人数** | `L` | 系统内（含正在服务的）平均人数 | `rho` |
| | `busy` | 正在服务的平均人数 | `rho` |
| | `waiting_term` | 平均等待人数写成对系统内人数 n = 1, 2, … 的求和，n 人那一项是什么（含概率） | `rho`、`n` |
| | `Lq` | 平均等待人数（不含正在服务的） | `rho` |
| **c 尾部** | `stage` | 一次服务时间 S 的变换 E[exp(−zS)] | `mu`、`z` |
| | `given_n` | 到达时看到 n 人，本请求逗留时间（从到达到服务完毕）的变换 | `mu`、`z`、`n` |
| | `transform` | 对 n 求和，逗留时间 T 的变换 E[exp(−zT)] | `lam`、`mu`、`z` |
| | `tail` | Pr(T > t)，t ≥ 0 | `lam`、`mu`、`t` |
| | `quantile` | T 的 p 分位数，0 < p < 1 | `lam`、`mu`、`p` |

书上此处的 W 就是这里的逗留时间 T，不是等待时间。log 是自然对数。

- **d 假设**：连续批处理的服务系统里有下面七件事。`breaks` 是一个字典，键为 `"A"` 到 `"G"`，值说明这件事直接违反哪一条：`泊松到达`、`单服务台`、`独立指数服务`、`先到先服务`、`无限等待空间`、`无放弃`，或 `不违反`。
    - A：几个请求在同一轮里一起推进。
    - B：轮时由批大小和各请求的上下文长度决定。
    - C：后到的交互请求可以先于早到的长请求执行。
    - D：等待队列满了就拒绝新请求。
    - E：一个用户一次提交一组请求，它们同时到达。
    - F：用户等得太久就取消。
    - G：`rho` 从 0.5 升到 0.95，其余不变。
- **e 推广**：设系统内人数是 n 时（n = 1, …, K）总完成率是 `rates[n - 1]`，到下一次完成的时间仍是指数分布，到达仍是泊松过程，速率 `arrival`；人数已是 K 时新到的请求被拒绝，不进入系统。写函数 `occupancy(arrival, rates)`，返回人数为 0, 1, …, K 的稳态概率（K + 1 项的列表，K = `len(rates)` ≥ 1）；参数都是 `Fraction`，结果的相对误差不超过十亿分之一。
- **f 解释**：为什么不能把满批时离线测得的完成率当作 `mu`，用 `quantile` 预报 p99？

可以用 Python 标准库、numpy 和 sympy，不可以用 labkit 的推导。
""",
    misconceptions={
        "flow-swapped": Misconception("向上一级由到达引起，向下一级由服务完成引起，两个速率用反了。", "31.4"),
        "infinite-servers": Misconception("只有一个服务台：在场人数再多，完成的速率也不随人数增加。", "31.4"),
        "power-off-by-one": Misconception("从 0 人到 n 人一共走了 n 级，幂次差了一级。", "31.4"),
        "unnormalised": Misconception("还没有归一化，所有人数的概率之和不是 1。", "31.4"),
        "empty-is-busy": Misconception("把空闲概率和忙碌概率弄反了。", "31.4"),
        "waiting-is-all": Misconception("正在服务的那一个不在等待，要从人数里减去。", "31.4"),
        "always-one-in-service": Misconception(
            "空闲时没有人在服务。服务中的平均人数等于忙碌概率，不是 1。", "31.4"
        ),
        "density": Misconception("这是概率密度或分布函数，问的是大于 t 的概率。", "31.4"),
        "stages-n": Misconception("自己的服务也算一段。到达时看到 n 人，要经过的服务不止 n 段。", "31.4"),
        "one-stage": Misconception("前面的人还要服务，逗留时间不只是自己的服务时间。", "31.4"),
        "wait-tail": Misconception(
            "这是等待时间的尾部，在零点有跳跃。书上此处的 W 是逗留时间，含自己的服务。", "31.4"
        ),
        "tail-of-service": Misconception("这是服务时间的尾部，没有计入排队。", "31.4"),
        "tail-not-from-one": Misconception(
            "逗留时间必定大于零，所以尾部在 t = 0 处应为 1，变换在 z = 0 处也应为 1。", "31.4"
        ),
        "mean-is-quantile": Misconception("平均数不是分位数，要由尾部解出 t。", "31.4"),
        "log-base": Misconception("这里是自然对数。", "31.4"),
        "quantile-from-zero": Misconception("p 趋于 0 时，逗留时间的 p 分位数应趋于 0。", "31.4"),
        "level-swapped": Misconception("尾概率是 1 − p，不是 p。", "31.4"),
        "batch-is-one-server": Misconception("A 判断有误。想一想同一时刻有几个请求在被服务。", "31.4"),
        "round-time-independent": Misconception(
            "B 判断有误。想一想各请求的服务时间由什么决定，彼此有没有关系。", "31.4"
        ),
        "priority-is-fcfs": Misconception("C 判断有误。对照请求到达的次序与执行的次序。", "31.4"),
        "load-is-assumption": Misconception("G 判断有误。假设说的是系统怎样构成，不是利用率有多高。", "31.4"),
        "limits-overlooked": Misconception(
            "D、E、F 中有判断有误的。逐条想一想：队列能排多长，请求怎样到来，人会不会中途离开。", "31.4"
        ),
        "offline-rate": Misconception("完成率随在场人数变化，不能一律用满批时的那一个。", "31.4"),
        "rate-shifted": Misconception(
            "完成率的下标错开了一级：由 n 人降到 n − 1 人，用的是 n 人时的完成率。", "31.4"
        ),
    },
    parts=(
        Part(
            "a",
            "derive",
            "31.4",
            answers=(
                Answer("flow_up", Expression({**SPEED, "p": "positive"})),
                Answer("flow_down", Expression({**SPEED, "q": "positive"})),
                Answer("law_from_empty", Expression({"rho": "fraction", "n": "whole", "p0": "positive"})),
                Answer("empty", LOAD),
                Answer("law", LAW),
            ),
            hints=(
                Hint("unnormalised", lambda a, g: not _differ(LOAD, a["empty"], ONE)),
                # The probability of nobody is said twice.
                Hint(
                    "unnormalised",
                    lambda a, g: _differ(LOAD, _at(a["law"], "n", 0), a["empty"]),
                ),
            ),
        ),
        Part(
            "b",
            "derive",
            "31.4",
            answers=(
                Answer("L", LOAD),
                Answer("busy", LOAD),
                Answer("waiting_term", TERM),
                Answer("Lq", LOAD),
            ),
            hints=(
                # Whoever is in the system waits or is being served.
                Hint("waiting-is-all", lambda a, g: _differ(LOAD, _minus(a["L"], a["Lq"]), a["busy"])),
                Hint("always-one-in-service", lambda a, g: not _differ(LOAD, a["busy"], ONE)),
            ),
        ),
        Part(
            "c",
            "derive",
            "31.4",
            answers=(
                Answer("stage", Expression({"mu": "positive", "z": "positive"})),
                Answer("given_n", Expression({"mu": "positive", "z": "positive", "n": "whole"})),
                Answer("transform", TRANSFORM, points=2),
                Answer("tail", TAIL, points=2),
                Answer("quantile", QUANTILE),
            ),
            hints=(
                Hint("tail-not-from-one", lambda a, g: _differ(TRANSFORM, _at(a["transform"], "z", 0), ONE)),
                Hint("tail-not-from-one", lambda a, g: _differ(TAIL, _at(a["tail"], "t", 0), ONE)),
                # Nothing is shorter than the 0-quantile of a time that can be as short as one likes.
                Hint(
                    "quantile-from-zero",
                    lambda a, g: _differ(
                        QUANTILE, _at(a["quantile"], "p", 0), Expr("Number", (Fraction(0),))
                    ),
                ),
            ),
        ),
        Part(
            "d",
            "compute",
            "31.4",
            answers=(Answer("breaks", BREAKS, points=2),),
        ),
        Part(
            "e",
            "build",
            "31.4",
            answers=(
                Answer(
                    "occupancy",
                    Function(Listing(Number()), example=(Fraction(1, 2), [Fraction(1), Fraction(3, 2)])),
                    points=3,
                ),
            ),
            hints=(
                Hint(
                    "unnormalised",
                    lambda a, g: abs(sum(map(float, a["occupancy"](1.0, [2.0, 3.0]))) - 1) > 1e-6,
                ),
            ),
        ),
        Part(
            "f",
            "explain",
            "31.4",
            manual=2,
        ),
    ),
)
