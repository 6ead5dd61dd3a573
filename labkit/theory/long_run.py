"""Little's law from the residence area: one window exactly, then the long run (E31.8, Q31.6, X3)."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache

import sympy as sp

from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Number, Point
from labkit.theory.rules import Evaluate, Given, Rearrange, Substitute
from labkit.theory.rules_calculus import Limit
from labkit.theory.symbols import ARRIVAL_RATE as RATE
from labkit.theory.symbols import LAMBDA, Quantity, positive, real

H = positive("H")
ENDED, REST = positive("D_H"), positive("R_H")
X, Y, Z = real("x"), real("y"), real("z")

Path = list[list[tuple[Fraction, Fraction]]]  # of each request the intervals that count
EXERCISE: Path = [[(Fraction(0), Fraction(2))], [(Fraction(1), Fraction(3))]]  # Q31.6, window [0, 3]


@cache
def long_run() -> Derivation:
    """E31.8: N̄ = λE[T], the boundary term shown and sent to zero. X3: 20/s and 0.4 s make 8.

    Q31.6 ([0, 2) and [1, 3) on [0, 3]): mean number 4/3 = rate 2/3 × mean 2; on the half-open window [0, 3) the rate is
    1/3 and the second request's 2 s are the boundary term. Source: chapter 31.4.
    """
    return _law(
        "long_run",
        positive(r"\overline{N}_H"),
        positive(r"\overline{T}_H"),
        positive(r"\overline{N}"),
        positive(r"\mathbb{E}[T]"),
        ("sojourn", "逗留时间", "sojourn time"),
        waits=1,
        asked=(20, sp.Rational(2, 5), 8),
    )


@cache
def long_run_waiting() -> Derivation:
    """E31.8: N̄q = λE[Wq], where a request may wait several times and all its waits count (C16)."""
    return _law(
        "long_run_waiting",
        positive(r"\overline{N}_{q,H}"),
        positive(r"\overline{W}_{q,H}"),
        positive(r"\overline{N}_q"),
        positive(r"\mathbb{E}[W_q]"),
        ("waits_total", "全部等待", "total waiting"),
        waits=2,
        asked=(20, sp.Rational(1, 10), 2),
    )


def _law(
    name: str,
    window: sp.Symbol,
    mean: sp.Symbol,
    inside: sp.Symbol,
    expected: sp.Symbol,
    what: tuple[str, str, str],
    waits: int,
    asked: tuple[int, sp.Expr, int],
) -> Derivation:
    """The points are periodic arrivals with three patterns of intervals in turn: every long-run mean is exact."""

    def points(draw: random.Random) -> Point:
        patterns = []
        for _ in range(3):
            marks = [Fraction(0)]
            for _ in range(2 * waits - 1):
                marks.append(marks[-1] + Fraction(draw.randint(1, 8), 4))
            patterns.append(list(zip(marks[::2], marks[1::2], strict=True)))
        found = {
            "gap": Fraction(draw.randint(1, 6), 2),
            "patterns": patterns,
            H: Fraction(draw.randint(14, 30), 2),
        }
        at = At(found, meanings)
        found[X] = ended(at) / found[H] - 1 / found["gap"]
        found[Y] = mean_ended(at) - mean_pattern(at)
        found[Z] = rest(at) / found[H]
        return found

    def path(at: At, until: Fraction) -> Path:
        count = int(until / at["gap"]) + 1
        starts = [i * at["gap"] for i in range(count)]
        return [[(s + a, s + b) for a, b in at["patterns"][i % 3]] for i, s in enumerate(starts) if s < until]

    def met(intervals: list[tuple[Fraction, Fraction]], low: Fraction, high: Fraction) -> Fraction:
        return sum((max(Fraction(0), min(b, high) - max(a, low)) for a, b in intervals), Fraction(0))

    def ended(at: At) -> Number:
        return sum(1 for request in path(at, at[H]) if request[-1][1] <= at[H])

    def mean_ended(at: At) -> Number:
        whole = [sum(b - a for a, b in request) for request in path(at, at[H]) if request[-1][1] <= at[H]]
        return sum(whole, Fraction(0)) / len(whole)

    def rest(at: At) -> Number:
        open_ = [request for request in path(at, at[H]) if request[-1][1] > at[H]]
        return sum((met(request, Fraction(0), at[H]) for request in open_), Fraction(0))

    def mean_pattern(at: At) -> Number:
        return sum(b - a for pattern in at["patterns"] for a, b in pattern) / 3

    def mean_window(at: At) -> Number:
        """Integrate the number inside over the window, a quarter of a second at a time."""
        marks = [Fraction(i, 4) for i in range(int(at[H] * 4))]
        requests = EXERCISE if mean in at else path(at, at[H])
        count = sum(1 for m in marks for request in requests for a, b in request if a <= m < b)
        return Fraction(count, 4) / at[H]

    def mean_inside(at: At) -> Number:
        """Over one period long after the start; for given numbers, count who came within the last E seconds."""
        if expected in at:
            return sum(1 for i in range(200) if Fraction(i) / at[RATE] < at[expected])
        period, far = at["gap"] * 3, at["gap"] * 90
        return sum(met(request, far, far + period) for request in path(at, far + period)) / period

    meanings = {
        ENDED: ended,
        mean: mean_ended,
        REST: rest,
        window: mean_window,
        inside: mean_inside,
        RATE: lambda at: 1 / at["gap"],
        expected: mean_pattern,
    }
    labkit, zh, en = what
    closed, half_open = {H: 3, ENDED: 2, mean: 2, REST: 0}, {H: 3, ENDED: 1, mean: 2, REST: 2}
    exercise = (
        step("closed", Evaluate(of="mean", values=closed), window, sp.Rational(4, 3)),
        step("half_open", Evaluate(of="mean", values=half_open), window, sp.Rational(4, 3)),
    )
    return derivation(
        name,
        ("E31.6-8", "C16") if waits > 1 else "E31.6-8",
        step("area", Given(), window * H, ENDED * mean + REST),
        step("mean", Rearrange(factor=1 / H), window, ENDED / H * mean + REST / H),
        *(exercise if waits == 1 else ()),
        step("rate", Given(), ENDED, (RATE + X) * H),
        step("stay", Given(), mean, expected + Y),
        step("rest", Given(), REST, Z * H),
        step(
            "errors",
            Substitute(of="mean", using=("rate", "stay", "rest")),
            window,
            (RATE + X) * (expected + Y) + Z,
        ),
        step("law", Limit(to={X: 0, Y: 0, Z: 0}, named={window: inside}), inside, RATE * expected),
        step("asked", Evaluate(values={RATE: asked[0], expected: asked[1]}), inside, asked[2]),
        quantities=(
            Quantity(H, "until", "观察窗长度", "length of the window", "s"),
            Quantity(window, "load", "窗内平均个数", "mean number over the window"),
            Quantity(ENDED, "finished", "窗内终止的请求数", "requests that end inside the window"),
            Quantity(mean, labkit, f"它们的平均{zh}", f"their mean {en}", "s"),
            Quantity(REST, "residence_area", "窗末未终止者的面积", "area of those not ended by then", "s"),
            Quantity(inside, "load", "长期平均个数", "mean number in the long run"),
            LAMBDA,
            Quantity(expected, labkit, f"长期平均{zh}", f"mean {en} in the long run", "s"),
            Quantity(X, "arrival_rate", "终止率与 λ 之差", "rate of endings less λ", "1/s"),
            Quantity(
                Y, labkit, "窗内均值与长期均值之差", "mean of the window less that of the long run", "s"
            ),
            Quantity(Z, "residence_area", "边界项除以窗长", "boundary term over the window's length"),
        ),
        points=points,
        meanings=meanings,
        source="E31.8, X3; Little 1961",
    )
