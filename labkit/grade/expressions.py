"""Whether two symbolic expressions are equal: evaluated at many points in 60 digits, never simplified by sympy.

A tree that a student built is data. It is evaluated by the few rules below with bounds on every magnitude, so no
expression can hang or fill the grader. Two expressions of these node types that differ agree at a random rational
point with negligible probability; twelve points are compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath

from labkit.grade.values import Expr

DIGITS = 60
POINTS = 12
MAX_TERMS = 2_000
MAX_STEPS = 50_000
RELATIONS = {
    "Equality": "Eq",
    "Unequality": "Ne",
    "StrictLessThan": "Lt",
    "LessThan": "Le",
    "StrictGreaterThan": "Gt",
    "GreaterThan": "Ge",
}

Draw = Callable[[random.Random], Fraction]
DOMAINS: dict[str, Draw] = {
    "positive": lambda r: Fraction(r.randint(1, 4_000), r.randint(301, 997)),
    "fraction": lambda r: Fraction(r.randint(1, 996), 997),  # strictly between 0 and 1
    "real": lambda r: Fraction(r.randint(-4_000, 4_000), r.randint(301, 997)),
    "whole": lambda r: Fraction(r.randint(0, 40)),
    "count": lambda r: Fraction(r.randint(1, 40)),
}


class UndefinedError(ValueError):
    """The expression has no finite real value at this point, or evaluating it would take too long."""


def names(expr: Expr) -> set[str]:
    """The names of an expression's free symbols."""
    if expr.head == "Symbol":
        return {expr.args[0]}
    if expr.head == "Sum":
        body, limits = expr.args
        index, low, high = limits.args
        return (names(body) - names(index)) | names(low) | names(high)
    return {name for arg in expr.args if isinstance(arg, Expr) for name in names(arg)}


def has(expr: Expr, head: str) -> bool:
    """Whether a node of this type is in the expression."""
    return expr.head == head or any(has(arg, head) for arg in expr.args if isinstance(arg, Expr))


def evaluate(expr: Expr, at: Mapping[str, Fraction]) -> mpmath.mpf:
    """The value at a point, in 60 digits; raises UndefinedError where there is none within bounds."""
    with mpmath.workdps(DIGITS):
        try:
            return _value(expr, {name: _number(value) for name, value in at.items()}, [MAX_STEPS])
        except (ZeroDivisionError, OverflowError, ValueError, TypeError, RecursionError):
            raise UndefinedError("no finite real value here") from None


def equal(first: Expr, second: Expr, domains: Mapping[str, str], rng: random.Random) -> bool:
    """Whether two expressions agree wherever both are defined; `domains` says what each symbol stands for.

    Raises UndefinedError where `second` (the reference) can be evaluated nowhere.
    """
    if first.head in RELATIONS or second.head in RELATIONS:
        if first.head != second.head:
            return False
        pairs = list(zip(first.args, second.args, strict=True))
        if first.head in ("Equality", "Unequality"):
            pairs = [(_difference(first), _difference(second))]
            return _agree(*pairs[0], domains, rng) or _agree(
                Expr("Mul", (Expr("Number", (Fraction(-1),)), pairs[0][0])), pairs[0][1], domains, rng
            )
        return all(_agree(a, b, domains, rng) for a, b in pairs)
    return _agree(first, second, domains, rng)


def _difference(relation: Expr) -> Expr:
    left, right = relation.args
    return Expr("Add", (left, Expr("Mul", (Expr("Number", (Fraction(-1),)), right))))


def _agree(first: Expr, second: Expr, domains: Mapping[str, str], rng: random.Random) -> bool:
    loose = mpmath.mpf(10) ** (-9 if has(first, "Float") or has(second, "Float") else -40)
    compared = 0
    for _ in range(4 * POINTS):
        at = {name: DOMAINS[kind](rng) for name, kind in domains.items()}
        try:
            wanted = evaluate(second, at)
        except UndefinedError:
            continue
        try:
            given = evaluate(first, at)
        except UndefinedError:
            return False
        if abs(given - wanted) > loose * max(1, abs(wanted)):
            return False
        compared += 1
        if compared == POINTS:
            return True
    raise UndefinedError("the reference has no value at the points tried")


def _number(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _value(expr: Expr, at: dict[str, Any], fuel: list[int]) -> mpmath.mpf:
    fuel[0] -= 1
    if fuel[0] < 0:
        raise UndefinedError("an evaluation of too many steps")
    head, args = expr.head, expr.args
    if head == "Symbol":
        if args[0] not in at:
            raise UndefinedError(f"unknown symbol {args[0]}")
        return at[args[0]]
    if head == "Number":
        return _number(args[0])
    if head == "Float":
        return mpmath.mpf(args[0])
    if head == "Exp1":
        return mpmath.e + 0
    if head == "Pi":
        return mpmath.pi + 0
    if head == "Sum":
        return _sum(expr, at, fuel)
    if head not in RULES:
        raise UndefinedError(f"{head} is no number")
    given = [_value(arg, at, fuel) for arg in args]
    return _bounded(RULES[head](given))


def _bounded(value: Any) -> mpmath.mpf:
    if (
        not isinstance(value, mpmath.mpf)
        or not mpmath.isfinite(value)
        or abs(value) > mpmath.mpf(10) ** 2_000
    ):
        raise UndefinedError("out of bounds")
    return value


def _sum(expr: Expr, at: dict[str, Any], fuel: list[int]) -> mpmath.mpf:
    body, limits = expr.args
    index, low, high = limits.args
    first, last = _value(low, at, fuel), _value(high, at, fuel)
    if first != mpmath.floor(first) or last != mpmath.floor(last):
        raise UndefinedError("a sum between limits that are no integers")
    if last - first >= MAX_TERMS:
        raise UndefinedError("a sum of too many terms")
    total = mpmath.mpf(0)
    for step in range(max(0, int(last - first) + 1)):
        total += _value(body, {**at, index.args[0]: first + step}, fuel)
    return total


def _power(given: list[Any]) -> Any:
    base, exponent = given
    if abs(exponent) > 10_000 or (base == 0 and exponent < 0):
        raise UndefinedError("out of bounds")
    return base**exponent


def _exp(given: list[Any]) -> Any:
    if abs(given[0]) > 4_000:
        raise UndefinedError("out of bounds")
    return mpmath.exp(given[0])


def _factorial(given: list[Any]) -> Any:
    if not 0 <= given[0] <= 400:
        raise UndefinedError("out of bounds")
    return mpmath.factorial(given[0])


def _binomial(given: list[Any]) -> Any:
    if not all(0 <= value <= 1_000 for value in given):
        raise UndefinedError("out of bounds")
    return mpmath.binomial(*given)


RULES: dict[str, Callable[[list[Any]], Any]] = {
    "Add": mpmath.fsum,
    "Mul": mpmath.fprod,
    "Pow": _power,
    "exp": _exp,
    "log": lambda g: mpmath.log(g[0]),
    "Abs": lambda g: abs(g[0]),
    "floor": lambda g: mpmath.floor(g[0]),
    "ceiling": lambda g: mpmath.ceil(g[0]),
    "Min": min,
    "Max": max,
    "binomial": _binomial,
    "factorial": _factorial,
}


def from_sympy(expr: Any) -> Expr:
    """The tree of a reference that the grader itself wrote with sympy."""
    from labkit.grade.values import decode, encode

    tree = decode(encode(expr))
    return tree if isinstance(tree, Expr) else Expr("Number", (Fraction(tree),))
