"""Words of the derivations on quantiles of a sum."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "union_bound": {
        "title": ("并集界：不问两段怎样相关", "The union bound: however the two stages depend"),
        "conditions": ("任意联合分布，两段可以相关。", "any joint law; the stages may depend on each other."),
        "events": (
            "和超过 $x+y$，至少一段超过自己的阈值。",
            "If the sum exceeds $x+y$, one stage at least exceeds its own threshold.",
        ),
        "expectation": (
            "每个结果都成立，按概率加权也成立。",
            "It holds for every outcome, so for their weighted sum.",
        ),
        "sum": ("左边是和的尾概率。", "The left side is the tail of the sum."),
        "first": ("第一段的尾概率。", "The first stage's tail."),
        "second": ("第二段的尾概率。", "The second stage's tail."),
        "tails": ("换成三个尾概率。", "In terms of the three tails."),
        "bound_first": ("第一段的尾概率有上限。", "The first tail is bounded."),
        "bound_second": ("第二段也有。", "So is the second."),
        "union": ("两个上限相加。", "Add the two bounds."),
        "p99": ("两段各取 p99：只保证 98%。", "p99 each guarantees 98 % only."),
        "p99_5": ("要保证 99%，各取 p99.5。", "For 99 % take p99.5 each."),
    },
    "union_attained": {
        "title": ("有一个联合分布恰好取到并集界", "A joint law that attains the union bound"),
        "conditions": ("$\\epsilon_1+\\epsilon_2\\le1$，$h>0$。", "$\\epsilon_1+\\epsilon_2\\le1$, $h>0$."),
        "sum": ("和的尾概率，逐个结果相加。", "The tail of the sum, outcome by outcome."),
        "late": (
            "三个结果：只有第一段迟到，只有第二段迟到，都不迟。",
            "Three outcomes: the first late, the second late, neither.",
        ),
        "first_sum": ("第一段的尾概率。", "The first stage's tail."),
        "first": ("只有一个结果里它迟到。", "It is late in one outcome only."),
        "second_sum": ("第二段的尾概率。", "The second stage's tail."),
        "second": ("也只有一个。", "And so is the other."),
        "attained": (
            "从不同时迟到，尾概率就直接相加：界不能再小。",
            "Never late together, so the tails add: the bound cannot be smaller.",
        ),
        "p99": ("各取 p99，恰好是 2%。", "With p99 each it is 2 % exactly."),
    },
    "comonotone": {
        "title": ("同一原因使两段一起变慢：分位数可以相加", "One cause slows both: quantiles do add"),
        "conditions": (
            "两段都是指数分布，由同一个随机数决定。",
            "both stages exponential, made from one random number.",
        ),
        "together": (
            "同一个 $u$ 决定两段：和超过 $t$ 的概率是 $u$。",
            "One $u$ drives both: the sum exceeds $t$ with probability $u$.",
        ),
        "level": ("解出这个概率。", "Solve for that probability."),
        "at_p99": ("取 $u=1/100$。", "Take $u=1/100$."),
        "first": ("第一段自己的 p99。", "The first stage's own p99."),
        "second": ("第二段自己的 p99。", "The second stage's own p99."),
        "added": ("这时总和的 p99 就是两个 p99 之和。", "Here the sum's p99 is the sum of both."),
        "asked": ("100 加 200，正好 300 毫秒。", "100 and 200 make 300 ms."),
    },
    "independent": {
        "title": ("独立的两段：分位数不能相加", "Independent stages: quantiles do not add"),
        "conditions": (
            "两段都是指数分布，互相独立，$\\alpha\\ne\\beta$。",
            "both stages exponential and independent, $\\alpha\\ne\\beta$.",
        ),
        "convolution": (
            "第一段已超过 $t$，或由第二段补足。",
            "The first stage exceeds $t$ alone, or the second makes up the rest.",
        ),
        "integral": ("积分。", "Integrated."),
        "tail": ("整理。", "Tidied."),
        "half": ("第二段慢一倍：p99 正是两倍。", "The second half as fast: its p99 is twice the other."),
        "at_300": (
            "p99 是 100 和 200 毫秒时，超过 300 毫秒的约千分之二，不是百分之一。",
            "With p99 of 100 and 200 ms, two in a thousand exceed 300 ms, not one in a hundred.",
        ),
        "factor": ("把指数记作 $v$。", "Call the exponential $v$."),
        "level": ("总和的 p99：尾概率是百分之一。", "The sum's p99: a tail of one in a hundred."),
        "root": ("$v<1$ 的根只有一个。", "One root is below 1."),
        "equal": ("换回指数。", "Back to the exponential."),
        "quantile": ("取对数。", "Take logarithms."),
        "asked": ("约 230 毫秒，比 300 少得多。", "About 230 ms, far from 300."),
    },
}
