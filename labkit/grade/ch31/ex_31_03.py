"""Exercise 31.3: padded utilisation, and why a kernel for variable lengths has another account."""

from __future__ import annotations

import random
from fractions import Fraction

from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Function, Maybe, Number, Record, Whole, near

RATIO = Number()
MICROSECONDS = Number("微秒")
# Two of the prompts would be below a block and one above: enough to see alignment and the causal mask.
SMALL = ([40, 100], 64)


def draw(rng: random.Random) -> Given:
    """Other lengths with one longest; no coincidence between a ratio, its complement or a speed-up."""
    while True:
        lengths = [32 * rng.randint(1, 6) for _ in range(rng.randint(2, 4))]
        lengths.insert(rng.randint(0, len(lengths)), rng.choice([256, 320, 384, 512]))
        block = rng.choice([64, 128])
        if 2 * sum(lengths) != len(lengths) * max(lengths) and any(p % block for p in lengths):
            break
    return {
        "lengths": lengths,
        "block": block,
        "launch_us": rng.randint(15, 25),
        "setup_us": rng.randint(10, 20),
        "position_us": Fraction(rng.randint(5, 15), 100),
        "pair_us": Fraction(rng.randint(3, 9), 10_000),
    }


def _squared(answers: Given) -> bool:
    return bool(near(answers["attention"], answers["linear"] ** 2))


def _whole_square(done: Given) -> bool:
    return bool(done["pairs"] == done["positions"] ** 2)


