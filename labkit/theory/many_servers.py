"""Beyond the chapter: several servers (M/M/c), Erlang C and the wait's tail."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import sympy as sp

from labkit.theory import chains
from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Meaning, Number, Point
from labkit.theory.mm1_tail import stage_transform
from labkit.theory.rules import Cite, Evaluate, Given, Rearrange, Rewrite, Solve, Substitute
from labkit.theory.rules_calculus import Antiderivative, InvertTransform
from labkit.theory.rules_sums import Induct, Telescope
from labkit.theory.symbols import ARRIVAL_RATE as LAM
from labkit.theory.symbols import LAMBDA, MU, RHO, Quantity, positive, whole
from labkit.theory.symbols import SERVICE_RATE as M
from labkit.theory.symbols import UTILISATION as R

N, K, J, C = whole("n"), whole("k"), whole("j"), whole("c", 1)
T, X, Z = positive("t"), positive("x"), positive("z")
PI = sp.IndexedBase(r"\pi", nonnegative=True)
OFFERED = positive("A")
WAITS = positive(r"\Pr(W_{q}>0)")
LATE = sp.Function(r"\Pr(W_{q}>\cdot)", positive=True)
DENSITY = sp.Function("f_{W_q}", positive=True)
STAGE, PART = positive(r"\mathbb{E}[e^{-zS_c}]"), positive(r"\mathbb{E}[e^{-zW_q};\,W_q>0]")


def _many(draw: Random) -> Point:
    servers = draw.randint(2, 5)
    return {
        C: servers,
        M: Fraction(draw.randint(2, 8), 2),
        "load": Fraction(draw.randint(2, 6), 10),
        N: draw.randint(0, servers - 1),
        K: draw.randint(0, 6),
        T: Fraction(draw.randint(1, 8), 8),
        Z: Fraction(draw.randint(2, 12), 2),
    }


def _model(at: At) -> tuple[float, float, int]:
    return float(at.number(LAM)), float(at[M]), int(at[C])


def _probability(at: At, n: Number) -> float:
    law = chains.number_inside(*_model(at))
    return float(law[int(n)]) if n < len(law) else 0.0


@cache
def _transform(arrival: float, service: float, servers: int, z: float) -> float:
    return chains.laplace(lambda times: chains.waits_many(arrival, service, servers, times), z)


MANY: Mapping[Any, Meaning] = {
    LAM: lambda at: at["load"] * at[C] * at[M],
    R: lambda at: at["load"],
    PI: _probability,
    OFFERED: lambda at: float(
        sum(min(n, at[C]) * p for n, p in enumerate(chains.number_inside(*_model(at))))
    ),
    WAITS: lambda at: float(chains.number_inside(*_model(at))[int(at[C]) :].sum()),
    STAGE: lambda at: stage_transform(at[C] * at[M], at[Z]),
    PART: lambda at: _transform(*_model(at), float(at[Z])),
    LATE: lambda at, t: float(chains.waits_many(*_model(at), float(t))),
    DENSITY: lambda at, t: chains.waits_now(*_model(at), float(t)),
}
MANY_Q = (
    LAMBDA,
    MU,
    RHO,
    Quantity(C, "servers", "服务台数", "number of servers"),
    Quantity(PI, "load", "系统内有 n 个请求的稳态概率", "stationary probability of n inside"),
    Quantity(WAITS, "waits_total", "需要等待的概率", "probability of having to wait"),
)
MANY_STABLE = {LAM: C * M / (1 + positive("d")), R: 1 / (1 + positive("d"))}


@cache
def erlang_c() -> Derivation:
    """M/M/c: an arrival waits with probability π_c/(1−ρ) (Erlang C). Beyond the chapter; Erlang 1917.

    The sum over k < c stays a sum: its closed form is an incomplete gamma function and says less.
    """
    top = OFFERED**C / sp.factorial(C)
    below = sp.Sum(OFFERED**J / sp.factorial(J), (J, 0, C - 1))
    return derivation(
        "erlang_c",
        "beyond",
        step("offered", Given(), OFFERED, LAM / M),
        step("balance", Given(), LAM * PI[N], (N + 1) * M * PI[N + 1]),
        step("next", Rearrange(factor=-1 / (M * (N + 1))), PI[N + 1], LAM / M * PI[N] / (N + 1)),
        step(
            "ratio", Substitute(using=("offered",), back=("offered",)), PI[N + 1], OFFERED * PI[N] / (N + 1)
        ),
        step("few", Induct(index=N, carry=OFFERED / (N + 1)), PI[N], OFFERED**N / sp.factorial(N) * PI[0]),
        step("at_c", Evaluate(values={N: C}), PI[C], top * PI[0]),
        step("rho", Given(), R, LAM / (C * M)),
        step("full", Given(), LAM * PI[C + K], C * M * PI[C + K + 1]),
        step("on", Rearrange(factor=-1 / (C * M)), PI[C + K + 1], LAM / (C * M) * PI[C + K]),
        step("by_rho", Substitute(using=("rho",), back=("rho",)), PI[C + K + 1], R * PI[C + K]),
        step("many", Induct(index=K, carry=R), PI[C + K], R**K * PI[C]),
        step("waits", Given(), WAITS, sp.Sum(PI[C + K], (K, 0, sp.oo))),
        step("put", Substitute(using=("many",)), WAITS, sp.Sum(R**K * PI[C], (K, 0, sp.oo))),
        step("closed", Telescope(g=-(R**K) * PI[C] / (1 - R)), WAITS, PI[C] / (1 - R)),
        step("tail", Substitute(using=("at_c",)), WAITS, top * PI[0] / (1 - R)),
        step("all", Given(), 1, sp.Sum(PI[J], (J, 0, C - 1)) + WAITS),
        step(
            "all_put",
            Substitute(using=("few", "tail"), at={"few": {N: J}}),
            1,
            sp.Sum(OFFERED**J / sp.factorial(J) * PI[0], (J, 0, C - 1)) + top * PI[0] / (1 - R),
        ),
        step("empty", Solve(), PI[0], 1 / (below + top / (1 - R))),
        step(
            "erlang", Substitute(of="tail", using=("empty",)), WAITS, top / (1 - R) / (below + top / (1 - R))
        ),
        step("single", Evaluate(values={C: 1, OFFERED: R}), WAITS, R),
        quantities=(
            Quantity(N, "load", "系统内的请求数", "number of requests inside"),
            Quantity(K, "load", "在等的请求数", "number of requests waiting"),
            *MANY_Q,
            Quantity(OFFERED, "offered_load", "平均占用的服务台数", "mean number of busy servers"),
        ),
        points=_many,
        meanings=MANY,
        source="Erlang 1917",
        assume=MANY_STABLE,
    )


@cache
def many_servers_wait() -> Derivation:
    """M/M/c, FCFS: Pr(Wq > t) = C·exp(−(cμ−λ)t) with Erlang's C. Beyond the chapter; Erlang 1917.

    An arrival that finds c + k waits for k + 1 ends of service, which come at rate cμ while all servers are busy.
    """
    source, total = erlang_c(), C * M
    decay = total - LAM
    closed = PI[C] * total / (total + Z) / (1 - R * total / (total + Z))
    g = -PI[C] * R**K * (total / (total + Z)) ** (K + 1) / (1 - R * total / (total + Z))
    many, waits = (source.step(name).claim for name in ("many", "closed"))
    return derivation(
        "many_servers_wait",
        "beyond",
        step(
            "stage", Given(), STAGE, sp.Integral(sp.exp(-Z * X) * total * sp.exp(-total * X), (X, 0, sp.oo))
        ),
        step(
            "exponential",
            Antiderivative(f=-total * sp.exp(-(total + Z) * X) / (total + Z)),
            STAGE,
            total / (total + Z),
        ),
        step("many", Cite(source=source, step="many"), many.left, many.right),
        step("conditional", Given(), PART, sp.Sum(PI[C + K] * STAGE ** (K + 1), (K, 0, sp.oo))),
        step(
            "sum",
            Substitute(using=("exponential", "many")),
            PART,
            sp.Sum(R**K * PI[C] * (total / (total + Z)) ** (K + 1), (K, 0, sp.oo)),
        ),
        step("closed", Telescope(g=g), PART, closed),
        step("rho", Given(), R, LAM / total),
        step("rates", Substitute(of="closed", using=("rho",)), PART, PI[C] * total / (decay + Z)),
        step(
            "density",
            InvertTransform(t=T, z=Z, f=-PI[C] * total * sp.exp(-(decay + Z) * T) / (decay + Z)),
            DENSITY(T),
            PI[C] * total * sp.exp(-decay * T),
        ),
        step("tail", Given(), LATE(T), sp.Integral(DENSITY(X), (X, T, sp.oo))),
        step(
            "put",
            Substitute(using=("density",), at={"density": {T: X}}),
            LATE(T),
            sp.Integral(PI[C] * total * sp.exp(-decay * X), (X, T, sp.oo)),
        ),
        step(
            "law_t",
            Antiderivative(f=-PI[C] * total * sp.exp(-decay * X) / decay),
            LATE(T),
            PI[C] * total / decay * sp.exp(-decay * T),
        ),
        step("waits", Cite(source=source, step="closed"), waits.left, waits.right),
        step("waits_rates", Substitute(using=("rho",)), WAITS, PI[C] / (1 - LAM / total)),
        step("weighed", Rewrite(of="law_t"), LATE(T), PI[C] / (1 - LAM / total) * sp.exp(-decay * T)),
        step(
            "late",
            Substitute(using=("waits_rates",), back=("waits_rates",)),
            LATE(T),
            WAITS * sp.exp(-decay * T),
        ),
        quantities=(
            Quantity(K, "load", "在等的请求数", "number of requests waiting"),
            Quantity(T, "seconds", "时间", "time", "s"),
            *MANY_Q,
            Quantity(Z, "z", "变换的参数", "the transform's argument", "1/s"),
            Quantity(
                STAGE,
                "service",
                "相邻两次服务结束之间的变换",
                "transform of the time between ends of service",
            ),
            Quantity(PART, "waits_total", "等待在 0 以上部分的变换", "transform of the wait above 0"),
            Quantity(DENSITY, "waits_total", "等待在 0 以上的密度", "density of the wait above 0", "1/s"),
            Quantity(LATE, "waits_total", "等待的尾概率", "tail of the wait"),
        ),
        points=_many,
        meanings=MANY,
        source="Erlang 1917",
        assume=MANY_STABLE,
    )
