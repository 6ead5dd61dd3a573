"""Two exponential stages whose quantiles do add (late together) and do not (independent) (C19, Q31.8)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from random import Random

import sympy as sp

from labkit.theory import chains
from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Point
from labkit.theory.rules import Evaluate, Given, Rewrite, Solve, Substitute
from labkit.theory.rules_calculus import Antiderivative
from labkit.theory.symbols import Quantity, positive

T, X, LEVEL = positive("t"), positive("x"), positive("u")
A, B = positive(r"\alpha"), positive(r"\beta")
TAIL = sp.Function(r"\Pr\nolimits_{\beta=\circ}(X+Y>\cdot)", positive=True)  # of t and β
FACTOR = positive("v")
Q_FIRST, Q_SECOND, Q_SUM = positive("x_{0.99}"), positive("y_{0.99}"), positive("t_{0.99}")

RATES_Q = (
    Quantity(A, "service_rate", "第一段的速率", "rate of the first stage", "1/ms"),
    Quantity(B, "service_rate", "第二段的速率", "rate of the second stage", "1/ms"),
)
Q_SUM_Q = Quantity(Q_SUM, "sojourn", "两段之和的 p99", "99th percentile of the sum", "ms")
HUNDREDTH = sp.Rational(1, 100)
SLOW = sp.log(100) / 100  # the rate whose 99th percentile is 100 ms


def _points(draw: Random) -> Point:
    first, second = draw.sample(range(1, 10), 2)
    return {A: Fraction(first, 40), B: Fraction(second, 40), T: Fraction(draw.randint(5, 40))}


def _border(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The greatest number up to which something holds, by bisection."""
    for _ in range(55):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@cache
def comonotone() -> Derivation:
    """C19: when one cause makes both stages late together, quantiles do add: p99 100 and 200 ms make 300 ms.

    Both are driven by one uniform level u: X = −log(u)/α, Y = −log(u)/β, and the sum exceeds t below one border u.
    """

    def rates(at: At) -> tuple[float, float]:
        """As drawn, or those of the 99th percentiles that a step gives."""
        if Q_FIRST in at:
            return math.log(100) / float(at[Q_FIRST]), math.log(100) / float(at[Q_SECOND])
        return float(at[A]), float(at[B])

    def level(at: At, t: float) -> float:
        """The share of the levels u for which the two, made from the same u, exceed t together."""
        first, second = rates(at)
        return _border(lambda u: u == 0 or -math.log(u) / first - math.log(u) / second > t, 0, 1)

    def single(at: At, which: int) -> float:
        return _border(lambda x: math.exp(-rates(at)[which] * x) > 0.01, 0, 2000)

    split = sp.log(100) / A + sp.log(100) / B
    return derivation(
        "comonotone",
        "C19",
        step("together", Given(), T, -sp.log(LEVEL) / A - sp.log(LEVEL) / B),
        step("level", Solve(), LEVEL, sp.exp(-T / (1 / A + 1 / B))),
        step("at_p99", Evaluate(of="together", values={LEVEL: HUNDREDTH, T: Q_SUM}), Q_SUM, split),
        step("first", Given(), Q_FIRST, sp.log(100) / A),
        step("second", Given(), Q_SECOND, sp.log(100) / B),
        step(
            "added",
            Substitute(of="at_p99", using=("first", "second"), back=("first", "second")),
            Q_SUM,
            Q_FIRST + Q_SECOND,
        ),
        step("asked", Evaluate(values={Q_FIRST: 100, Q_SECOND: 200}), Q_SUM, 300),
        quantities=(
            *RATES_Q,
            Quantity(T, "sojourn", "两段之和", "the sum of both", "ms"),
            Quantity(LEVEL, "probability", "和超过 t 的概率", "probability that the sum exceeds t"),
            Quantity(Q_FIRST, "wait", "第一段的 p99", "99th percentile of the first stage", "ms"),
            Quantity(Q_SECOND, "service", "第二段的 p99", "99th percentile of the second stage", "ms"),
            Q_SUM_Q,
        ),
        points=_points,
        source="C19, Q31.8",
        meanings={
            LEVEL: lambda at: level(at, float(at[T])),
            Q_SUM: lambda at: _border(lambda t: level(at, t) > 0.01, 0, 2000),
            Q_FIRST: lambda at: single(at, 0),
            Q_SECOND: lambda at: single(at, 1),
        },
    )


@cache
def independent() -> Derivation:
    """C19: independent exponential stages with p99 100 and 200 ms: Pr(X+Y > 300) = 0.001999, p99 of the sum 230.0 ms.

    Source: ledger C19, Q31.8.
    """

    @cache
    def slowest(first: float) -> float:
        """The 99th percentile of the sum where the second stage has half the rate, by bisection."""
        return _border(lambda t: chains.two_stages_tail(first, first / 2, t) > 0.01, 0, 4000)

    def p99(at: At) -> float:
        return slowest(float(at[A]))

    convolved = sp.exp(-A * T) + sp.Integral(A * sp.exp(-A * X) * sp.exp(-B * (T - X)), (X, 0, T))
    closed = (A * sp.exp(-B * T) - B * sp.exp(-A * T)) / (A - B)
    half = 2 * sp.exp(-A * T / 2) - sp.exp(-A * T)
    root = 1 - 3 * sp.sqrt(11) / 10
    return derivation(
        "independent",
        "C19",
        step("convolution", Given(), TAIL(T, B), convolved),
        step(
            "integral",
            Antiderivative(f=-A * sp.exp(-B * T) * sp.exp(-(A - B) * X) / (A - B)),
            TAIL(T, B),
            sp.exp(-A * T) + A * (sp.exp(-B * T) - sp.exp(-A * T)) / (A - B),
        ),
        step("tail", Rewrite(), TAIL(T, B), closed),
        step("half", Evaluate(values={B: A / 2}), TAIL(T, A / 2), half),
        step("at_300", Evaluate(values={A: SLOW, T: 300}), TAIL(300, SLOW / 2), sp.Rational(1999, 10**6)),
        step("factor", Given(), FACTOR, sp.exp(-A * Q_SUM / 2)),
        step("level", Given(), HUNDREDTH, 2 * FACTOR - FACTOR**2),
        step("root", Solve(), FACTOR, root),
        step("equal", Substitute(of="factor", using=("root",)), root, sp.exp(-A * Q_SUM / 2)),
        step("quantile", Solve(), Q_SUM, -2 * sp.log(root) / A),
        step("asked", Evaluate(values={A: SLOW}), Q_SUM, -200 * sp.log(root) / sp.log(100)),
        quantities=(
            Quantity(T, "seconds", "时间", "time", "ms"),
            *RATES_Q,
            Quantity(TAIL, "sojourn", "两段之和的尾概率", "tail of the sum"),
            Quantity(
                FACTOR,
                "probability",
                "第二段超过 p99 的概率",
                "probability that the second stage alone exceeds it",
            ),
            Q_SUM_Q,
        ),
        points=_points,
        source="C19, Q31.8",
        assume={FACTOR: 1 / (1 + positive("d"))},
        meanings={
            TAIL: lambda at, t, second: chains.two_stages_tail(float(at[A]), float(second), float(t)),
            Q_SUM: p99,
            FACTOR: lambda at: math.exp(-float(at[A]) * p99(at) / 2),
        },
    )
