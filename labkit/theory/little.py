"""Residence area: N(t) as indicators, its integral as clipped residences (E31.6, E31.7, Q31.6)."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Point, less
from labkit.theory.rules import Cite, Evaluate, Given, Substitute
from labkit.theory.rules_calculus import Antiderivative, IntegrateBoth
from labkit.theory.rules_sums import ByOrder, Induct, LastTerm
from labkit.theory.symbols import Quantity, Reached, Within, positive, real, whole

N, INDEX, T = whole("n"), whole("i", 1), real("t")
H = positive("H")
ARRIVE, END = sp.IndexedBase("a", real=True), sp.IndexedBase("c", real=True)
NUMBER, AREA = sp.Function("N"), sp.IndexedBase("A", real=True)
A1, C1 = real("a"), real("c")  # one interval
STAY = sp.Function(r"\ell", nonnegative=True)  # its clipped length

WINDOW_Q = Quantity(H, "until", "观察窗长度", "length of the window", "s")


def _clip(a: sp.Expr, c: sp.Expr) -> sp.Expr:
    return sp.Max(0, sp.Min(c, H) - sp.Max(a, 0))


def _met(at: At, a: Any, c: Any) -> Fraction:
    """Add up the quarter-seconds of the window in which the request is there (its times are whole quarters)."""
    quarters = range(int(at[H] * 4))
    return Fraction(sum(1 for i in quarters if a <= Fraction(i, 4) < c), 4)


@cache
def one_stay() -> Derivation:
    """E31.7 for one request: its indicator's area is the clipped residence, by all thirteen orders of 0, H, a, c."""

    def points(draw: random.Random) -> Point:
        low, most = draw.choice(
            ((-16, 6), (-8, 30), (1, 12))
        )  # over before the window, across its start, inside
        start, window = Fraction(low + draw.randint(0, 8), 2), Fraction(draw.randint(2, 12))
        end = start + Fraction(draw.randint(1, most), 2)
        return {A1: start, C1: end, H: window, T: Fraction(draw.randint(-9, 30), 2), "breaks": (start, end)}

    split = Reached(A1, T) - Reached(C1, T)
    raised = sp.Max(T - A1, 0) - sp.Max(T - C1, 0)
    grown = (sp.Max(H - A1, 0) - sp.Max(H - C1, 0)) - (sp.Max(-A1, 0) - sp.Max(-C1, 0))
    return derivation(
        "one_stay",
        "E31.6-8",
        step(
            "split", ByOrder(groups=((A1, C1, T),), known=((A1, C1),), alone=True), Within(A1, T, C1), split
        ),
        step("area", Given(), STAY(A1, C1), sp.Integral(Within(A1, T, C1), (T, 0, H))),
        step("put", Substitute(using=("split",)), STAY(A1, C1), sp.Integral(split, (T, 0, H))),
        step("integral", Antiderivative(f=raised), STAY(A1, C1), grown),
        step(
            "clipped",
            ByOrder(groups=((sp.S.Zero, H, A1, C1),), known=((sp.S.Zero, H), (A1, C1))),
            STAY(A1, C1),
            _clip(A1, C1),
        ),
        quantities=(
            Quantity(T, "now", "时刻", "moment", "s"),
            Quantity(A1, "arrival", "到达时刻", "arrival", "s"),
            Quantity(C1, "end", "终止时刻", "end", "s"),
            WINDOW_Q,
            Quantity(STAY, "residence_area", "窗内驻留时间", "residence inside the window", "s"),
        ),
        points=points,
        meanings={STAY: _met},
        source="E31.6, E31.7",
        samples=16,
    )


def _stays(draw: random.Random) -> Point:
    count = draw.randint(2, 5)
    starts = [Fraction(0), *(Fraction(draw.randint(-8, 16), 2) for _ in range(count + 1))]
    ends = [Fraction(1), *(start + Fraction(draw.randint(1, 9), 2) for start in starts[1:])]
    last = draw.randint(1, count + 1)
    moment = starts[last] + (ends[last] - starts[last]) * Fraction(draw.randint(0, 3), 4)  # somebody is there
    return {
        N: count,
        ARRIVE: starts,
        END: ends,
        H: Fraction(draw.randint(2, 20), 2),
        T: moment,
        A1: starts[1],
        C1: ends[1],
        "breaks": (*starts, *ends),
    }


