"""A derivation: a list of steps, each checked by machine from the ones before, symbolically and at points.

`Derivation.check()` proves every step by its rule, evaluates both sides of every claim at random admissible points
where the quantities have meanings of their own (counting, adding up, solving a chain, quadrature), and refuses the
first step that fails by name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from labkit.theory.evaluate import At, Meaning, Point, gap, less, value
from labkit.theory.rules import Claim, Evaluate, Mismatch, Rule
from labkit.theory.symbols import Quantity

POINTS = 6
TOLERANCE = 1e-9  # of meanings in doubles; exact ones must agree exactly


class Refused(ValueError):
    """A step that does not hold: names the derivation, the step, its rule, and what was expected."""


@dataclass(frozen=True)
class Step:
    """One step: its name, the rule that leads to it, what it claims. Its words stand in `labkit.theory.words`."""

    name: str
    rule: Rule
    claim: Claim


def step(name: str, rule: Rule, left: Any, right: Any, relation: str = "=") -> Step:
    """A step that claims left = right (or ≤)."""
    return Step(name, rule, Claim(sp.sympify(left), sp.sympify(right), relation))


@dataclass(frozen=True)
class Checked:
    """What the machine did for a step: proved by its rule or not (a premise), at how many points, the largest error.

    `error` is relative to the larger side or 1; 0.0 exactly where both sides were exact.
    """

    symbolic: bool
    points: int
    error: float


@dataclass(frozen=True)
class Derivation:
    """Steps from premises to a result.

    `name` finds its words; `ledger` are the ids of the chapter's rows that it carries; `points` draws an admissible
    point; `meanings` computes named quantities at a point independently; `assume` says what holds of the symbols
    (see `algebra`); `source` is the equation or paper; `samples` is the number of points.
    """

    name: str
    ledger: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    points: Callable[[random.Random], Point]
    meanings: Mapping[Any, Meaning]
    steps: tuple[Step, ...]
    source: str
    assume: Mapping[Any, sp.Expr]
    samples: int = POINTS

    def __post_init__(self) -> None:
        names = [s.name for s in self.steps]
        if len(set(names)) != len(names):
            raise Refused(f"derivation {self.name}: two steps have one name: {names}")

    def step(self, name: str) -> Step:
        """The step of that name."""
        return self.steps[self._place(name)]

    @property
    def result(self) -> Claim:
        """What the last step claims."""
        return self.steps[-1].claim

    def check(self) -> tuple[Checked, ...]:
        """Check every step, in order; the answer is kept.

        Raises:
            Refused: a step does not hold.
        """
        return self._checked

    @cached_property
    def _checked(self) -> tuple[Checked, ...]:
        return tuple(self.check_step(s.name) for s in self.steps)

    def check_step(self, name: str) -> Checked:
        """Check one step from the claims of the earlier ones: by its rule, then at the points.

        Raises:
            Refused: it does not hold.
        """
        self.prove(name)
        errors = self.measure(name)
        return Checked(self.step(name).rule.symbolic, len(errors), max(errors))

    def prove(self, name: str) -> None:
        """The half of the check that is symbolic: the claim follows by the step's rule.

        Raises:
            Refused: it does not.
        """
        place = self._place(name)
        found = self.steps[place]
        rule = found.rule
        start = self._place(rule.of, place) if rule.of else place - 1
        try:
            before = self.steps[start].claim if place else found.claim
            used = {key: self.steps[self._place(key, place)].claim for key in rule.using}
            if place == 0 and rule.symbolic and rule.word not in ("cite", "cases"):
                raise Mismatch("it has no step before it")
            rule.check(self, before, used, found.claim)
        except Mismatch as why:
            raise self._refusal(place, str(why)) from None

    def measure(self, name: str) -> list[float]:
        """The half of the check that is numerical: the errors of the claim at the points.

        Raises:
            Refused: the sides differ somewhere; says where.
        """
        place = self._place(name)
        found = self.steps[place]
        claim, rule = found.claim, found.rule
        fixed = dict(rule.values) if isinstance(rule, Evaluate) else {}
        errors = []
        for at in self._points(fixed):
            try:
                left, right = value(claim.left, at), value(claim.right, at)
            except (KeyError, IndexError, ArithmeticError, TypeError) as why:
                raise self._refusal(place, f"it cannot be evaluated: {why}") from why
            error = gap(left, right)
            if claim.relation == "<=" and not less(right, left):
                error = 0.0
            if not error <= TOLERANCE:
                numbers = {str(k): str(v) for k, v in at.items() if isinstance(k, sp.Symbol)}
                raise self._refusal(place, f"at {numbers} its sides are {_short(left)} and {_short(right)}")
            errors.append(error)
        return errors

    def _points(self, fixed: Mapping[Any, Any]) -> list[At]:
        """The seeded points, with the numbers that a step fixes."""
        draw = random.Random(f"{self.name}")
        numbers = {k: sp.sympify(v) for k, v in fixed.items()}
        values = {k: value(v, At({}, {})) for k, v in numbers.items() if v.is_number}
        points = []
        for _ in range(self.samples):
            point = dict(self.points(draw))
            for name, number in values.items():
                if isinstance(name, sp.Indexed):
                    family = point[name.base]
                    known = family if isinstance(family, dict) else dict(enumerate(family))
                    point[name.base] = {**known, int(name.indices[0]): number}
                else:
                    point[name] = number
            points.append(At(point, self.meanings))
        return points

    def _place(self, name: str, before: int | None = None) -> int:
        for place, found in enumerate(self.steps[:before]):
            if found.name == name:
                return place
        raise Refused(f"derivation {self.name}: no {'earlier ' if before is not None else ''}step {name!r}")

    def _refusal(self, place: int, why: str) -> Refused:
        found = self.steps[place]
        return Refused(f"derivation {self.name}, step {place + 1} {found.name!r} ({found.rule.word}): {why}")

    @staticmethod
    def names_of(claim: Claim) -> set[Any]:
        """The symbols, bases of indexed symbols and functions that a claim names."""
        sides = (claim.left, claim.right)
        found: set[Any] = set()
        for side in sides:
            found |= {a.base for a in side.atoms(sp.Indexed)} | {a.func for a in side.atoms(AppliedUndef)}
            found |= side.free_symbols
        return found

    def to_markdown(self, language: str = "zh") -> str:
        """The derivation as Markdown with LaTeX and folds, in Chinese ("zh") or English ("en"); checks it first."""
        from labkit.theory.render import markdown

        return markdown(self, language)

    def to_html(self, language: str = "zh") -> str:
        """The same as HTML."""
        from labkit.theory.render import html

        return html(self, language)

    def _repr_markdown_(self) -> str:
        from labkit.theory.render import language

        return self.to_markdown(language())

    def _repr_html_(self) -> str:
        from labkit.theory.render import language

        return self.to_html(language())


def _short(number: Any) -> str:
    return str(number) if len(str(number)) < 20 else f"{float(number):.12g}"


def derivation(
    name: str,
    ledger: Sequence[str] | str,
    *steps: Step,
    quantities: Sequence[Quantity],
    points: Callable[[random.Random], Point],
    meanings: Mapping[Any, Meaning],
    source: str,
    assume: Mapping[Any, sp.Expr] | None = None,
    samples: int = POINTS,
) -> Derivation:
    """Put a derivation together (see the fields of `Derivation`)."""
    rows = (ledger,) if isinstance(ledger, str) else tuple(ledger)
    quantities = tuple(quantities)
    return Derivation(name, rows, quantities, points, meanings, steps, source, assume or {}, samples)
