"""The rules that lead from one step of a derivation to the next, each checked by machine.

A rule names the earlier steps that it uses; without a name it uses the one before. `check` is given those claims and
the claim that is made, and raises `Mismatch` unless the claim follows. Numbers are not judged here: see
`derivation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import sympy as sp
from sympy.core.function import AppliedUndef

from labkit.theory import algebra
from labkit.theory.algebra import is_zero

if TYPE_CHECKING:
    from labkit.theory.derivation import Derivation


class Mismatch(Exception):
    """The claim does not follow by the rule; says what the rule gives."""


@dataclass(frozen=True)
class Claim:
    """left = right, or left ≤ right (`relation` "<="). Kept apart so that sympy decides nothing by itself."""

    left: sp.Expr
    right: sp.Expr
    relation: str = "="

    def replaced(self, replacements: Mapping[Any, Any]) -> Claim:
        """The claim with some parts replaced, exactly where they stand."""
        made = dict(replacements)
        return Claim(self.left.xreplace(made), self.right.xreplace(made), self.relation)

    @property
    def residual(self) -> sp.Expr:
        """left − right."""
        return self.left - self.right

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


def _expect(expected: Claim, claim: Claim) -> None:
    """Raise unless the claim says the same as what the rule gives, side by side."""
    same = expected.relation == claim.relation
    if not (same and is_zero(expected.left - claim.left) and is_zero(expected.right - claim.right)):
        raise Mismatch(f"the rule gives {expected}, the step says {claim}")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One way to get from earlier claims to the next. `of`: the step that it starts from (default: the one before)."""

    word: ClassVar[str]
    symbolic: ClassVar[bool] = True
    of: str = ""
    using: Sequence[str] = ()

    def check(self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim) -> None:
        """Prove the claim from `before` and the claims of the steps in `using`.

        Raises:
            Mismatch: it does not follow.
        """
        _expect(self.expected(derivation, before, used, claim), claim)

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """What the rule makes of `before`."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Given(Rule):
    """A premise or a definition. Nothing precedes it: it is held at the points against the meaning of its names."""

    word: ClassVar[str] = "given"
    symbolic: ClassVar[bool] = False

    def check(self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim) -> None:
        """Refuse a premise that no meaning could contradict."""
        names = derivation.names_of(claim)
        if not names & set(derivation.meanings):
            raise Mismatch(f"nothing that it names has a meaning of its own: {claim}")


@dataclass(frozen=True, kw_only=True)
class Cite(Rule):
    """The claim of a step of another derivation, which is checked there."""

    word: ClassVar[str] = "cite"
    source: Derivation
    step: str

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The other derivation's claim, once that derivation has passed."""
        self.source.check()
        return self.source.step(self.step).claim


@dataclass(frozen=True, kw_only=True)
class Rewrite(Rule):
    """The same two sides, written differently."""

    word: ClassVar[str] = "rewrite"

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The claim before, as it is."""
        return before


@dataclass(frozen=True, kw_only=True)
class Rearrange(Rule):
    """Terms moved across, both sides times `factor` (nowhere zero; positive for an inequality)."""

    word: ClassVar[str] = "rearrange"
    factor: sp.Expr = sp.S.One

    def check(self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim) -> None:
        """left − right times the factor is the new left − right."""
        sign = algebra.is_nonzero if before.relation == "=" else algebra.is_positive
        if not sign(self.factor, derivation.assume):
            raise Mismatch(f"the factor {self.factor} has no sure sign")
        if claim.relation != before.relation or not is_zero(before.residual * self.factor - claim.residual):
            raise Mismatch(f"times {self.factor}, {before} does not become {claim}")


@dataclass(frozen=True, kw_only=True)
class Substitute(Rule):
    """The left sides of the steps in `using` replaced by their right sides.

    `at`: replacements made in a used claim first, by step (its index shifted, say). `back`: steps used from right to
    left.
    """

    word: ClassVar[str] = "substitute"
    at: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    back: Sequence[str] = ()

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The claim before with the used ones put in."""
        for name in self.using:
            put = used[name].replaced(self.at.get(name, {}))
            if put.relation != "=":
                raise Mismatch(f"step {name} is no equation")
            old, new = (put.right, put.left) if name in self.back else (put.left, put.right)
            left, right = (_put(side, old, new) for side in (before.left, before.right))
            before = Claim(left, right, before.relation)
        return before


