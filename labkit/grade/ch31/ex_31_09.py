"""Exercise 31.9: fair by request, by token, by device time; a credit scheduler that charges what was used."""

from __future__ import annotations

import random
from fractions import Fraction

from labkit.grade import expressions
from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Expression, Function, Number, Record, Table, Whole, near

RATIO = Number()
SECONDS = Number("秒")
ONE = {"n": "count", "s": "whole", "c0": "positive", "c1": "positive"}
TWO = {
    "n_a": "count", "s_a": "whole", "n_b": "count", "s_b": "whole", "c0": "positive", "c1": "positive",
}  # fmt: skip

TENANTS = {
    "A": {"weight": 1, "minimum": 0.125, "waiting": True},
    "B": {"weight": 3, "minimum": 0.25, "waiting": True},
    "C": {"weight": 1, "minimum": 0.125, "waiting": False},
}


def _account(grant: int, actual: int) -> Given:
    return {"grant": grant, "credit": 0, "cap": 4, "error": 0, "queue": [{"predicted": 2, "actual": actual}]}


ACCOUNTS = {"A": _account(2, 3), "B": {"grant": 1, "credit": 0.5, "cap": 4, "error": 0, "queue": []}}


def _after(answers: Given, actual: int) -> Given:
    """What the student's round makes of one account whose request takes `actual` seconds."""
    result: Given = answers["credit_round"]({"A": {**_account(3, actual), "credit": 1}})["A"]
    return result


def draw(rng: random.Random) -> Given:
    """Other numbers: B's requests longer by a whole factor, B's history longer too."""
    tokens_a = rng.choice([4, 5, 8, 20, 25])
    return {
        "tokens_a": tokens_a,
        "tokens_b": tokens_a * rng.choice([20, 30, 50, 80, 150]),
        "history_a": rng.randint(1, 4) * 100,
        "history_b": rng.randint(5, 12) * 1000,
        "base": Fraction(rng.randint(1, 4), 1000),
        "slope": Fraction(rng.randint(1, 5), 10**6),
    }


