"""M/M/1's tails (E31.11–E31.13): PASTA, transform, inverse, tail and quantile of the sojourn; the wait's own law."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import sympy as sp

from labkit.theory import chains
from labkit.theory.derivation import Derivation, Step, derivation, step
from labkit.theory.evaluate import CONTEXT, At, Meaning, Number, Point, real
from labkit.theory.mm1 import MEANINGS, PI, PI_Q, X4, rates, stationary_law
from labkit.theory.rules import Cite, Evaluate, Given, Rearrange, Solve, Substitute
from labkit.theory.rules_calculus import Antiderivative, InvertTransform
from labkit.theory.rules_sums import Telescope
from labkit.theory.symbols import ARRIVAL_RATE as LAM
from labkit.theory.symbols import LAMBDA, MU, RHO, STABLE, Quantity, positive, whole
from labkit.theory.symbols import SERVICE_RATE as M
from labkit.theory.symbols import UTILISATION as R

N = whole("n")
X, T, Z = positive("x"), positive("t"), positive("z")
FOUND = sp.IndexedBase(r"\alpha", nonnegative=True)
ALL = positive(r"\Lambda")
STAGE = positive(r"\mathbb{E}[e^{-zS}]")
TRANSFORM, WAIT_TRANSFORM = positive(r"\mathbb{E}[e^{-zT}]"), positive(r"\mathbb{E}[e^{-zW_q}]")
DENSITY, WAIT_DENSITY = sp.Function("f_T", positive=True), sp.Function("f_{W_q}", positive=True)
TAIL, WAIT_TAIL = sp.Function(r"\Pr(T>\cdot)", positive=True), sp.Function(r"\Pr(W_{q}>\cdot)", positive=True)
ATOM = positive(r"\Pr(W_{q}=0)")
P99 = positive(r"t_{0.99}")

Z_Q = Quantity(Z, "z", "变换的参数", "the transform's argument", "1/s")
FOUND_Q = Quantity(FOUND, "load", "到达者看到 n 个请求的概率", "probability that an arrival finds n")


def _rates(at: At) -> tuple[float, float]:
    return float(at.number(LAM)), float(at.number(M))


def _points(draw: Random) -> Point:
    return {**rates(draw), Z: Fraction(draw.randint(1, 12), 2), T: Fraction(draw.randint(1, 8), 4)}


def _found(at: At, n: Number) -> float:
    law = chains.seen_by_arrivals(*_rates(at))
    return float(law[int(n)]) if n < len(law) else 0.0


@cache
def stage_transform(rate: Number, z: Number) -> Number:
    """E[e^(−zS)] of an exponential service, by quadrature over its quantile."""
    return CONTEXT.quad(lambda u: u ** (real(z) / real(rate)), [0, 1])  # S = −log(u)/μ


@cache
def _transform(arrival: float, service: float, z: float, own: int) -> float:
    """By quadrature of the tail; the wait is 0 for who finds nobody."""
    above = chains.laplace(lambda times: chains.still_there(arrival, service, times, own), z)
    return above if own else above + float(chains.seen_by_arrivals(arrival, service)[0])


def _quantile(own: int) -> Meaning:
    """The 99th percentile by bisection of the independently computed tail."""

    def found(at: At) -> float:
        low, high = 0.0, 20.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if chains.still_there(*_rates(at), middle, own) > 0.01 else (low, middle)
            )
        return (low + high) / 2

    return found


SEEN: Mapping[Any, Meaning] = {
    **MEANINGS,
    FOUND: _found,
    ALL: lambda at: Fraction(at[LAM]),
    STAGE: lambda at: stage_transform(at[M], at[Z]),
    TRANSFORM: lambda at: _transform(*_rates(at), float(at[Z]), own=1),
    WAIT_TRANSFORM: lambda at: _transform(*_rates(at), float(at[Z]), own=0),
    TAIL: lambda at, t: float(chains.still_there(*_rates(at), float(t))),
    WAIT_TAIL: lambda at, t: float(chains.still_there(*_rates(at), float(t), own=0)),
    DENSITY: lambda at, t: float(chains.ends_now(*_rates(at), float(t))),
    WAIT_DENSITY: lambda at, t: float(chains.ends_now(*_rates(at), float(t), own=0)),
    ATOM: lambda at: _found(at, 0),
}


@cache
def pasta() -> Derivation:
    """E31.11: Poisson arrivals find the stationary law: state n holds a share λπ_n / Σλπ_m of them.

    Its points compare π (from the generator) with the law of the chain from arrival to arrival. Source: chapter 31.4.
    """
    return derivation(
        "pasta",
        "E31.11-13",
        step("all", Given(), ALL, sp.Sum(LAM * PI[N], (N, 0, sp.oo))),
        step("stationary", Cite(source=stationary_law(), step="all"), 1, sp.Sum(PI[N], (N, 0, sp.oo))),
        step("rate", Rearrange(factor=LAM), LAM, sp.Sum(LAM * PI[N], (N, 0, sp.oo))),
        step("arrivals", Substitute(of="all", using=("rate",), back=("rate",)), ALL, LAM),
        step("share", Given(), FOUND[N], LAM * PI[N] / ALL),
        step("pasta", Substitute(using=("arrivals",)), FOUND[N], PI[N]),
        quantities=(
            Quantity(N, "load", "系统内的请求数", "number of requests inside"),
            LAMBDA,
            PI_Q,
            FOUND_Q,
            Quantity(ALL, "arrival_rate", "所有状态下的到达流", "arrivals from all states", "1/s"),
        ),
        points=_points,
        meanings=SEEN,
        source="E31.11",
        assume=STABLE,
    )


def _stages(transform: sp.Symbol, own: int) -> tuple[Step, ...]:
    """From the law found by an arrival to the transform of a time of n + `own` services."""
    seen, source = pasta(), stationary_law()
    term = (M / (M + Z)) ** (N + own)
    rising = STAGE ** (N + own)
    return (
        step("stage", Given(), STAGE, sp.Integral(sp.exp(-Z * X) * M * sp.exp(-M * X), (X, 0, sp.oo))),
        step("exponential", Antiderivative(f=-M * sp.exp(-(M + Z) * X) / (M + Z)), STAGE, M / (M + Z)),
        step("conditional", Given(), transform, sp.Sum(FOUND[N] * rising, (N, 0, sp.oo))),
        step("pasta", Cite(source=seen, step="pasta"), FOUND[N], PI[N]),
        step("law", Cite(source=source, step="law"), PI[N], (1 - R) * R**N),
        step(
            "sum",
            Substitute(of="conditional", using=("exponential", "pasta", "law")),
            transform,
            sp.Sum((1 - R) * R**N * term, (N, 0, sp.oo)),
        ),
    )


@cache
def sojourn_law() -> Derivation:
    """E31.11–E31.13: transform, inverse, tail exp(−(μ−λ)t) and t.99 = log 100/(μ−λ); X4: 230 and 921 ms.

    Source: chapter 31.4, exercise 31.7 (which writes W for this sojourn).
    """
    ratio = R * M / (M + Z)
    closed = (1 - R) * (M / (M + Z)) / (1 - ratio)
    g = -(1 - R) * R**N * (M / (M + Z)) ** (N + 1) / (1 - ratio)
    decay = M - LAM
    return derivation(
        "sojourn_law",
        ("E31.11-13", "X4"),
        *_stages(TRANSFORM, 1),
        step("closed", Telescope(g=g), TRANSFORM, closed),
        step("rho", Given(), R, LAM / M),
        step("rates", Substitute(of="closed", using=("rho",)), TRANSFORM, decay / (decay + Z)),
        step(
            "density",
            InvertTransform(t=T, z=Z, f=-decay * sp.exp(-(decay + Z) * T) / (decay + Z)),
            DENSITY(T),
            decay * sp.exp(-decay * T),
        ),
        step("tail", Given(), TAIL(T), sp.Integral(DENSITY(X), (X, T, sp.oo))),
        step(
            "put",
            Substitute(using=("density",), at={"density": {T: X}}),
            TAIL(T),
            sp.Integral(decay * sp.exp(-decay * X), (X, T, sp.oo)),
        ),
        step("law_t", Antiderivative(f=-sp.exp(-decay * X)), TAIL(T), sp.exp(-decay * T)),
        step("level", Given(), TAIL(P99), sp.Rational(1, 100)),
        step("equation", Evaluate(of="law_t", values={T: P99}), TAIL(P99), sp.exp(-decay * P99)),
        step("equal", Substitute(using=("level",)), sp.Rational(1, 100), sp.exp(-decay * P99)),
        step("quantile", Solve(), P99, sp.log(100) / decay),
        step("p99_80", Evaluate(values=X4[0]), P99, sp.log(100) / 20),
        step("p99_95", Evaluate(of="quantile", values=X4[1]), P99, sp.log(100) / 5),
        quantities=(
            Quantity(N, "load", "系统内的请求数", "number of requests inside"),
            Quantity(T, "seconds", "时间", "time", "s"),
            LAMBDA,
            MU,
            RHO,
            PI_Q,
            FOUND_Q,
            Z_Q,
            Quantity(STAGE, "service", "一次服务时间的变换", "transform of one service"),
            Quantity(TRANSFORM, "sojourn", "逗留时间的变换", "transform of the sojourn time"),
            Quantity(DENSITY, "sojourn", "逗留时间的密度", "density of the sojourn time", "1/s"),
            Quantity(TAIL, "sojourn", "逗留时间的尾概率", "tail of the sojourn time"),
            Quantity(P99, "sojourn", "逗留时间的 p99", "99th percentile of the sojourn time", "s"),
        ),
        points=_points,
        source="E31.11, E31.12, E31.13, X4",
        assume=STABLE,
        meanings={**SEEN, P99: _quantile(own=1)},
    )


@cache
def wait_law() -> Derivation:
    """E31.11–E31.13 for the wait: an atom 1 − ρ at 0 and Pr(Wq > t) = ρ·exp(−(μ−λ)t); p99 219 and 911 ms.

    The inverse is taken after the constant is split off: inverting in one go would lose the atom. Source: ledger
    E31.11-13.
    """
    ratio = R * M / (M + Z)
    decay = M - LAM
    return derivation(
        "wait_law",
        ("E31.11-13", "X4"),
        *_stages(WAIT_TRANSFORM, 0),
        step("closed", Telescope(g=-(1 - R) * ratio**N / (1 - ratio)), WAIT_TRANSFORM, (1 - R) / (1 - ratio)),
        step("rho", Given(), R, LAM / M),
        step(
            "split",
            Substitute(of="closed", using=("rho",)),
            WAIT_TRANSFORM,
            (1 - LAM / M) + LAM / M * decay / (decay + Z),
        ),
        step("atom", Given(), ATOM, 1 - LAM / M),
        step(
            "density",
            InvertTransform(
                of="split",
                t=T,
                z=Z,
                atom=1 - LAM / M,
                f=-LAM / M * decay * sp.exp(-(decay + Z) * T) / (decay + Z),
            ),
            WAIT_DENSITY(T),
            LAM / M * decay * sp.exp(-decay * T),
        ),
        step("tail", Given(), WAIT_TAIL(T), sp.Integral(WAIT_DENSITY(X), (X, T, sp.oo))),
        step(
            "put",
            Substitute(using=("density",), at={"density": {T: X}}),
            WAIT_TAIL(T),
            sp.Integral(LAM / M * decay * sp.exp(-decay * X), (X, T, sp.oo)),
        ),
        step(
            "law_t",
            Antiderivative(f=-LAM / M * sp.exp(-decay * X)),
            WAIT_TAIL(T),
            LAM / M * sp.exp(-decay * T),
        ),
        step("level", Given(), WAIT_TAIL(P99), sp.Rational(1, 100)),
        step(
            "equation", Evaluate(of="law_t", values={T: P99}), WAIT_TAIL(P99), LAM / M * sp.exp(-decay * P99)
        ),
        step("equal", Substitute(using=("level",)), sp.Rational(1, 100), LAM / M * sp.exp(-decay * P99)),
        step("quantile", Solve(), P99, sp.log(100 * LAM / M) / decay),
        step("p99_80", Evaluate(values=X4[0]), P99, sp.log(80) / 20),
        step("p99_95", Evaluate(of="quantile", values=X4[1]), P99, sp.log(95) / 5),
        quantities=(
            Quantity(N, "load", "系统内的请求数", "number of requests inside"),
            Quantity(T, "seconds", "时间", "time", "s"),
            LAMBDA,
            MU,
            RHO,
            PI_Q,
            FOUND_Q,
            Z_Q,
            Quantity(STAGE, "service", "一次服务时间的变换", "transform of one service"),
            Quantity(WAIT_TRANSFORM, "waits_total", "等待的变换", "transform of the wait"),
            Quantity(ATOM, "waits_total", "不用等待的概率", "probability of no wait"),
            Quantity(
                WAIT_DENSITY, "waits_total", "等待在 0 以上的密度", "density of the wait above 0", "1/s"
            ),
            Quantity(WAIT_TAIL, "waits_total", "等待的尾概率", "tail of the wait"),
            Quantity(P99, "waits_total", "等待的 p99", "99th percentile of the wait", "s"),
        ),
        points=_points,
        source="E31.11-13",
        assume=STABLE,
        meanings={**SEEN, P99: _quantile(own=0)},
    )