def _put(side: sp.Expr, old: sp.Expr, new: sp.Expr) -> sp.Expr:
    """`new` for `old`: under sums too (a claim about every index holds for a bound one), and where `old` is a sum."""
    mark = sp.Dummy(real=True)
    return side.xreplace({old: mark}).subs(old, mark).xreplace({mark: new})


@dataclass(frozen=True, kw_only=True)
class Raise(Rule):
    """A part of the right side of an inequality replaced by an upper bound of it (the steps in `using`)."""

    word: ClassVar[str] = "raise"

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """The weaker inequality; each part must stand with a positive coefficient."""
        right = before.right
        for name in self.using:
            bound = used[name]
            mark = sp.Dummy()
            marked = right.xreplace({bound.left: mark})
            if not algebra.is_positive(sp.diff(marked, mark), derivation.assume):
                raise Mismatch(f"{right} does not grow with {bound.left}")
            right = marked.xreplace({mark: bound.right})
        return Claim(before.left, right, "<=")


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
        total = _only(before.right, sp.Sum)
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
        start = _done(claim.residual.subs(self.index, self.base)).xreplace(known)
        given = _done(used[self.using[0]].residual) if self.using else sp.S.Zero
        if not is_zero(start - given):
            raise Mismatch(f"at {self.index} = {self.base} the claim is no earlier step: {start} = 0")
        onward = _last_out(claim.residual.subs(self.index, self.index + 1)).xreplace(known)
        if not is_zero(onward - before.residual - self.carry * claim.residual):
            raise Mismatch(f"from {self.index} to {self.index} + 1 the claim does not follow: {onward} = 0")


def _done(expression: sp.Expr) -> sp.Expr:
    """Empty and one-term sums worked out."""
    return expression.replace(
        lambda e: isinstance(e, sp.Sum) and (e.limits[0][2] - e.limits[0][1]).is_Integer, lambda e: e.doit()
    )


def _last_out(expression: sp.Expr) -> sp.Expr:
    """Sums up to n + 1 as the sum up to n and the last term."""

    def split(total: sp.Sum) -> sp.Expr:
        [(index, low, high)] = total.limits
        return sp.Sum(total.function, (index, low, high - 1)) + total.function.subs(index, high)

    return expression.replace(
        lambda e: isinstance(e, sp.Sum) and e.limits[0][2].is_Add, lambda e: split(e)
    )


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
        from labkit.theory.symbols import Reached

        area = _only(before.right, sp.Integral)
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
class Solve(Rule):
    """The one value of a symbol that makes the equation before true. The claim reads symbol = value."""

    word: ClassVar[str] = "solve"

    def check(self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim) -> None:
        """The value satisfies the equation, and nothing else does: the difference of the sides is monotone in it."""
        if not isinstance(claim.left, (sp.Symbol, sp.Indexed)) or claim.relation != "=":
            raise Mismatch(f"{claim} is no solution: one symbol is expected on its left")
        residual = before.residual
        if not is_zero(residual.xreplace({claim.left: claim.right})):
            raise Mismatch(f"{claim} does not satisfy {before}")
        slope = sp.diff(residual, claim.left)
        if claim.right.has(claim.left) or not algebra.is_nonzero(slope, derivation.assume):
            raise Mismatch(f"{before} may have other solutions than {claim}")


@dataclass(frozen=True, kw_only=True)
class Evaluate(Rule):
    """Numbers put in for parameters."""

    word: ClassVar[str] = "evaluate"
    values: Mapping[Any, Any]

    def expected(
        self, derivation: Derivation, before: Claim, used: Mapping[str, Claim], claim: Claim
    ) -> Claim:
        """Both sides there."""
        values = {k: sp.sympify(v) for k, v in self.values.items()}

        members = {k: v for k, v in values.items() if isinstance(k, sp.Indexed)}

        def put(side: sp.Expr) -> sp.Expr:
            """A sum shows its members only once its last index is a number."""
            return _done(side.subs(values, simultaneous=True)).subs(members, simultaneous=True)

        return Claim(put(before.left), put(before.right), before.relation)


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
    from labkit.theory.symbols import Exceeds

    return expression.replace(lambda e: isinstance(e, Exceeds), lambda _: sp.Integer(bound))


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


def _only(expression: sp.Expr, kind: type) -> Any:
    found = list(expression.atoms(kind))
    if len(found) != 1:
        raise Mismatch(f"one {kind.__name__} was expected in {expression}, there are {len(found)}")
    return found[0]
