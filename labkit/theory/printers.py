"""Claims as LaTeX for MathJax, and as plain text for a screen reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from labkit.theory.algebra import is_positive
from labkit.theory.derivation import Derivation
from labkit.theory.rules import Claim

RELATIONS = {"=": "=", "<=": r"\le"}
SHORT = 10**6  # denominators whose decimals end within six digits


class Tex(LatexPrinter):
    """LaTeX that shows differences as the derivation assumes them: μ − λ stays so where λ < μ."""

    def __init__(self, assume: Any) -> None:
        super().__init__({"mul_symbol": None, "ln_notation": False})
        self._assume = dict(assume)

    def _flipped(self, part: sp.Expr) -> bool:
        return part.is_Add and is_positive(-part, self._assume)

    def _print_Add(self, expr: sp.Add, order: Any = None) -> str:  # noqa: N802
        terms = sorted(self._as_ordered_terms(expr, order=order), key=lambda t: t.could_extract_minus_sign())
        text = ""
        for term in terms:
            minus = term.could_extract_minus_sign()
            body = self._print(-term if minus else term)
            if (-term if minus else term).is_Add:
                body = rf"\left({body}\right)"
            text += (" - " if minus else " + ") + body if text else ("- " if minus else "") + body
        return text

    def _print_Mul(self, expr: sp.Mul) -> str:  # noqa: N802
        number, rest = expr.as_coeff_Mul()
        parts = sp.Mul.make_args(rest)
        flips = [p for p in parts if self._flipped(p.base if p.is_Pow and p.exp.is_Integer else p)]
        if not flips:
            return str(super()._print_Mul(expr))
        for part in flips:
            if not (part.is_Pow and part.exp % 2 == 0):
                number = -number
        turned = [self._turn(p) if p in flips else p for p in parts]
        kept = [*([] if abs(number) == 1 else [abs(number)]), *turned]
        body = kept[0] if len(kept) == 1 else sp.Mul(*kept, evaluate=False)
        return ("- " if number < 0 else "") + str(
            self._print(body) if len(kept) == 1 else super()._print_Mul(body)
        )

    @staticmethod
    def _turn(part: sp.Expr) -> sp.Expr:
        return sp.Pow(-part.base, part.exp, evaluate=False) if part.is_Pow else -part

    def _print_Function(self, expr: Any, exp: Any = None) -> str:  # noqa: N802
        found = _named_tail(expr, self._print)
        return found if found is not None else str(super()._print_Function(expr, exp))

    def _print_Derivative(self, expr: Any) -> str:  # noqa: N802
        [(variable, _)] = expr.variable_count
        sign = "d" if len(expr.expr.free_symbols) == 1 else r"\partial"
        return rf"\frac{{{sign}}}{{{sign} {self._print(variable)}}} {self._print(expr.expr)}"


def tex(derivation: Derivation, claim: Claim) -> str:
    """A claim in LaTeX."""
    printer = Tex(derivation.assume)
    sides = printer.doprint(claim.left), printer.doprint(claim.right)
    return f"{sides[0]} {RELATIONS[claim.relation]} {sides[1]}{_decimal(claim.right)}"


def _decimal(side: sp.Expr) -> str:
    """A number that is not whole as a decimal too: = where that is exact, ≈ with four digits where not."""
    if not side.is_number or side.is_Integer:
        return ""
    if side.is_Rational and SHORT % int(side.q) == 0:
        return f" = {Decimal(int(side.p)) / Decimal(int(side.q))}"
    return rf" \approx {float(side):.4g}"


class Plain(StrPrinter):
    """Text for a screen reader: sums and integrals by their signs and ends, names without LaTeX."""

    def _print_Sum(self, expr: Any) -> str:  # noqa: N802
        return self._over("Σ", expr)

    def _print_Integral(self, expr: Any) -> str:  # noqa: N802
        return self._over("∫", expr)

    def _over(self, sign: str, expr: Any) -> str:
        [(variable, low, high)] = expr.limits
        first, last = self._print(low), self._print(high)
        return f"{sign}[{self._print(variable)} = {first} … {last}] ({self._print(expr.function)})"

    def _print_Derivative(self, expr: Any) -> str:  # noqa: N802
        return f"d/d{self._print(expr.variable_count[0][0])} {self._print(expr.expr)}"

    def _print_Infinity(self, expr: Any) -> str:  # noqa: N802
        return "∞"

    def _print_Function(self, expr: Any) -> str:  # noqa: N802
        found = _named_tail(expr, self._print)
        return found if found is not None else str(super()._print_Function(expr))


def _named_tail(expr: Any, shown: Callable[[Any], str]) -> str | None:
    """The name of a tail, such as Pr(X > ·), with its argument at the dot; a given β at the ring, unless it is β."""
    name = expr.func.__name__
    if r"\cdot" not in name:
        return None
    for mark, argument in zip((r"\cdot", r"\circ"), expr.args, strict=False):
        name = name.replace(mark, shown(argument))
    return re.sub(r"\\nolimits_\{(\S+)=\1\}", "", name)


def plain(claim: Claim) -> str:
    """A claim as text for a screen reader."""
    printer = Plain()
    said = f"{printer.doprint(claim.left)} {claim.relation} {printer.doprint(claim.right)}"
    for command, word in (("mathrm", ""), ("mathbb", ""), ("overline", "mean "), ("nolimits", "")):
        said = said.replace(f"\\{command}", word)
    return re.sub(r"[\\{}]", "", said).replace("**", "^").replace("<=", "≤")
