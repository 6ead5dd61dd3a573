"""What the rules ask of sympy: is this zero, is it positive, does it vanish at infinity. Every 'yes' is a proof.

`assume` says in the derivation's own symbols what holds (μ = λ + δ with δ > 0 for λ < μ); signs are judged under it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy as sp

Assume = Mapping[Any, sp.Expr]


def is_zero(expression: sp.Expr) -> bool:
    """Whether the expression is identically zero; False too where sympy cannot tell."""
    expression = _named(_exponents(_sums(expression.replace(sp.factorial, _one_less))))
    for simpler in (sp.expand, _together, _powers, sp.simplify):
        expression = simpler(expression)
        if expression == 0:
            return True
        if not expression.free_symbols:
            return bool(sp.simplify(expression) == 0)
        if simpler is _together and not _is_hard(expression):
            return False  # a ratio of polynomials in lowest terms that is not 0
    return False


def _sums(expression: sp.Expr) -> sp.Expr:
    """Every sum term by term, what is free of its index in front."""

    def split(total: sp.Sum) -> sp.Expr:
        made = sp.S.Zero
        before, rest = total.function.as_independent(*total.variables, as_Add=False)
        for term in sp.Add.make_args(sp.expand_mul(rest)):
            outside, inside = term.as_independent(*total.variables, as_Add=False)
            made += before * outside * sp.Sum(inside, *total.limits)
        return made

    return expression.replace(lambda e: isinstance(e, sp.Sum), split)


def _one_less(n: sp.Expr) -> sp.Expr:
    """(n + 1)! as (n + 1)·n!."""
    return sp.expand_func(sp.factorial(n))


def _named(expression: sp.Expr) -> sp.Expr:
    """Each sum and integral as one letter."""
    whole = expression.atoms(sp.Sum, sp.Integral)
    return expression.xreplace({part: sp.Dummy() for part in whole}) if whole else expression


def _exponents(expression: sp.Expr) -> sp.Expr:
    return expression.replace(lambda e: isinstance(e, sp.exp), lambda e: sp.exp(sp.cancel(e.args[0])))


def _is_hard(expression: sp.Expr) -> bool:
    powers = expression.atoms(sp.Pow, sp.exp)
    return expression.has(sp.log, sp.ceiling, sp.floor, sp.factorial, sp.Max, sp.Min, sp.Abs) or any(
        not p.exp.is_Integer for p in powers
    )


def _together(expression: sp.Expr) -> sp.Expr:
    return sp.expand(sp.fraction(sp.together(expression))[0])


def _powers(expression: sp.Expr) -> sp.Expr:
    return _together(sp.powsimp(sp.expand(sp.expand_log(expression)), force=False))


def is_positive(expression: sp.Expr, assume: Assume) -> bool:
    """Whether it is positive for all admissible values."""
    return _sign(expression, assume) == 1


def is_nonzero(expression: sp.Expr, assume: Assume) -> bool:
    """Whether it is nowhere zero."""
    return _sign(expression, assume) != 0


def is_admissible(symbol: sp.Expr, number: sp.Expr, assume: Assume) -> bool:
    """Whether a number is among those that the assumption on a symbol allows; True where it can't be asked."""
    allowed = assume.get(symbol)
    if allowed is None or not number.is_number or len(allowed.free_symbols) != 1:
        return True
    [parameter] = allowed.free_symbols
    return bool(sp.solve(allowed - number, parameter))  # its own assumptions sort out the others


def _sign(expression: sp.Expr, assume: Assume) -> int:
    under = sp.factor(sp.together(expression.xreplace(dict(assume))))
    for form in (under, sp.expand(under)):
        if form.is_positive:
            return 1
        if form.is_negative:
            return -1
    return 0


def vanishes(expression: sp.Expr, variable: sp.Symbol, assume: Assume) -> bool:
    """Whether it goes to 0 as the variable grows: each term a polynomial times at least one decaying power."""
    return all(_decays(term, variable, assume) for term in sp.Add.make_args(expression))


def _decays(term: sp.Expr, variable: sp.Symbol, assume: Assume) -> bool:
    decays = term == 0
    for factor in sp.Mul.make_args(term):
        if not factor.has(variable) or factor.is_polynomial(variable):
            continue
        exponential = isinstance(factor, sp.exp)
        base, exponent = (sp.E, factor.args[0]) if exponential else factor.as_base_exp()
        rate = sp.diff(exponent, variable)
        if base.has(variable) or rate.has(variable):
            return False
        if exponential:
            shrinks = is_positive(-rate, assume)
        else:
            shrinks = all(is_positive(part, assume) for part in (base, 1 - base, rate))
        if not shrinks:
            return False
        decays = True
    return bool(decays)


def orders(
    points: Sequence[sp.Expr], known: Sequence[tuple[sp.Expr, sp.Expr]]
) -> Iterator[dict[Any, sp.Expr]]:
    """Every way in which the points can lie on a line, ties included, as replacements by positive distances.

    `known`: pairs (a, b) with a < b. A constant 0 among the points stays where it is, else the first point does.
    """
    for ranks in _weak_orders(len(points)):
        rank = dict(zip(points, ranks, strict=True))
        if any(rank[a] >= rank[b] for a, b in known):
            continue
        steps = [sp.Dummy(f"x{i}", positive=True) for i in range(max(ranks))]
        heights = [sp.Add(*steps[:r]) for r in ranks]
        anchor = points.index(sp.S.Zero) if sp.S.Zero in points else 0
        yield {
            p: points[anchor] + height - heights[anchor]
            for i, (p, height) in enumerate(zip(points, heights, strict=True))
            if i != anchor
        }


def _weak_orders(count: int) -> Iterator[tuple[int, ...]]:
    for ranks in itertools.product(range(count), repeat=count):
        if set(ranks) == set(range(max(ranks) + 1)):
            yield ranks