EXERCISE = Exercise(
    id="31.9",
    title="按请求、按词元、按设备时间的公平",
    elective=True,
    minutes=50,
    difficulty=2,
    statement="""
租户 A 的每个请求输出 {tokens_a} 个词元，租户 B 的每个请求输出 {tokens_b} 个。两者始终有请求在等。

- **a 计算**：策略一每轮让 A、B 各完成一个请求，求 A 与 B 的输出词元之比 `token_ratio`（A 除以 B），以及 A 占全部输出词元的份额 `token_share_a`。策略二每轮给 A、B 同样多的词元，求 A 与 B 完成的请求数之比 `request_ratio`（A 除以 B，长期来看）。
- **b 推导**：设备时间。请求开始输出时已有 `s` 个历史位置，它的第 `k` 个输出词元（`k` 从 1 数起）读 `s + k - 1` 个位置；读 `x` 个位置的一个词元占设备 `c0 + c1*x` 秒（校准得来）。用 sympy 写出：
  - `token_cost`：第 `k` 个词元的秒数，含 `k, s, c0, c1`；
  - `request_cost`：输出 `n` 个词元的整个请求的秒数，含 `n, s, c0, c1`，不留求和号；
  - `mean_token_cost`：这个请求平均每个词元的秒数；
  - `time_ratio`：策略二之下 B 与 A 的设备时间之比（B 除以 A），含 `n_a, s_a, n_b, s_b, c0, c1`；
  - `time_ratio_value`：代入 `s_a = {history_a}`、`s_b = {history_b}`、`c0 = {base}` 秒、`c1 = {slope}` 秒和上面两个输出长度后的值。
- **c 构造**：按设备时间记账的信用额调度，写成两个函数。
  - `shares(tenants)`：`tenants` 把租户名对应到 `{{"weight": 权重, "minimum": 最低份额, "waiting": 是否有请求在等}}`，返回每个租户（包括不在等的）这一轮的时间份额。不在等的得 0；在等的先各得最低份额，余下的时间在它们之间按权重分完。最低份额之和不超过 1。
  - `credit_round(tenants)`：一轮。`tenants` 把租户名对应到 `{{"grant": 本轮新增秒数, "credit": 信用额, "cap": 结转上限, "error": 累计误差, "queue": [{{"predicted": 预测秒数, "actual": 实际秒数}}, …]}}`。规则：信用额先加 `grant`，超过 `cap` 的部分作废；然后只要队首的预测不超过信用额就运行它，一轮可以运行多个；选择时只知道预测，运行之后才知道实际，计费按实际；信用额可以因此变负，欠账留到下一轮，由它自己偿还；`error` 累加“实际减预测”。没有请求的租户也按同样的规则入账。返回字典，键为每个租户名，值为 `{{"served": 运行的个数, "credit": 新信用额, "error": 新累计误差}}`。
- **d 解释**：为什么两种公平的结论相反？历史更长时，词元数相同为什么不等于时间相同？为什么还要最低份额，又为什么要一直看 `error`？

数值的相对误差不超过十亿分之一即可。可以用 Python 标准库、numpy 和 sympy；不可以用 labkit 的记账模块。
""",
    given={
        "tokens_a": 10,
        "tokens_b": 1000,
        "history_a": 100,
        "history_b": 8000,
        "base": Fraction("0.002"),
        "slope": Fraction("0.000001"),
    },
    notes={
        "tokens_a": "A 每个请求的输出词元",
        "tokens_b": "B 每个请求的输出词元",
        "history_a": "A 的请求开始输出时的历史位置",
        "history_b": "B 的请求开始输出时的历史位置",
        "base": "c0，秒",
        "slope": "c1，秒每位置",
    },
    draw=draw,
    misconceptions={
        "one-fairness": Misconception(
            "按请求公平不等于按词元公平：请求的长度不同，同样多的请求不是同样多的词元，反过来也一样。", "31.6"
        ),
        "inverted": Misconception("比值写反了，看清题目要求谁除以谁。", "31.6"),
        "share-is-ratio": Misconception("份额是部分除以全部，不是部分除以另一部分。", "31.6"),
        "history-ignored": Misconception(
            "漏了开始输出之前的历史：每个输出词元都要读它，历史越长，一个词元越贵。", "31.6"
        ),
        "history-frozen": Misconception("历史随输出增长：每输出一个词元，下一个就多读一个位置。", "31.6"),
        "position-off-by-one": Misconception(
            "读的位置数差一个：第 1 个输出词元只读开始时已有的历史。", "31.6"
        ),
        "request-not-token": Misconception(
            "策略二之下两者的词元数相同，请求数不同；要比的是每个词元的时间，不是每个请求的时间。", "31.6"
        ),
        "equal-tokens-equal-time": Misconception(
            "词元数相同不等于设备时间相同：历史更长的词元读得更多。", "31.6"
        ),
        "idle-gets-share": Misconception("没有请求在等的租户占着份额，别人却在等。", "31.6"),
        "idle-weight-counts": Misconception("按权重分时把不在等的租户也算进了分母，时间没有分完。", "31.6"),
        "no-minimum": Misconception("只按权重分，没有保住最低份额。", "31.6"),
        "minimum-as-floor": Misconception(
            "最低份额与按权重的份额取大，加起来不等于 1；应先留出最低份额，再分余下的。", "31.6"
        ),
        "minimum-on-top": Misconception(
            "最低份额加在全部时间之外，加起来超过了 1；按权重分的只是余下的时间。", "31.6"
        ),
        "charge-predicted": Misconception(
            "按预测计费。预测只用来选择，计费按实际，否则误差由别的租户承担。", "31.6"
        ),
        "debt-forgiven": Misconception("把欠账清零了。多用的时间应由它自己在以后的轮次偿还。", "31.6"),
        "no-cap": Misconception("信用额可以无限积累：闲了很久的租户回来时会独占设备。结转要有上限。", "31.6"),
        "credit-lost": Misconception(
            "上一轮余下的信用额丢了。不结转，比一轮份额大的请求永远轮不到。", "31.6"
        ),
        "sees-the-future": Misconception("选择时用了实际秒数，那要运行之后才知道。", "31.6"),
        "one-a-round": Misconception("每轮至多运行一个请求，又成了按请求公平。", "31.6"),
        "error-unsigned": Misconception(
            "累计误差要带正负号：高估与低估相抵之后剩下的才是长期的偏差。", "31.6"
        ),
        "error-forgotten": Misconception("误差没有累计到上一轮的数上，看不出长期的偏差。", "31.6"),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.6",
            answers=(
                Answer("token_ratio", RATIO),
                Answer("token_share_a", RATIO),
                Answer("request_ratio", RATIO),
            ),
            hints=(
                Hint("one-fairness", lambda a, g: a["token_ratio"] == 1 or a["request_ratio"] == 1),
                Hint("inverted", lambda a, g: a["token_ratio"] > 1 or a["request_ratio"] < 1),
                Hint("share-is-ratio", lambda a, g: near(a["token_share_a"], a["token_ratio"])),
            ),
        ),
        Part(
            "b",
            "derive",
            "31.6",
            answers=(
                Answer(
                    "token_cost", Expression({"k": "count", "s": "whole", "c0": "positive", "c1": "positive"})
                ),
                Answer("request_cost", Expression(ONE)),
                Answer("mean_token_cost", Expression(ONE)),
                Answer("time_ratio", Expression(TWO), points=2),
                Answer("time_ratio_value", RATIO),
            ),
            hints=(
                Hint("history-ignored", lambda a, g: "s" not in expressions.names(a["token_cost"])),
                Hint("history-frozen", lambda a, g: "k" not in expressions.names(a["token_cost"])),
                Hint("equal-tokens-equal-time", lambda a, g: near(a["time_ratio_value"], 1)),
                Hint("inverted", lambda a, g: a["time_ratio_value"] < 1),
                Hint("request-not-token", lambda a, g: a["time_ratio_value"] * g["tokens_a"] > g["tokens_b"]),
            ),
        ),
        Part(
            "c",
            "build",
            "31.6",
            answers=(
                Answer("shares", Function(Table(RATIO), example=(TENANTS,)), points=2),
                Answer(
                    "credit_round",
                    Function(
                        Table(Record({"served": Whole(), "credit": SECONDS, "error": SECONDS})),
                        example=(ACCOUNTS,),
                    ),
                    points=4,
                ),
            ),
            hints=(
                Hint("idle-gets-share", lambda a, g: a["shares"](TENANTS)["C"] > 0),
                Hint(
                    "minimum-on-top",
                    lambda a, g: sum(map(Fraction, a["shares"](TENANTS).values())) > Fraction(1001, 1000),
                ),
                Hint(
                    "no-cap",
                    lambda a, g: a["credit_round"]({"A": {**ACCOUNTS["B"], "grant": 9}})["A"]["credit"] > 4,
                ),
                Hint("debt-forgiven", lambda a, g: _after(a, 99)["credit"] == 0),
                Hint("sees-the-future", lambda a, g: _after(a, 99)["served"] != _after(a, 1)["served"]),
                Hint(
                    "charge-predicted",
                    lambda a, g: (
                        _after(a, 2)["served"] > 0 and _after(a, 99)["credit"] == _after(a, 2)["credit"] > 0
                    ),
                ),
            ),
        ),
        Part(
            "d",
            "explain",
            "31.6",
            manual=4,
        ),
    ),
)
