"""Beyond the chapter: one server, any service time (Pollaczek–Khinchine)."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from random import Random

import sympy as sp

from labkit.theory import chains
from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Number, Point
from labkit.theory.rules import Given, Solve, Substitute
from labkit.theory.rules_calculus import Antiderivative
from labkit.theory.symbols import ARRIVAL_RATE as LAM
from labkit.theory.symbols import LAMBDA, RHO, Quantity, positive
from labkit.theory.symbols import UTILISATION as R

S, V = positive("s"), positive("v")
FIRST_MOMENT, SECOND_MOMENT = positive(r"\mathbb{E}[S]"), positive(r"\mathbb{E}[S^2]")
RESIDUAL, AREA = positive(r"\mathbb{E}[S_r]"), sp.Function("A", positive=True)
WAIT, WAITING = positive(r"\mathbb{E}[W_q]"), positive(r"\mathbb{E}[N_q]")
FAST, SLOW, CHANCE = positive(r"\mu_1"), positive(r"\mu_2"), positive("p")


def _mixed(draw: Random) -> Point:
    """Services of one of two rates, the load between a tenth and a half."""
    fast, slow = Fraction(draw.randint(8, 20)), Fraction(draw.randint(3, 7))
    chance = Fraction(draw.randint(1, 9), 10)
    mean = chance / fast + (1 - chance) / slow
    return {
        FAST: fast,
        SLOW: slow,
        CHANCE: chance,
        LAM: Fraction(draw.randint(1, 5), 10) / mean,
        S: Fraction(draw.randint(1, 9), 4),
    }


def _solved(at: At) -> tuple[float, float, float]:
    return chains.two_phase(float(at[LAM]), (float(at[FAST]), float(at[SLOW])), float(at[CHANCE]))


@cache
def pollaczek_khinchine() -> Derivation:
    """E[Wq] = λE[S²]/(2(1−ρ)) for any service time, one server, FCFS. Pollaczek 1930, Khinchine 1932.

    The points are a chain with services of two exponential rates, solved whole.
    """

    def mean(at: At) -> Number:
        return at[CHANCE] / at[FAST] + (1 - at[CHANCE]) / at[SLOW]

    def square(at: At) -> Number:
        return 2 * at[CHANCE] / at[FAST] ** 2 + 2 * (1 - at[CHANCE]) / at[SLOW] ** 2

    def triangle(at: At, s: Number) -> Number:
        """The area under what is left of a service of length s: strips between its ends, and their mean."""
        strips = [s - s * Fraction(i, 64) for i in range(65)]
        return sum((a + b) / 2 * s / 64 for a, b in itertools.pairwise(strips))

    return derivation(
        "pollaczek_khinchine",
        "beyond",
        step("left", Given(), AREA(S), sp.Integral(S - V, (V, 0, S))),
        step("triangle", Antiderivative(f=S * V - V**2 / 2), AREA(S), S**2 / 2),
        step("residual", Given(), RESIDUAL, SECOND_MOMENT / 2 / FIRST_MOMENT),
        step("rho", Given(), R, LAM * FIRST_MOMENT),
        step("work", Given(), WAIT, WAITING * FIRST_MOMENT + R * RESIDUAL),
        step("little", Given(), WAITING, LAM * WAIT),
        step("put", Substitute(of="work", using=("little",)), WAIT, LAM * WAIT * FIRST_MOMENT + R * RESIDUAL),
        step(
            "load",
            Substitute(using=("rho",)),
            WAIT,
            LAM * WAIT * FIRST_MOMENT + LAM * FIRST_MOMENT * RESIDUAL,
        ),
        step(
            "again",
            Substitute(using=("residual",)),
            WAIT,
            LAM * WAIT * FIRST_MOMENT + LAM * SECOND_MOMENT / 2,
        ),
        step("solved", Solve(), WAIT, LAM * SECOND_MOMENT / (2 * (1 - LAM * FIRST_MOMENT))),
        step("formula", Substitute(using=("rho",), back=("rho",)), WAIT, LAM * SECOND_MOMENT / (2 * (1 - R))),
        quantities=(
            Quantity(S, "service", "一次服务的长度", "length of one service", "s"),
            LAMBDA,
            RHO,
            Quantity(
                AREA, "residence_area", "一次服务剩余时间的面积", "area of what is left of one service", "s²"
            ),
            Quantity(FIRST_MOMENT, "service", "平均服务时间", "mean service time", "s"),
            Quantity(SECOND_MOMENT, "service", "服务时间的二阶矩", "second moment of the service time", "s²"),
            Quantity(
                RESIDUAL,
                "service",
                "服务中者的平均剩余时间",
                "mean remainder of the service in progress",
                "s",
            ),
            Quantity(WAITING, "load", "平均等待人数", "mean number waiting"),
            Quantity(WAIT, "waits_total", "平均等待", "mean wait", "s"),
        ),
        points=_mixed,
        source="Pollaczek 1930; Khinchine 1932",
        assume={LAM: 1 / (FIRST_MOMENT + positive("e"))},
        meanings={
            AREA: triangle,
            FIRST_MOMENT: mean,
            SECOND_MOMENT: square,
            R: lambda at: _solved(at)[1],
            RESIDUAL: lambda at: _solved(at)[2],
            WAITING: lambda at: _solved(at)[0],
            WAIT: lambda at: _solved(at)[0] / float(at[LAM]),
        },
    )
