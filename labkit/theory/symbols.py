"""Named quantities: a symbol with its assumptions, its labkit name, and what the book calls it.

The book gives some letters two meanings (b, c, m, s, w, H); a derivation lists its own quantities, and the labkit
name keeps them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from labkit.theory.evaluate import less


@dataclass(frozen=True)
class Quantity:
    """A symbol (or the base of an indexed one, or a function), its name in labkit, what it is, its unit.

    `zh` and `en` say what it is; `unit` is empty for a plain number.
    """

    symbol: Any
    labkit: str
    zh: str
    en: str
    unit: str = ""


def real(name: str) -> sp.Symbol:
    """A real symbol."""
    return sp.Symbol(name, real=True)


def positive(name: str) -> sp.Symbol:
    """A positive symbol."""
    return sp.Symbol(name, positive=True)


def whole(name: str, least: int = 0) -> sp.Symbol:
    """An integer symbol, nonnegative or (`least=1`) positive."""
    return (
        sp.Symbol(name, integer=True, positive=True)
        if least
        else sp.Symbol(name, integer=True, nonnegative=True)
    )


class Reached(sp.Function):
    """1{a ≤ t}: whether the moment a has come by time t. `Reached(a, t)`."""

    nargs = 2
    is_nonnegative = True

    @classmethod
    def eval(cls, a: sp.Expr, t: sp.Expr) -> sp.Expr | None:
        """A number where the assumptions decide."""
        return _decided((t - a).is_nonnegative, (t - a).is_negative)

    @staticmethod
    def number(a: Any, t: Any) -> int:
        """0 or 1 at a point."""
        return int(not less(t, a))

    def _latex(self, printer: Any) -> str:
        a, t = map(printer.doprint, self.args)
        return rf"\mathbf{{1}}\{{{a} \le {t}\}}"

    def _sympystr(self, printer: Any) -> str:
        a, t = map(printer.doprint, self.args)
        return f"1({a} ≤ {t})"


class Within(sp.Function):
    """1{a ≤ t < c}: whether time t lies in [a, c). `Within(a, t, c)`."""

    nargs = 3
    is_nonnegative = True

    @classmethod
    def eval(cls, a: sp.Expr, t: sp.Expr, c: sp.Expr) -> sp.Expr | None:
        """A number where the assumptions decide."""
        if (t - a).is_negative or (t - c).is_nonnegative:
            return sp.Integer(0)
        return _decided((t - a).is_nonnegative and (t - c).is_negative, False)

    @staticmethod
    def number(a: Any, t: Any, c: Any) -> int:
        """0 or 1 at a point."""
        return int(not less(t, a) and less(t, c))

    def _latex(self, printer: Any) -> str:
        a, t, c = map(printer.doprint, self.args)
        return rf"\mathbf{{1}}\{{{a} \le {t} < {c}\}}"

    def _sympystr(self, printer: Any) -> str:
        a, t, c = map(printer.doprint, self.args)
        return f"1({a} ≤ {t} < {c})"


class Exceeds(sp.Function):
    """1{x > y}. `Exceeds(x, y)`."""

    nargs = 2
    is_nonnegative = True

    @classmethod
    def eval(cls, x: sp.Expr, y: sp.Expr) -> sp.Expr | None:
        """A number where the assumptions decide."""
        return _decided((x - y).is_positive, (x - y).is_nonpositive)

    @staticmethod
    def number(x: Any, y: Any) -> int:
        """0 or 1 at a point."""
        return int(less(y, x))

    def _latex(self, printer: Any) -> str:
        x, y = map(printer.doprint, self.args)
        return rf"\mathbf{{1}}\{{{x} > {y}\}}"

    def _sympystr(self, printer: Any) -> str:
        x, y = map(printer.doprint, self.args)
        return f"1({x} > {y})"


def _decided(yes: bool | None, no: bool | None) -> sp.Expr | None:
    return sp.Integer(1) if yes else sp.Integer(0) if no else None


# What several derivations share.
ARRIVAL_RATE = positive(r"\lambda")
SERVICE_RATE = positive(r"\mu")
UTILISATION = positive(r"\rho")
GAP = positive(r"\delta")  # μ − λ, for signs alone
STABLE: Mapping[sp.Symbol, sp.Expr] = {
    SERVICE_RATE: ARRIVAL_RATE + GAP,
    UTILISATION: ARRIVAL_RATE / (ARRIVAL_RATE + GAP),
}

LAMBDA = Quantity(ARRIVAL_RATE, "arrival_rate", "到达率", "arrival rate", "1/s")
MU = Quantity(SERVICE_RATE, "service_rate", "服务率", "service rate", "1/s")
RHO = Quantity(UTILISATION, "utilisation", "利用率", "utilisation")
