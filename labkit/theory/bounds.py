"""Quantiles do not add, the union bound does (C19, footnote 2, Q31.8): the bound, and a law that attains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import sympy as sp

from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Meaning, Number, Point
from labkit.theory.rules import Cite, Evaluate, Given, Raise, Substitute
from labkit.theory.rules_sums import ByOrder, Expect
from labkit.theory.symbols import Exceeds, Quantity, positive, real, whole

COUNT, OMEGA = whole("m", 1), sp.Symbol(r"\omega", integer=True, positive=True)
WEIGHT = sp.IndexedBase("p", nonnegative=True)
FIRST, SECOND = sp.IndexedBase("X", real=True), sp.IndexedBase("Y", real=True)
X, Y, EXTRA = real("x"), real("y"), positive("h")
SUM_TAIL, FIRST_TAIL, SECOND_TAIL = positive(r"\Pr(X+Y>x+y)"), positive(r"\Pr(X>x)"), positive(r"\Pr(Y>y)")
E1, E2 = positive(r"\epsilon_1"), positive(r"\epsilon_2")

LAW_Q = (
    Quantity(COUNT, "count", "结果的个数", "number of outcomes"),
    Quantity(OMEGA, "outcome", "第几个结果", "which outcome"),
    Quantity(WEIGHT, "probability", "结果 ω 的概率", "probability of outcome ω"),
    Quantity(FIRST, "wait", "结果 ω 中的第一段时间", "first stage in outcome ω", "ms"),
    Quantity(SECOND, "service", "结果 ω 中的第二段时间", "second stage in outcome ω", "ms"),
    Quantity(X, "target", "第一段的阈值", "threshold of the first stage", "ms"),
    Quantity(Y, "target", "第二段的阈值", "threshold of the second stage", "ms"),
    Quantity(
        SUM_TAIL, "sojourn", "和超过两阈值之和的概率", "probability that the sum exceeds both thresholds' sum"
    ),
    Quantity(FIRST_TAIL, "wait", "第一段的尾概率", "tail of the first stage"),
    Quantity(SECOND_TAIL, "service", "第二段的尾概率", "tail of the second stage"),
    Quantity(E1, "union_bound", "第一段的尾概率上限", "bound of the first tail"),
    Quantity(E2, "union_bound", "第二段的尾概率上限", "bound of the second tail"),
)
ONE_IN_100, ONE_IN_200 = sp.Rational(1, 100), sp.Rational(1, 200)


def _chance(event: Callable[[Number, Number, At], bool]) -> Meaning:
    """The probability of an event, outcome by outcome."""

    def found(at: At) -> Number:
        total = Fraction(0)
        for i in range(1, int(at.number(COUNT)) + 1):
            if event(at.number(FIRST, i), at.number(SECOND, i), at):
                total += at.number(WEIGHT, i)
        return total

    return found


TAILS: Mapping[Any, Meaning] = {
    SUM_TAIL: _chance(lambda x, y, at: x + y > at[X] + at[Y]),
    FIRST_TAIL: _chance(lambda x, y, at: x > at[X]),
    SECOND_TAIL: _chance(lambda x, y, at: y > at[Y]),
}


def _weight(at: At, i: Number) -> Number:
    """Both late, the first alone, the second alone, and two more: late no oftener than the bounds allow."""
    first, second = at[E1] * at["shares"][0], at[E2] * at["shares"][1]
    both = min(first, second) * at["shares"][2]
    rest = 1 - first - second + both
    return (both, first - both, second - both, rest * at["shares"][3], rest * (1 - at["shares"][3]))[
        int(i) - 1
    ]


@cache
def union_bound() -> Derivation:
    """C19: Pr(X > x) ≤ ε₁ and Pr(Y > y) ≤ ε₂ give Pr(X+Y > x+y) ≤ ε₁ + ε₂, whatever the joint law.

    100 + 200 ms at p99 each: at most 0.02 over 300; p99.5 each makes 0.01. Source: chapter 31.5, footnote 2, Q31.8.
    """

    def points(draw: Random) -> Point:
        x, y = Fraction(draw.randint(0, 10), 2), Fraction(draw.randint(0, 10), 2)
        over, under = [[Fraction(draw.randint(low, 9), 2) for _ in range(6)] for low in (1, 0)]
        return {
            COUNT: 5,
            OMEGA: draw.randint(1, 5),
            X: x,
            Y: y,
            FIRST: [0, x + over[0], x + over[1], x - under[0], x - under[1], x - under[2]],
            SECOND: [0, y + over[2], y - under[3], y + over[3], y - under[4], y - under[5]],
            E1: Fraction(draw.randint(1, 40), 100),
            E2: Fraction(draw.randint(1, 40), 100),
            "shares": [Fraction(draw.randint(1, 4), 4) for _ in range(2)]
            + [Fraction(draw.randint(0, 4), 4) for _ in range(2)],
        }

    one, two = Exceeds(FIRST[OMEGA], X), Exceeds(SECOND[OMEGA], Y)
    both = Exceeds(FIRST[OMEGA] + SECOND[OMEGA], X + Y)
    over = (OMEGA, 1, COUNT)
    sums = [sp.Sum(WEIGHT[OMEGA] * part, over) for part in (both, one, two)]
    named = ("sum", "first", "second")
    return derivation(
        "union_bound",
        "C19",
        step(
            "events",
            ByOrder(groups=((X, FIRST[OMEGA]), (Y, SECOND[OMEGA])), alone=True),
            both,
            one + two,
            "<=",
        ),
        step("expectation", Expect(weight=WEIGHT[OMEGA], over=over), sums[0], sums[1] + sums[2], "<="),
        step("sum", Given(), SUM_TAIL, sums[0]),
        step("first", Given(), FIRST_TAIL, sums[1]),
        step("second", Given(), SECOND_TAIL, sums[2]),
        step(
            "tails",
            Substitute(of="expectation", using=named, back=named),
            SUM_TAIL,
            FIRST_TAIL + SECOND_TAIL,
            "<=",
        ),
        step("bound_first", Given(), FIRST_TAIL, E1, "<="),
        step("bound_second", Given(), SECOND_TAIL, E2, "<="),
        step("union", Raise(of="tails", using=("bound_first", "bound_second")), SUM_TAIL, E1 + E2, "<="),
        step("p99", Evaluate(values={E1: ONE_IN_100, E2: ONE_IN_100}), SUM_TAIL, sp.Rational(1, 50), "<="),
        step(
            "p99_5", Evaluate(of="union", values={E1: ONE_IN_200, E2: ONE_IN_200}), SUM_TAIL, ONE_IN_100, "<="
        ),
        quantities=LAW_Q,
        points=points,
        meanings={**TAILS, WEIGHT: _weight},
        source="C19, footnote 2, Q31.8",
    )


@cache
def union_attained() -> Derivation:
    """C19: a joint law that reaches the bound: either the first stage is late or the second, never both.

    X = x + h with probability ε₁ (then Y = y), Y = y + h with ε₂ (then X = x), else both at their thresholds.
    """
    source = union_bound()
    law = {
        COUNT: 3,
        WEIGHT[1]: E1,
        WEIGHT[2]: E2,
        WEIGHT[3]: 1 - E1 - E2,
        FIRST[1]: X + EXTRA,
        FIRST[2]: X,
        FIRST[3]: X,
        SECOND[1]: Y,
        SECOND[2]: Y + EXTRA,
        SECOND[3]: Y,
    }

    def points(draw: Random) -> Point:
        return {
            COUNT: 3,
            X: Fraction(draw.randint(1, 99)),
            Y: Fraction(draw.randint(1, 99)),
            EXTRA: Fraction(draw.randint(1, 40), 3),
            E1: Fraction(draw.randint(1, 30), 100),
            E2: Fraction(draw.randint(1, 30), 100),
        }

    def member(*three: Callable[[At], Number]) -> Meaning:
        return lambda at, i: three[int(i) - 1](at)

    def cited(name: str) -> tuple[Any, ...]:
        claim = source.step(name).claim
        return Cite(source=source, step=name), claim.left, claim.right

    return derivation(
        "union_attained",
        "C19",
        step("sum", *cited("sum")),
        step("late", Evaluate(values=law), SUM_TAIL, E1 + E2),
        step("first_sum", *cited("first")),
        step("first", Evaluate(values=law), FIRST_TAIL, E1),
        step("second_sum", *cited("second")),
        step("second", Evaluate(values=law), SECOND_TAIL, E2),
        step(
            "attained",
            Substitute(of="late", using=("first", "second"), back=("first", "second")),
            SUM_TAIL,
            FIRST_TAIL + SECOND_TAIL,
        ),
        step(
            "p99", Evaluate(of="late", values={E1: ONE_IN_100, E2: ONE_IN_100}), SUM_TAIL, sp.Rational(1, 50)
        ),
        quantities=(*LAW_Q, Quantity(EXTRA, "delay", "迟到多少", "by how much it is late", "ms")),
        points=points,
        source="C19, Q31.8",
        meanings={
            **TAILS,
            WEIGHT: member(lambda at: at[E1], lambda at: at[E2], lambda at: 1 - at[E1] - at[E2]),
            FIRST: member(lambda at: at[X] + at[EXTRA], lambda at: at[X], lambda at: at[X]),
            SECOND: member(lambda at: at[Y], lambda at: at[Y] + at[EXTRA], lambda at: at[Y]),
        },
    )