def _walk(at: At, n: Any) -> list[tuple[Fraction, int]]:
    """The step function of the first n requests, as a log of events tells it: (time, number from then on)."""
    ends = [(at[ARRIVE][i], 1) for i in range(1, int(n) + 1)] + [
        (at[END][i], -1) for i in range(1, int(n) + 1)
    ]
    inside, found = 0, []
    for time, change in sorted(ends):
        inside += change
        found.append((time, inside))
    return found


def _there(at: At, n: Any, t: Any) -> int:
    number = 0
    for time, inside in _walk(at, n):
        if not less(t, time):
            number = inside
    return number


def _area(at: At, n: Any) -> Fraction:
    """Width times height of the steps inside the window."""
    steps, area = (
        [(Fraction(0), _there(at, n, 0)), *((t, k) for t, k in _walk(at, n) if 0 < t < at[H])],
        Fraction(0),
    )
    for (start, inside), (end, _) in zip(steps, [*steps[1:], (at[H], 0)], strict=True):
        area += (end - start) * inside
    return area


@cache
def residence_area() -> Derivation:
    """E31.6, E31.7: the area under N(t) is the sum of clipped residences, by induction over the requests.

    Q31.6: [0, 2) and [1, 3) on [0, 3] give 4. Source: chapter 31.4; Little 1961.
    """
    clipped = _clip(ARRIVE[N + 1], END[N + 1])
    one = {A1: ARRIVE[N + 1], C1: END[N + 1]}
    alone = one_stay()
    asked = {N: 2, H: 3, ARRIVE[1]: 0, END[1]: 2, ARRIVE[2]: 1, END[2]: 3}
    return derivation(
        "residence_area",
        "E31.6-8",
        step("number", Given(), NUMBER(N, T), sp.Sum(Within(ARRIVE[INDEX], T, END[INDEX]), (INDEX, 1, N))),
        step(
            "one_more",
            LastTerm(index=N),
            NUMBER(N + 1, T),
            NUMBER(N, T) + Within(ARRIVE[N + 1], T, END[N + 1]),
        ),
        step("area", Given(), AREA[N], sp.Integral(NUMBER(N, T), (T, 0, H))),
        step(
            "stay", Cite(source=alone, step="area"), STAY(A1, C1), sp.Integral(Within(A1, T, C1), (T, 0, H))
        ),
        step(
            "integrated",
            IntegrateBoth(
                of="one_more",
                over=(T, 0, H),
                using=("area", "stay"),
                named=(("area", {}), ("area", {N: N + 1}), ("stay", one)),
            ),
            AREA[N + 1],
            AREA[N] + STAY(ARRIVE[N + 1], END[N + 1]),
        ),
        step("clipped", Cite(source=alone, step="clipped"), STAY(A1, C1), _clip(A1, C1)),
        step(
            "put",
            Substitute(of="integrated", using=("clipped",), at={"clipped": one}),
            AREA[N + 1],
            AREA[N] + clipped,
        ),
        step("none", Given(), AREA[0], 0),
        step(
            "sum",
            Induct(of="put", index=N, using=("none",)),
            AREA[N],
            sp.Sum(_clip(ARRIVE[INDEX], END[INDEX]), (INDEX, 1, N)),
        ),
        step("asked", Evaluate(values=asked), AREA[2], 4),
        quantities=(
            Quantity(T, "now", "时刻", "moment", "s"),
            Quantity(N, "count", "请求数", "number of requests"),
            Quantity(ARRIVE, "arrival", "请求 i 的到达时刻", "arrival of request i", "s"),
            Quantity(END, "end", "请求 i 的终止时刻", "end of request i", "s"),
            WINDOW_Q,
            Quantity(
                NUMBER,
                "load",
                "前 n 个请求中 t 时刻在系统内的个数",
                "how many of the first n are inside at t",
            ),
            Quantity(
                STAY,
                "residence_area",
                "一个请求在窗内的驻留时间",
                "residence of one request inside the window",
                "s",
            ),
            Quantity(AREA, "residence_area", "前 n 个请求的驻留面积", "residence area of the first n", "s"),
        ),
        points=_stays,
        samples=10,
        meanings={NUMBER: _there, AREA: _area, STAY: _met},
        source="E31.6, E31.7, Q31.6; Little 1961",
    )
