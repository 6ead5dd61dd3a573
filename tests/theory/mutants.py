"""Wrong steps made from right ones: a sign, a factor, an index or an exponent changed at one place of a claim."""

from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from labkit.theory.rules import Claim

KINDS = ("sign", "factor", "index", "exponent")


def _here(e):
    if e.is_Add:
        for term in e.args:
            yield "sign", e - 2 * term
            yield "factor", e + term
    if e.is_Symbol or e.is_Number or isinstance(e, sp.Indexed):
        return
    if e.is_Pow and e.exp != 0:
        yield "exponent", e.base ** (e.exp + 1)
    if isinstance(e, sp.exp):
        yield "exponent", sp.exp(2 * e.args[0])


def _inside(e):
    if isinstance(e, sp.Indexed):
        yield "index", e.base[e.indices[0] + 1]
        return
    if isinstance(e, sp.Sum):
        [(index, low, high)] = e.limits
        if high != sp.oo:
            yield "index", sp.Sum(e.function, (index, low, high + 1))
        if sp.simplify(e.function.subs(index, low)) != 0:  # to leave out a zero changes nothing
            yield "index", sp.Sum(e.function, (index, low + 1, high))
        for kind, function in everywhere(e.function):
            yield kind, sp.Sum(function, *e.limits)
        return
    if isinstance(e, (sp.Integral, sp.Derivative)) or e.is_Symbol or e.is_Number:
        return
    for place, argument in enumerate(e.args):
        for kind, changed in everywhere(argument):
            yield kind, e.func(*e.args[:place], changed, *e.args[place + 1 :])


def everywhere(e: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    """Every change of every kind inside an expression."""
    yield from _here(e)
    yield from _inside(e)


def of_claim(claim: Claim) -> Iterator[tuple[str, Claim]]:
    """Every mutant of a claim: its sides as wholes, then each place inside them."""
    seen = {claim}
    changes = []
    if claim.left != 0:  # 0 = x and 0 = 2x say the same
        changes = [("sign", -claim.right, "right"), ("factor", 2 * claim.right, "right")]
    for side in ("left", "right"):
        changes += [(kind, changed, side) for kind, changed in everywhere(getattr(claim, side))]
    for kind, changed, side in changes:
        mutant = replace(claim, **{side: changed})
        nothing = changed == getattr(claim, side) or (
            changed.is_number and changed == 0 == getattr(claim, side)
        )
        if mutant not in seen and not nothing:
            seen.add(mutant)
            yield kind, mutant
