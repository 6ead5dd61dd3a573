"""The rules of algebra that lead from one step of a derivation to the next, each checked by machine.

A rule names the earlier steps that it uses; without a name it uses the one before. `check` is given those claims and
the claim that is made, and raises `Mismatch` unless the claim follows. Numbers are not judged here: see
`derivation`. The rules of sums and cases stand in `rules_sums`, those of calculus in `rules_calculus`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import sympy as sp

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
        if not algebra.is_admissible(claim.left, claim.right, derivation.assume):
            raise Mismatch(f"{claim} is no admissible value")
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
            return finished(side.subs(values, simultaneous=True)).subs(members, simultaneous=True)

        return Claim(put(before.left), put(before.right), before.relation)


def finished(expression: sp.Expr) -> sp.Expr:
    """Empty and one-term sums worked out."""
    return expression.replace(
        lambda e: isinstance(e, sp.Sum) and (e.limits[0][2] - e.limits[0][1]).is_Integer, lambda e: e.doit()
    )


def only(expression: sp.Expr, kind: type) -> Any:
    """The one part of that kind.

    Raises:
        Mismatch: there is none, or there are several.
    """
    found = list(expression.atoms(kind))
    if len(found) != 1:
        raise Mismatch(f"one {kind.__name__} was expected in {expression}, there are {len(found)}")
    return found[0]
