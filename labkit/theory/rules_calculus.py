"""The rules of calculus: derivative, integral, limit, inverse transform (see `rules`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import sympy as sp
from sympy.core.function import AppliedUndef

from labkit.theory import algebra
from labkit.theory.algebra import is_zero
from labkit.theory.rules import Claim, Mismatch, Rule, only
from labkit.theory.symbols import Reached

if TYPE_CHECKING:
    from labkit.theory.derivation import Derivation


@dataclass(frozen=True, kw_only=True)
class Differentiate(Rule):
    """Both sides differentiated; the left stays written as a derivative."""

    word: ClassVar[str] = "differentiate"
    by: sp.Symbol

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The derivatives."""
        return Claim(sp.Derivative(before.left, self.by), sp.diff(before.right, self.by))


@dataclass(frozen=True, kw_only=True)
class IntegrateBoth(Rule):
    """Both sides integrated over one interval, term by term; left as integrals, named ones by the steps in `using`."""

    word: ClassVar[str] = "integrate_both"
    over: tuple[sp.Symbol, sp.Expr, sp.Expr]
    at: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    named: Sequence[tuple[str, Mapping[Any, Any]]] = ()

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The integrals, those that a step defines under that step's name."""

        def whole(side: sp.Expr) -> sp.Expr:
            made = sp.Add(*(sp.Integral(term, self.over) for term in sp.Add.make_args(sp.expand(side))))
            for name, at in self.named:
                definition = used[name].replaced(dict(at))
                made = made.xreplace({definition.right: definition.left})
            return made

        return Claim(whole(before.left), whole(before.right), before.relation)


@dataclass(frozen=True, kw_only=True)
class Antiderivative(Rule):
    """An integral worked out: F′ is the integrand, so the integral is F at its upper end minus F at its lower."""

    word: ClassVar[str] = "integrate"
    f: sp.Expr

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The claim before with its one integral worked out."""
        area = only(before.right, sp.Integral)
        [(variable, low, high)] = area.limits
        slope = sp.diff(self.f, variable).replace(sp.Heaviside, lambda x, *_: Reached(variable - x, variable))
        if not is_zero(slope - area.function):
            raise Mismatch(f"the derivative of {self.f} is {slope}, not {area.function}")
        if high == sp.oo:
            if not algebra.vanishes(self.f, variable, derivation.assume):
                raise Mismatch(f"{self.f} does not go to 0")
            upper = sp.S.Zero
        else:
            upper = self.f.subs(variable, high)
        return before.replaced({area: upper - self.f.subs(variable, low)})


@dataclass(frozen=True, kw_only=True)
class Limit(Rule):
    """Parameters moved to a value at which the right side is continuous; `named`: what the left side is then called."""

    word: ClassVar[str] = "limit"
    to: Mapping[sp.Symbol, sp.Expr]
    named: Mapping[Any, Any] = field(default_factory=dict)

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The right side there: a ratio of polynomials whose denominator is not zero."""
        bottom = sp.fraction(sp.together(before.right))[1]
        if not before.right.is_rational_function(*self.to) or is_zero(bottom.subs(dict(self.to))):
            raise Mismatch(f"{before.right} is not continuous at {dict(self.to)}")
        return Claim(before.left.xreplace(dict(self.named)), before.right.subs(dict(self.to)))


@dataclass(frozen=True, kw_only=True)
class InvertTransform(Rule):
    """The density whose Laplace transform the step before holds, beside an `atom` at 0.

    Proved forwards: F′ = e^(−zt) times the density and F → 0, so −F(0) is its transform; one law alone has it
    (Lerch).
    """

    word: ClassVar[str] = "invert"
    t: sp.Symbol
    z: sp.Symbol
    f: sp.Expr
    atom: sp.Expr = sp.S.Zero

    def check(self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim) -> None:
        """The claim's right side is the density, its left a function of t."""
        if not isinstance(claim.left, AppliedUndef) or claim.left.args != (self.t,):
            raise Mismatch(f"a density at {self.t} is expected on the left, not {claim.left}")
        if not is_zero(sp.diff(self.f, self.t) - sp.exp(-self.z * self.t) * claim.right):
            raise Mismatch(f"the derivative of {self.f} is not exp(-z t) times {claim.right}")
        if not algebra.vanishes(self.f, self.t, derivation.assume):
            raise Mismatch(f"{self.f} does not go to 0")
        transform = self.atom - self.f.subs(self.t, 0)
        if not is_zero(before.right - transform):
            raise Mismatch(f"the transform of {claim.right} with an atom {self.atom} is {transform}")
