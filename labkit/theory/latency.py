"""One request's times: TTFT, ITL and TPOT, and the last token (E31.1, E31.2)."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Point
from labkit.theory.rules import Given, Rearrange, Substitute
from labkit.theory.rules_sums import Telescope
from labkit.theory.symbols import Quantity, real, whole

A, TOKENS, J = real("a"), sp.Symbol("O", integer=True, positive=True), whole("j", 1)
U = sp.IndexedBase("u", real=True)
TTFT, TPOT = real(r"\mathrm{TTFT}"), real(r"\mathrm{TPOT}")
ITL = sp.IndexedBase(r"\mathrm{ITL}", real=True)


@cache
def last_token() -> Derivation:
    """E31.2: the gaps telescope, so their mean is TPOT and u_O − a = TTFT + (O − 1)·TPOT. Source: chapter 31.1."""

    def points(draw: random.Random) -> Point:
        tokens, moments = draw.randint(2, 9), [Fraction(draw.randint(0, 99), 7)]
        for _ in range(tokens):
            moments.append(moments[-1] + Fraction(draw.randint(0, 60), draw.randint(1, 9)))
        return {A: moments[0], TOKENS: tokens, U: moments, J: draw.randint(2, tokens)}

    def gap(at: At, j: Any) -> Fraction:
        return at[U][int(j)] - at[U][int(j) - 1]

    def per_token(at: At) -> Fraction:
        gaps = [gap(at, j) for j in range(2, at[TOKENS] + 1)]
        return sum(gaps, Fraction(0)) / len(gaps)

    last = TTFT + (TOKENS - 1) * TPOT
    return derivation(
        "last_token",
        ("E31.1", "E31.2"),
        step("ttft", Given(), TTFT, U[1] - A),
        step("gap", Given(), ITL[J], U[J] - U[J - 1]),
        step("mean", Given(), TPOT, sp.Sum(ITL[J], (J, 2, TOKENS)) / (TOKENS - 1)),
        step("put", Substitute(using=("gap",)), TPOT, sp.Sum(U[J] - U[J - 1], (J, 2, TOKENS)) / (TOKENS - 1)),
        step("tpot", Telescope(g=U[J - 1]), TPOT, (U[TOKENS] - U[1]) / (TOKENS - 1)),
        step("span", Rearrange(factor=1 - TOKENS), U[TOKENS] - U[1], (TOKENS - 1) * TPOT),
        step("last", Rearrange(), U[TOKENS] - A, (U[1] - A) + (TOKENS - 1) * TPOT),
        step("identity", Substitute(using=("ttft",), back=("ttft",)), U[TOKENS] - A, last),
        quantities=(
            Quantity(J, "token", "第几个词元", "which token"),
            Quantity(A, "arrival", "到达时刻", "arrival", "s"),
            Quantity(TOKENS, "output_tokens", "输出词元数", "output tokens"),
            Quantity(U, "delivered", "收到第 j 个词元的时刻", "when token j is received", "s"),
            Quantity(TTFT, "ttft", "首词元时延", "time to first token", "s"),
            Quantity(ITL, "itl", "第 j 个词元间时延", "inter-token latency of token j", "s"),
            Quantity(TPOT, "tpot", "平均输出词元时间", "time per output token", "s"),
        ),
        points=points,
        meanings={TTFT: lambda at: at[U][1] - at[A], TPOT: per_token, ITL: gap},
        source="E31.1, E31.2",
        assume={TOKENS: whole("m", 1) + 1},
    )
