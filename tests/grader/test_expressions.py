"""Equal expressions in any shape, different ones told apart, and no expression that hangs the grader."""

import random
import time
from fractions import Fraction

import pytest
import sympy as sp

from labkit.grade.expressions import UndefinedError, equal, evaluate, from_sympy, names
from labkit.grade.forms import Expression, FormError
from labkit.grade.values import Expr, decode, encode

m, lam, rho = sp.symbols("mu lambda rho", positive=True)
q, s, k = sp.symbols("q s k", integer=True, nonnegative=True)
DOMAINS = {"mu": "positive", "lambda": "positive", "rho": "fraction", "q": "count", "s": "whole"}


def same(first, second):
    return equal(from_sympy(first), from_sympy(second), DOMAINS, random.Random(5))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1 / (m - lam), (m + lam) / (m**2 - lam**2)),
        (rho / (1 - rho), sp.sympify(-1) + 1 / (1 - rho)),
        (q * s + q * (q + 1) / 2, q * (2 * s + q + 1) / 2),
        (sp.Sum(s + k, (k, 1, q)), q * s + q * (q + 1) / 2),
        (sp.exp(-(m - lam)), sp.exp(lam) / sp.exp(m)),
        (sp.log(m * lam), sp.log(m) + sp.log(lam)),
        (sp.sqrt(m) ** 2, m),
        (sp.Eq(m, lam), sp.Eq(lam - m, 0)),
        (sp.ceiling(m) - sp.floor(m), sp.ceiling(m) - sp.floor(m)),
        (sp.Max(m, lam), (m + lam + sp.Abs(m - lam)) / 2),
        (rho * 0.5, rho / 2),
    ],
)
def test_equal_in_any_shape(first, second):
    assert same(first, second)
    assert same(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1 / (m - lam), 1 / (m + lam)),
        (rho / (1 - rho), rho**2 / (1 - rho)),
        (q * s + q * (q + 1) / 2, q * s + q * (q - 1) / 2),
        (sp.Sum(s + k, (k, 1, q)), sp.Sum(s + k, (k, 0, q - 1))),
        (m, m + sp.Rational(1, 10**30)),
        (sp.Eq(m, lam), sp.Eq(m, 2 * lam)),
        (sp.Lt(m, lam), sp.Le(m, lam)),
        (sp.Lt(m, lam), m - lam),
        (sp.log(m - 10**6), m),
    ],
)
def test_different_ones_are_told_apart(first, second):
    assert not same(first, second)


def test_symbols_count_by_name_not_by_assumptions():
    form = Expression({"mu": "positive", "lambda": "positive"})
    plain = sp.Symbol("mu") - sp.Symbol("lambda")
    assert form.same(form.read(decode(encode(1 / plain))), 1 / (m - lam), random.Random(1))
    with pytest.raises(FormError, match="mu"):
        form.read(decode(encode(1 / (plain + sp.Symbol("x")))))
    with pytest.raises(FormError):
        form.read(decode(encode(sp.Sum(k, (k, 1, 3)))))
    with pytest.raises(FormError):
        form.read("1/(mu - lambda)")


def number(value):
    return Expr("Number", (Fraction(value),))


def tower(height):
    tree = number(10)
    for _ in range(height):
        tree = Expr("Pow", (number(10), tree))
    return tree


def nested_sums(depth):
    tree = Expr("Symbol", ("k0",))
    for level in range(depth):
        tree = Expr(
            "Sum", (tree, Expr("Limits", (Expr("Symbol", (f"k{level}",)), number(0), number(10**12))))
        )
    return tree


@pytest.mark.parametrize(
    "tree",
    [
        tower(3), tower(30), Expr("exp", (tower(2),)), Expr("factorial", (number(10**9),)),
        nested_sums(1), nested_sums(4), Expr("binomial", (number(10**9), number(5 * 10**8))),
        Expr("log", (number(0),)), Expr("log", (number(-1),)), Expr("Pow", (number(0), number(-1))),
        Expr("Pow", (number(-1), number(Fraction(1, 2)))), Expr("Min", ()),
        Expr("Equality", (number(1), number(1))), Expr("Pow", (number(10**3000), number(9_999))),
    ],
    ids=lambda tree: tree.head,
)  # fmt: skip
def test_bombs_and_undefined_values_end_quickly(tree):
    started = time.process_time()
    with pytest.raises(UndefinedError):
        evaluate(tree, {})
    assert time.process_time() - started < 5


def test_names_of_sums_are_bound():
    assert names(from_sympy(sp.Sum(k * s, (k, 1, q)))) == {"s", "q"}
    assert evaluate(from_sympy(sp.Sum(k, (k, 1, 4))), {}) == 10
    assert evaluate(from_sympy(sp.Sum(k, (k, 3, 2))), {}) == 0