EXERCISE = Exercise(
    id="31.3",
    title="填充利用率与变长内核",
    minutes=40,
    difficulty=2,
    statement="""
一批提示的长度为 `lengths = {lengths}`。**填充内核**让每一条都真实执行到本批最大长度：线性层按位置执行，注意力显式算出完整的方阵，每条都是最大长度乘最大长度个配对。长度利用率是有效部分占执行部分的比例：线性层比位置数；注意力比方阵，有效部分是每条自身长度的平方。

- **a 计算**：利用率 `linear` 和 `attention`，都是 0 到 1 之间的数。
- **b 构造**：写函数 `utilisation(lengths, executed)`。`executed[i]` 是内核让第 i 条真实执行到的长度。式 31.3 描述这个内核时，返回它的两个值 `{{"linear": …, "attention": …}}`；不描述时返回 `None`。式中的最大长度是 `lengths` 里最长的一条，长度都是正整数。
- **c 构造**：写函数 `varlen_work(lengths, block)`，数一个**变长内核**真实执行的量，返回字典 `{{"positions": …, "pairs": …}}`，都是整数。它把每条提示单独切成 `block` 个位置一块，最后一块补满。线性层执行补满后的全部位置。注意力的方阵按 `block × block` 的方格执行：因果掩码下（查询看得见自己和前面的位置），一格里只要有一个查询看得见的键，整格都算；完全看不见的格跳过。
- **d 计算**：为这一批假设一种时间模型，单位微秒：启动 {launch_us}，每执行一个位置 {position_us}，每执行一个配对 {pair_us}；变长内核还要另花 {setup_us} 准备偏移表和工作区，块长 `block = {block}`。求填充内核的 `padded_us`、变长内核的 `varlen_us`，以及加速比 `speedup`，即前者除以后者。
- **e 解释**：式 31.3 何时成立？为什么它的值不能直接用于变长内核，它的倒数也不是加速比？

数值的相对误差不超过十亿分之一即可。可以用 Python 标准库、numpy 和 sympy，不能用 labkit。
""",
    given={
        "lengths": [64, 64, 256],
        "block": 128,
        "launch_us": 20,
        "setup_us": 15,
        "position_us": Fraction("0.1"),
        "pair_us": Fraction("0.0005"),
    },
    notes={
        "lengths": "各提示的长度",
        "block": "变长内核的块长，位置",
        "launch_us": "启动，微秒",
        "setup_us": "变长内核的偏移表与工作区，微秒",
        "position_us": "每个位置，微秒",
        "pair_us": "每个配对，微秒",
    },
    draw=draw,
    misconceptions={
        "inverse": Misconception("利用率是有效部分除以执行部分，不超过 1，分子分母颠倒了。", "31.2"),
        "waste": Misconception("要的是被利用的比例，不是被浪费的比例。", "31.2"),
        "square-of-linear": Misconception(
            "先把每条长度平方再相加，不是先相加再平方：注意力的利用率不是线性利用率的平方。", "31.2"
        ),
        "count-squared": Misconception(
            "每条序列有自己的方阵，方阵的个数是序列数，不是序列数的平方。", "31.2"
        ),
        "same-for-both": Misconception("注意力的方阵按长度的平方执行，不能沿用线性层的比例。", "31.2"),
        "causal": Misconception(
            "式 31.3 比较的是显式算出的完整方阵，分子是长度的平方，因果掩码只看得见一半不影响这个式子。",
            "31.2",
        ),
        "percent": Misconception("答案是 0 到 1 之间的比例，不是百分数。", "31.2"),
        "always-applies": Misconception(
            "没有看真实执行到的长度：不是每条都执行到本批最大长度时，式 31.3 不适用。", "31.2"
        ),
        "executed-ratio": Misconception(
            "有效部分除以真实执行的部分可以另作统计，但那已不是式 31.3，此时应返回 None。", "31.2"
        ),
        "longer-shape": Misconception(
            "每条执行得一样长还不够：式 31.3 的分母是本批最大长度，执行到更长的形状时它不描述这个内核。",
            "31.2",
        ),
        "zero-not-none": Misconception("不适用就是没有这个值，不能以 0 或 1 代替。", "31.2"),
        "padded-lengths": Misconception("变长内核不把每条填充到本批最大长度，各条按自己的长度切块。", "31.2"),
        "no-alignment": Misconception("没有计入块对齐：最后一块补满后整块执行，方格也整格执行。", "31.2"),
        "floor-blocks": Misconception("不满一块也要占一块，块数向上取整。", "31.2"),
        "no-mask": Misconception("因果掩码下完全看不见的方格被跳过，不执行完整的方阵。", "31.2"),
        "diagonal-skipped": Misconception("对角线上的方格里有看得见的键，要执行。", "31.2"),
        "diagonal-halved": Misconception(
            "掩码不减少格内的计算：对角线上的方格虽有一部分看不见，仍整格执行。", "31.2"
        ),
        "one-sequence": Misconception("各条提示分开切块再相加，不能首尾相接当成一条。", "31.2"),
        "reciprocal": Misconception(
            "把利用率的倒数当成了加速比。加速比是两个时间之比，时间里还有启动、对齐和工作区。", "31.2"
        ),
        "speedup-inverted": Misconception("加速比是填充内核的时间除以变长内核的时间，颠倒了。", "31.2"),
        "setup-forgotten": Misconception("变长内核的偏移表和工作区也花时间。", "31.2"),
        "setup-in-both": Misconception("填充内核不需要偏移表。", "31.2"),
        "ideal-work": Misconception(
            "变长内核的时间按它真实执行的量计，补满的块也算，不是只算有效部分。", "31.2"
        ),
        "launch-per-sequence": Misconception("一批只启动一次，不是每条启动一次。", "31.2"),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.2",
            answers=(Answer("linear", RATIO), Answer("attention", RATIO)),
            hints=(
                Hint("percent", lambda a, g: a["linear"] >= 10),
                Hint("inverse", lambda a, g: 1 < a["linear"] < 10),
                Hint("square-of-linear", lambda a, g: _squared(a)),
                Hint("same-for-both", lambda a, g: near(a["attention"], a["linear"])),
                # The longer a sequence the better it fills: squaring weights short ones less, so the ratio falls.
                Hint("waste", lambda a, g: a["linear"] < a["attention"] < 1),
            ),
        ),
        Part(
            "b",
            "build",
            "31.2",
            answers=(
                Answer(
                    "utilisation",
                    Function(
                        Maybe(Record({"linear": RATIO, "attention": RATIO})), example=([2, 3, 4], [4, 4, 4])
                    ),
                    points=3,
                ),
            ),
            hints=(
                Hint("always-applies", lambda a, g: a["utilisation"]([2, 4], [2, 4]) is not None),
                Hint("inverse", lambda a, g: a["utilisation"]([2, 4], [4, 4])["linear"] > 1),
                Hint(
                    "square-of-linear",
                    lambda a, g: _squared(a["utilisation"]([2, 4], [4, 4])),
                ),
            ),
        ),
        Part(
            "c",
            "build",
            "31.2",
            answers=(
                Answer(
                    "varlen_work",
                    Function(Record({"positions": Whole(), "pairs": Whole()}), example=([5, 9], 4)),
                    points=4,
                ),
            ),
            hints=(
                Hint("no-alignment", lambda a, g: a["varlen_work"](*SMALL)["positions"] % 64 != 0),
                Hint("no-alignment", lambda a, g: a["varlen_work"](*SMALL)["pairs"] % 64**2 != 0),
                Hint("no-mask", lambda a, g: _whole_square(a["varlen_work"]([150], 64))),
                Hint("diagonal-skipped", lambda a, g: a["varlen_work"]([40], 64)["pairs"] == 0),
                # A prompt's work does not depend on what else is in the batch.
                Hint(
                    "padded-lengths",
                    lambda a, g: (
                        a["varlen_work"]([40, 100], 64)["positions"]
                        > a["varlen_work"]([40], 64)["positions"] + a["varlen_work"]([100], 64)["positions"]
                    ),
                ),
            ),
        ),
        Part(
            "d",
            "compute",
            "31.2",
            answers=(
                Answer("padded_us", MICROSECONDS),
                Answer("varlen_us", MICROSECONDS),
                Answer("speedup", RATIO),
            ),
            hints=(
                Hint("speedup-inverted", lambda a, g: near(a["speedup"] * a["padded_us"], a["varlen_us"])),
                Hint("reciprocal", lambda a, g: not near(a["speedup"] * a["varlen_us"], a["padded_us"])),
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
