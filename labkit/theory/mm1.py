"""M/M/1 from flow balance to mean sojourn and wait, and the price of saturation (E31.9, E31.10, N07, X4, Q31.7)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from labkit.theory import chains
from labkit.theory.derivation import Derivation, Step, derivation, step
from labkit.theory.evaluate import NEGLIGIBLE, At, Meaning, Number, Point, real
from labkit.theory.rules import Cite, Evaluate, Given, Rearrange, Rewrite, Solve, Substitute
from labkit.theory.rules_calculus import Differentiate
from labkit.theory.rules_sums import Induct, Telescope
from labkit.theory.symbols import ARRIVAL_RATE as LAM
from labkit.theory.symbols import LAMBDA, MU, RHO, STABLE, Quantity, positive, whole
from labkit.theory.symbols import SERVICE_RATE as M
from labkit.theory.symbols import UTILISATION as R

N = whole("n")
PI = sp.IndexedBase(r"\pi", nonnegative=True)
INSIDE, WAITING = positive(r"\mathbb{E}[N]"), positive(r"\mathbb{E}[N_q]")
SOJOURN, WAIT = positive(r"\mathbb{E}[T]"), positive(r"\mathbb{E}[W_q]")
MEAN, GROWTH = sp.Function(r"\overline{T}", positive=True), positive("g")

PI_Q = Quantity(PI, "load", "系统内有 n 个请求的稳态概率", "stationary probability of n inside")
INSIDE_Q = Quantity(INSIDE, "load", "系统内平均人数", "mean number inside")
SOJOURN_Q = Quantity(SOJOURN, "sojourn", "平均逗留时间", "mean sojourn time", "s")
WAIT_Q = Quantity(WAIT, "waits_total", "平均等待", "mean wait", "s")
X4: tuple[Mapping[Any, int], Mapping[Any, int]] = ({LAM: 80, M: 100}, {LAM: 95, M: 100})


def rates(draw: random.Random) -> Point:
    """An admissible point: 0 < λ < μ, with a number inside."""
    arrival, service = Fraction(draw.randint(1, 9), 2), Fraction(draw.randint(12, 20), 2)
    return {LAM: arrival, M: service, N: draw.randint(0, 6)}


def _law(at: At) -> Any:
    return chains.number_inside(float(at.number(LAM)), float(at.number(M)))


def _probability(at: At, n: Number) -> float:
    law = _law(at)
    return float(law[int(n)]) if n < len(law) else 0.0


def _inside(at: At) -> float:
    return float(sum(n * p for n, p in enumerate(_law(at))))


def _waiting(at: At) -> float:
    return float(sum((n - 1) * p for n, p in enumerate(_law(at)) if n > 1))


def _sojourn(at: At) -> float:
    """What an arrival finds, itself included, one mean service each; arrivals' own chain, not Little's law."""
    found = chains.seen_by_arrivals(float(at.number(LAM)), float(at.number(M)))
    return float(sum((n + 1) * p for n, p in enumerate(found))) / float(at.number(M))


MEANINGS: Mapping[Any, Meaning] = {
    R: lambda at: Fraction(at.number(LAM)) / at.number(M),
    PI: _probability,
    INSIDE: _inside,
    WAITING: _waiting,
    SOJOURN: _sojourn,
    WAIT: lambda at: _sojourn(at) - 1 / float(at.number(M)),
}


@cache
def stationary_law() -> Derivation:
    """E31.9: flow balance → π_n = (1−ρ)ρⁿ → E[N] = ρ/(1−ρ). Source: chapter 31.4, exercise 31.7.

    The balance of two neighbours is itself derived from the balance of each state, by induction.
    """
    balance = (LAM * PI[N], M * PI[N + 1])
    return derivation(
        "stationary_law",
        "E31.9",
        step("empty", Given(), LAM * PI[0], M * PI[1]),
        step("state", Given(), (LAM + M) * PI[N + 1], LAM * PI[N] + M * PI[N + 2]),
        step("balance", Induct(index=N, using=("empty",)), *balance),
        step("rho", Given(), R, LAM / M),
        step("next", Rearrange(of="balance", factor=-1 / M), PI[N + 1], LAM / M * PI[N]),
        step("ratio", Substitute(using=("rho",), back=("rho",)), PI[N + 1], R * PI[N]),
        step("power", Induct(index=N, carry=R), PI[N], R**N * PI[0]),
        step("all", Given(), 1, sp.Sum(PI[N], (N, 0, sp.oo))),
        step("put", Substitute(using=("power",)), 1, sp.Sum(R**N * PI[0], (N, 0, sp.oo))),
        step("geometric", Telescope(g=-(R**N) * PI[0] / (1 - R)), 1, PI[0] / (1 - R)),
        step("idle", Solve(), PI[0], 1 - R),
        step("law", Substitute(of="power", using=("idle",)), PI[N], (1 - R) * R**N),
        step("mean", Given(), INSIDE, sp.Sum(N * PI[N], (N, 0, sp.oo))),
        step("mean_put", Substitute(using=("law",)), INSIDE, sp.Sum(N * (1 - R) * R**N, (N, 0, sp.oo))),
        step("inside", Telescope(g=-(R**N) * (N + R / (1 - R))), INSIDE, R / (1 - R)),
        quantities=(
            Quantity(N, "load", "系统内的请求数", "number of requests inside"),
            LAMBDA,
            MU,
            RHO,
            PI_Q,
            INSIDE_Q,
        ),
        points=rates,
        meanings=MEANINGS,
        source="E31.9, Q31.7",
        assume=STABLE,
    )


@cache
def waiting_number() -> Derivation:
    """Q31.7: the mean number waiting is L_q = L − ρ = ρ²/(1−ρ). Source: exercise 31.7."""
    source, tail = stationary_law(), sp.Sum(N * (1 - R) * R ** (N + 1), (N, 0, sp.oo))
    return derivation(
        "waiting_number",
        "E31.9",
        step("law", Cite(source=source, step="law"), PI[N], (1 - R) * R**N),
        step("mean", Given(), WAITING, sp.Sum(N * PI[N + 1], (N, 0, sp.oo))),
        step("put", Substitute(using=("law",), at={"law": {N: N + 1}}), WAITING, tail),
        step("waiting", Telescope(g=-(R ** (N + 1)) * (N + R / (1 - R))), WAITING, R**2 / (1 - R)),
        step("inside", Cite(source=source, step="inside"), INSIDE, R / (1 - R)),
        step("less", Rewrite(of="waiting"), WAITING, R / (1 - R) - R),
        step("busy", Substitute(using=("inside",), back=("inside",)), WAITING, INSIDE - R),
        quantities=(
            Quantity(N, "load", "系统内的请求数", "number of requests inside"),
            RHO,
            PI_Q,
            INSIDE_Q,
            Quantity(WAITING, "load", "平均等待人数", "mean number waiting"),
        ),
        points=rates,
        meanings=MEANINGS,
        source="Q31.7",
        assume=STABLE,
    )


@cache
def mean_times() -> Derivation:
    """E31.10: E[T] = 1/(μ−λ) by Little's law, E[Wq] = ρ/(μ−λ). X4: 50 and 200 ms, waits 40 and 190 ms.

    Source: chapter 31.4. Both hold beyond FCFS (processor sharing too).
    """

    def numbers(name: str, of: str, place: int, left: sp.Symbol, milliseconds: int) -> Step:
        return step(name, Evaluate(of=of, values=X4[place]), left, sp.Rational(milliseconds, 1000))

    return derivation(
        "mean_times",
        ("E31.10", "X4"),
        step("inside", Cite(source=stationary_law(), step="inside"), INSIDE, R / (1 - R)),
        step("little", Given(), INSIDE, LAM * SOJOURN),
        step("solved", Rearrange(factor=-1 / LAM), SOJOURN, INSIDE / LAM),
        step("put", Substitute(using=("inside",)), SOJOURN, R / (1 - R) / LAM),
        step("rho", Given(), R, LAM / M),
        step("rates", Substitute(of="put", using=("rho",)), SOJOURN, LAM / M / (1 - LAM / M) / LAM),
        step("sojourn", Rewrite(), SOJOURN, 1 / (M - LAM)),
        step("parts", Given(), WAIT, SOJOURN - 1 / M),
        step("service", Substitute(using=("sojourn",)), WAIT, 1 / (M - LAM) - 1 / M),
        step("common", Rewrite(), WAIT, LAM / M / (M - LAM)),
        step("wait", Substitute(using=("rho",), back=("rho",)), WAIT, R / (M - LAM)),
        numbers("sojourn_80", "sojourn", 0, SOJOURN, 50),
        numbers("sojourn_95", "sojourn", 1, SOJOURN, 200),
        numbers("wait_80", "common", 0, WAIT, 40),
        numbers("wait_95", "common", 1, WAIT, 190),
        quantities=(LAMBDA, MU, RHO, INSIDE_Q, SOJOURN_Q, WAIT_Q),
        points=rates,
        meanings=MEANINGS,
        source="E31.10, X4",
        assume=STABLE,
    )


@cache
def price() -> Derivation:
    """N07: dE[T]/dλ = 1/(μ−λ)²; from λ = 80 to 95 load grows by 18.75 % and the mean fourfold. Source: chapter 31.4."""

    def mean(at: At, arrival: Number) -> Number:
        """Mean of (n+1)/μ over levels found by flow balance one from the other and scaled to 1; many digits."""
        ratio = real(arrival) / real(at[M])
        if ratio >= 1:
            raise ArithmeticError(f"no mean at a load of {ratio}")
        share, total, weight = real(1), real(0), real(0)
        n = 0
        while share > real(NEGLIGIBLE):
            total, weight, share, n = total + (n + 1) * share, weight + share, share * ratio, n + 1
        return total / weight / real(at[M])

    nearer = M - (M - LAM) / 4
    asked = {LAM: 80, M: 100}
    return derivation(
        "price",
        "N07",
        step("mean", Given(), MEAN(LAM), 1 / (M - LAM)),
        step("slope", Differentiate(by=LAM), sp.Derivative(MEAN(LAM), LAM), 1 / (M - LAM) ** 2),
        step("quarter", Evaluate(of="mean", values={LAM: nearer}), MEAN(nearer), 4 / (M - LAM)),
        step("fourfold", Substitute(using=("mean",), back=("mean",)), MEAN(nearer), 4 * MEAN(LAM)),
        step("asked", Evaluate(values=asked), MEAN(95), 4 * MEAN(80)),
        step("growth", Given(), GROWTH, nearer / LAM - 1),
        step("load", Evaluate(values=asked), GROWTH, sp.Rational(3, 16)),
        quantities=(
            LAMBDA,
            MU,
            Quantity(MEAN, "sojourn", "平均逗留时间", "mean sojourn time", "s"),
            Quantity(GROWTH, "arrival_rate", "到达率增加的比例", "by what share the load grows"),
        ),
        points=rates,
        source="N07",
        assume=STABLE,
        meanings={MEAN: mean, GROWTH: lambda at: ((at[M] - at[LAM]) * Fraction(3, 4)) / at[LAM]},
    )
