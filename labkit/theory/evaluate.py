"""Numbers for expressions: what a formula comes to at one point, where its quantities have a meaning of their own.

A derivation is tested at points. A *point* gives each parameter a number; a *meaning* computes a named quantity
from the point by other means than the formulas that are tested (counting, adding up, solving a chain, quadrature).
Arithmetic is exact (`Fraction`) as long as the expression allows it, else 20 decimal digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import sympy as sp
from sympy.core.function import AppliedUndef

CONTEXT = mpmath.mp.clone()
CONTEXT.dps = 20
QUADRATURE = mpmath.mp.clone()
QUADRATURE.dps = 13  # fewer nodes; well inside the tolerance of a check
NEGLIGIBLE = Fraction(1, 10**22)
MOST_TERMS = 4_000

Number = Any  # int, Fraction or a real of CONTEXT
Point = Mapping[Any, Any]  # parameter or family (base of an index, name of a function) to number or callable
Meaning = Callable[..., Number]


class At(dict[Any, Any]):
    """A point with its meanings: what `value` asks for the number of a symbol, an indexed symbol or a function."""

    def __init__(self, point: Point, meanings: Mapping[Any, Meaning]) -> None:
        super().__init__(point)
        self.meanings = meanings

    def number(self, name: Any, *arguments: Number) -> Number:
        """The number of a name at this point: as the point gives it, else by its meaning.

        Raises:
            KeyError: neither the point nor the meanings know the name.
        """
        if name in self:
            found = self[name]
            if callable(found):
                return found(*arguments)
            return found[int(arguments[0])] if arguments else found
        if name not in self.meanings:
            raise KeyError(f"{name} has no number: it is no parameter of the points and has no meaning")
        return self.meanings[name](self, *arguments)

    def but(self, changed: Mapping[Any, Number]) -> At:
        """This point with some numbers replaced."""
        return At({**self, **changed}, self.meanings)


def real(number: Number) -> Any:
    """An exact or a floating number as one of 20 digits."""
    if isinstance(number, Fraction):
        return CONTEXT.mpf(number.numerator) / number.denominator
    return CONTEXT.mpf(number)


def exact(number: Any) -> Fraction:
    """A whole number, a fraction or a sympy rational as a `Fraction`."""
    return Fraction(int(number.p), int(number.q)) if isinstance(number, sp.Rational) else Fraction(number)


def _is_exact(number: Number) -> bool:
    return isinstance(number, (int, Fraction))


def _two(a: Number, b: Number) -> tuple[Number, Number]:
    return (a, b) if _is_exact(a) and _is_exact(b) else (real(a), real(b))


def plus(a: Number, b: Number) -> Number:
    """Their sum, exact where both are."""
    a, b = _two(a, b)
    return a + b


def times(a: Number, b: Number) -> Number:
    """Their product, exact where both are."""
    a, b = _two(a, b)
    return a * b


def less(a: Number, b: Number) -> bool:
    """Whether a < b."""
    a, b = _two(a, b)
    return bool(a < b)


def power(base: Number, exponent: Number) -> Number:
    """base ** exponent, exact for an exact base and a whole exponent.

    Raises:
        ZeroDivisionError: zero to a negative power.
    """
    if _is_exact(exponent) and exponent == int(exponent):
        whole = int(exponent)
        return Fraction(base) ** whole if _is_exact(base) else base**whole
    return real(base) ** real(exponent)


def value(expression: sp.Expr, at: At) -> Number:
    """What the expression comes to at a point.

    Raises:
        KeyError: a name in it has no number there.
        TypeError: it holds an operation that this module does not know.
    """
    if isinstance(expression, sp.Rational):
        return exact(expression)
    if expression.is_Symbol:
        return at.number(expression)
    if isinstance(expression, sp.Indexed):
        return at.number(expression.base, *(value(i, at) for i in expression.indices))
    if isinstance(expression, AppliedUndef):
        return at.number(expression.func, *(value(a, at) for a in expression.args))
    for kind, operation in _OPERATIONS.items():
        if isinstance(expression, kind):
            return operation(expression, at)
    known = getattr(type(expression), "number", None)  # the indicators of `symbols`
    if known is not None:
        return known(*(value(a, at) for a in expression.args))
    raise TypeError(f"{type(expression).__name__} cannot be evaluated here: {expression}")


def _add(expression: sp.Expr, at: At) -> Number:
    total: Number = Fraction(0)
    for term in expression.args:
        total = plus(total, value(term, at))
    return total


def _multiply(expression: sp.Expr, at: At) -> Number:
    total: Number = Fraction(1)
    for factor in expression.args:
        total = times(total, value(factor, at))
    return total


def _sum(expression: sp.Expr, at: At) -> Number:
    """A finite sum term by term; an infinite one until three terms in a row add nothing."""
    [(index, low, high)] = expression.limits
    start, total, still = int(value(low, at)), Fraction(0), 0
    if high != sp.oo:
        for i in range(start, int(value(high, at)) + 1):
            total = plus(total, value(expression.function, at.but({index: i})))
        return total
    total = real(0)
    for i in range(start, start + MOST_TERMS):
        term = real(value(expression.function, at.but({index: i})))
        total += term
        still = still + 1 if abs(term) <= real(NEGLIGIBLE) * max(abs(total), 1) else 0
        if still == 3:
            return total
    raise ArithmeticError(f"after {MOST_TERMS} terms the sum has not settled: {expression}")


def _integral(expression: sp.Expr, at: At) -> Number:
    """Quadrature; the point may name under "breaks" where the integrand jumps, to cut the interval there."""
    [(variable, low, high)] = expression.limits
    ends = [CONTEXT.inf if high == sp.oo else real(value(high, at)), real(value(low, at))]
    inner = [real(b) for b in at.get("breaks", ()) if ends[1] < real(b) < ends[0]]
    area = QUADRATURE.quad(
        lambda x: real(value(expression.function, at.but({variable: real(x)}))),
        sorted({*ends, *inner}),
        method="tanh-sinh" if high == sp.oo else "gauss-legendre",
    )
    return real(area)


def _derivative(expression: sp.Expr, at: At) -> Number:
    [(variable, order)] = expression.variable_count
    return CONTEXT.diff(
        lambda x: real(value(expression.expr, at.but({variable: x}))), real(at.number(variable)), int(order)
    )


def _extreme(least: bool) -> Callable[[sp.Expr, At], Number]:
    def found(expression: sp.Expr, at: At) -> Number:
        numbers = [value(a, at) for a in expression.args]
        best = numbers[0]
        for other in numbers[1:]:
            best = other if less(other, best) is least else best
        return best

    return found


_OPERATIONS: dict[type, Callable[[Any, At], Number]] = {
    sp.Add: _add,
    sp.Mul: _multiply,
    sp.exp: lambda e, at: CONTEXT.exp(real(value(e.args[0], at))),
    sp.Pow: lambda e, at: power(value(e.base, at), value(e.exp, at)),
    sp.log: lambda e, at: CONTEXT.log(real(value(e.args[0], at))),
    sp.Sum: _sum,
    sp.Integral: _integral,
    sp.Derivative: _derivative,
    sp.Max: _extreme(least=False),
    sp.Min: _extreme(least=True),
    sp.ceiling: lambda e, at: math.ceil(value(e.args[0], at)),
    sp.floor: lambda e, at: math.floor(value(e.args[0], at)),
    sp.factorial: lambda e, at: math.factorial(int(value(e.args[0], at))),
}


def gap(left: Number, right: Number) -> float:
    """How far two numbers lie apart: 0 exactly where both are exact and equal, else relative to the larger or 1."""
    if _is_exact(left) and _is_exact(right) and left == right:
        return 0.0
    a, b = real(left), real(right)
    return float(abs(a - b) / max(abs(a), abs(b), 1))
