"""The rules of sums, induction and cases (see `rules`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import sympy as sp

from labkit.theory import algebra
from labkit.theory.algebra import is_zero
from labkit.theory.rules import Claim, Mismatch, Rule, finished, only
from labkit.theory.symbols import Exceeds

if TYPE_CHECKING:
    from labkit.theory.derivation import Derivation


@dataclass(frozen=True, kw_only=True)
class Telescope(Rule):
    """A sum in closed form: each term is G(i+1) − G(i), so the sum is G after its last index minus G at its first.

    For an infinite sum G goes to 0 and the sum is −G at the first index. `g` is written in the sum's own index.
    """

    word: ClassVar[str] = "sum"
    g: sp.Expr

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The claim before with its one sum in closed form."""
        total = only(before.right, sp.Sum)
        [(index, low, high)] = total.limits
        if not is_zero(self.g.xreplace({index: index + 1}) - self.g - total.function):
            raise Mismatch(f"G = {self.g} does not step by {total.function}")
        if high == sp.oo:
            if not algebra.vanishes(self.g, index, derivation.assume):
                raise Mismatch(f"G = {self.g} does not go to 0")
            closed = -self.g.subs(index, low)
        else:
            closed = self.g.subs(index, high + 1) - self.g.subs(index, low)
        return before.replaced({total: closed})


@dataclass(frozen=True, kw_only=True)
class LastTerm(Rule):
    """A sum up to n + 1 is the sum up to n and one term: the claim at n + 1 with the claim at n put in."""

    word: ClassVar[str] = "last_term"
    index: sp.Symbol

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """f(n + 1) = f(n) + the term at n + 1."""
        total = before.right
        if not isinstance(total, sp.Sum) or total.limits[0][2] != self.index:
            raise Mismatch(f"{before} is no sum up to {self.index}")
        following = {self.index: self.index + 1}
        term = total.function.subs(total.limits[0][0], self.index + 1)
        return Claim(before.left.xreplace(following), before.left + term)


@dataclass(frozen=True, kw_only=True)
class Induct(Rule):
    """Proved at `base` by the step named first in `using`, and from n to n + 1 by the step before (or `of`).

    The step must be the claim at n + 1 minus `carry` times the claim at n, as differences of their sides. `put`:
    steps whose left sides are replaced by their right sides in the claim at the base and at n + 1.
    """

    word: ClassVar[str] = "induction"
    index: sp.Symbol
    base: sp.Expr = sp.S.Zero
    carry: sp.Expr = sp.S.One
    put: Sequence[str] = ()

    def check(self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim) -> None:
        """Both halves of the induction."""
        known = {used[name].left: used[name].right for name in self.put}
        start = finished(claim.residual.subs(self.index, self.base)).xreplace(known)
        given = finished(used[self.using[0]].residual) if self.using else sp.S.Zero
        if not is_zero(start - given):
            raise Mismatch(f"at {self.index} = {self.base} the claim is no earlier step: {start} = 0")
        onward = _last_out(claim.residual.subs(self.index, self.index + 1)).xreplace(known)
        if not is_zero(onward - before.residual - self.carry * claim.residual):
            raise Mismatch(f"from {self.index} to {self.index} + 1 the claim does not follow: {onward} = 0")


def _last_out(expression: sp.Expr) -> sp.Expr:
    """Sums up to n + 1 as the sum up to n and the last term."""

    def split(total: sp.Sum) -> sp.Expr:
        [(index, low, high)] = total.limits
        return sp.Sum(total.function, (index, low, high - 1)) + total.function.subs(index, high)

    return expression.replace(lambda e: isinstance(e, sp.Sum) and e.limits[0][2].is_Add, split)


@dataclass(frozen=True, kw_only=True)
class Expect(Rule):
    """Both sides weighted by a probability (never negative) and summed over all outcomes."""

    word: ClassVar[str] = "expectation"
    weight: sp.Expr
    over: tuple[sp.Symbol, sp.Expr, sp.Expr]

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The two expectations."""
        if not self.weight.is_nonnegative:
            raise Mismatch(f"{self.weight} may be negative")
        left, right = (
            sp.Add(*(sp.Sum(self.weight * term, self.over) for term in sp.Add.make_args(side)))
            for side in (before.left, before.right)
        )
        return Claim(left, right, before.relation)


@dataclass(frozen=True, kw_only=True)
class ByOrder(Rule):
    """Every way in which some points can lie on a line, ties included; the sides agree (or are in order) in each.

    `groups`: points that are compared with each other; `known`: pairs (a, b) with a < b. Without `of`, the claim
    stands alone; with it, the claim's right side replaces the right side before.
    """

    word: ClassVar[str] = "cases"
    groups: Sequence[Sequence[sp.Expr]]
    known: Sequence[tuple[sp.Expr, sp.Expr]] = ()
    alone: bool = False

    def cases(self) -> list[dict[Any, sp.Expr]]:
        """The cases as replacements."""
        found: list[dict[Any, sp.Expr]] = [{}]
        for group in self.groups:
            known = [pair for pair in self.known if pair[0] in group]
            found = [{**case, **order} for case in found for order in algebra.orders(group, known)]
        return found

    def check(self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim) -> None:
        """Case by case."""
        if not self.alone and not is_zero(before.left - claim.left):
            raise Mismatch(f"the left side was {before.left}")
        first = claim.left if self.alone else before.right
        for case in self.cases():
            left, right = _in_case(first, case), _in_case(claim.right, case)
            if claim.relation == "<=":
                left, right = _bounded(left, 1), _bounded(right, 0)
                holds = (right - left).is_nonnegative
            else:
                holds = is_zero(left - right)
            if not holds:
                said = ", ".join(f"{point} = {at}" for point, at in case.items())
                raise Mismatch(f"{first} {claim.relation} {claim.right} fails where {said}")


def _in_case(expression: sp.Expr, case: Mapping[Any, sp.Expr]) -> sp.Expr:
    """The expression in one order of the points, where it is known which of two is the greater."""
    if expression in case:
        return case[expression]
    if not expression.args:
        return expression
    parts = [_in_case(a, case) for a in expression.args]
    if not isinstance(expression, (sp.Max, sp.Min)):
        return expression.func(*parts)
    best = parts[0]
    for other in parts[1:]:
        ahead = sp.expand(other - best if isinstance(expression, sp.Max) else best - other)
        if ahead.is_nonnegative:
            best = other
        elif not ahead.is_nonpositive:
            raise Mismatch(f"the order of the points does not say which of {best} and {other} is greater")
    return best


def _bounded(expression: sp.Expr, bound: int) -> sp.Expr:
    return expression.replace(lambda e: isinstance(e, Exceeds), lambda _: sp.Integer(bound))
