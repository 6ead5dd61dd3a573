"""The forms of answers: what a value has to look like before anyone asks whether it is right.

Public and hidden checks read an answer through the same form, so a public check never passes what the grader would
refuse for its form. `read` turns a value into what checks compare, or raises FormError with words for the student;
`same` compares two values that have been read, within the tolerance that the task states.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from labkit.grade import expressions
from labkit.grade.values import Expr
from labkit.show.text import t


class FormError(ValueError):
    """An answer of the wrong form; the text says what was expected."""


class Form(Protocol):
    """What every form can do."""

    def describe(self) -> str:
        """What is expected, as a noun phrase for the student."""

    def read(self, value: Any) -> Any:
        """The answer as checks compare it; raises FormError."""

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """Whether two values of this form are equal within the stated tolerance."""


@dataclass(frozen=True)
class Number:
    """A finite number: int, float, Fraction or a sympy number. Tolerance: `rel` of the expected value."""

    unit: str = ""
    rel: float = 1e-9

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.number", unit=t("grade.form.unit", unit=self.unit) if self.unit else "")

    def read(self, value: Any) -> Fraction:
        """See Form; the value exactly, a float as the fraction it is."""
        if isinstance(value, Expr) and not expressions.names(value):
            if value.head == "Number":
                return Fraction(value.args[0])
            try:
                return Fraction(float(expressions.evaluate(value, {})))
            except (expressions.UndefinedError, OverflowError):
                raise _wrong(self) from None
        if type(value) in (int, Fraction) or (type(value) is float and math.isfinite(value)):
            return Fraction(value)
        raise _wrong(self)

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        wanted = Fraction(expected)
        return bool(abs(given - wanted) <= Fraction(self.rel) * max(abs(wanted), Fraction(1, 10**6)))


@dataclass(frozen=True)
class Whole:
    """An integer; a float or fraction that is one counts."""

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.whole")

    def read(self, value: Any) -> int:
        """See Form."""
        try:
            number = Number().read(value)
        except FormError:
            raise _wrong(self) from None
        if number.denominator != 1:
            raise _wrong(self)
        return int(number)

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        return bool(given == expected)


@dataclass(frozen=True)
class Truth:
    """True or False."""

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.truth")

    def read(self, value: Any) -> bool:
        """See Form."""
        if type(value) is not bool:
            raise _wrong(self)
        return value

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        return bool(given == expected)


@dataclass(frozen=True)
class Choice:
    """One of a few words, without regard to case and outer spaces."""

    options: tuple[str, ...]

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.choice", options=t("list.comma").join(map(repr, self.options)))

    def read(self, value: Any) -> str:
        """See Form."""
        if type(value) is str:
            for option in self.options:
                if value.strip().casefold() == option.casefold():
                    return option
        raise _wrong(self)

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        return bool(given == expected)


@dataclass(frozen=True)
class Maybe:
    """A value of another form, or None where the quantity is undefined."""

    form: Form

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.maybe", form=self.form.describe())

    def read(self, value: Any) -> Any:
        """See Form."""
        return None if value is None else self.form.read(value)

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        if given is None or expected is None:
            return given is expected
        return self.form.same(given, expected, rng)


@dataclass(frozen=True)
class Listing:
    """A list (or tuple) of values of one form, of a stated length or of any."""

    form: Form
    length: int | None = None

    def describe(self) -> str:
        """See Form."""
        if self.length is None:
            return t("grade.form.listing", form=self.form.describe())
        return t("grade.form.length", length=self.length, form=self.form.describe())

    def read(self, value: Any) -> list[Any]:
        """See Form."""
        if not isinstance(value, (list, tuple)) or (self.length is not None and len(value) != self.length):
            raise _wrong(self)
        return [_inside(self.form, item, t("grade.form.item", number=n + 1)) for n, item in enumerate(value)]

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        return len(given) == len(expected) and all(
            self.form.same(a, b, rng) for a, b in zip(given, expected, strict=True)
        )


@dataclass(frozen=True)
class Record:
    """A dict with exactly the stated keys, each with its own form."""

    fields: Mapping[str, Form]

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.record", keys=t("list.comma").join(map(repr, self.fields)))

    def read(self, value: Any) -> dict[str, Any]:
        """See Form."""
        if not isinstance(value, dict) or set(value) != set(self.fields):
            raise _wrong(self)
        return {k: _inside(form, value[k], t("grade.form.key", name=k)) for k, form in self.fields.items()}

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        return all(form.same(given[key], expected[key], rng) for key, form in self.fields.items())


@dataclass(frozen=True)
class Table:
    """A dict from any text to values of one form."""

    form: Form

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.table", form=self.form.describe())

    def read(self, value: Any) -> dict[str, Any]:
        """See Form."""
        if not isinstance(value, dict) or not all(type(key) is str for key in value):
            raise _wrong(self)
        return {k: _inside(self.form, item, t("grade.form.key", name=k)) for k, item in value.items()}

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form."""
        return set(given) == set(expected) and all(
            self.form.same(given[k], expected[k], rng) for k in expected
        )


@dataclass(frozen=True)
class Expression:
    """A sympy expression in stated symbols. `symbols` maps each to a domain of `expressions.DOMAINS`.

    Any algebraic shape of the reference is the same answer. Symbols count by name: assumptions do not matter.
    `closed` refuses an unevaluated Sum.
    """

    symbols: Mapping[str, str]
    closed: bool = True

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.expression", symbols=t("list.comma").join(self.symbols))

    def read(self, value: Any) -> Expr:
        """See Form."""
        if type(value) in (int, Fraction):
            return Expr("Number", (Fraction(value),))
        if (
            isinstance(value, Expr)
            and expressions.names(value) <= set(self.symbols)
            and not (self.closed and expressions.has(value, "Sum"))
        ):
            return value
        raise _wrong(self)

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """See Form; `expected` may be a sympy expression or a tree."""
        wanted = expected if isinstance(expected, Expr) else expressions.from_sympy(expected)
        return expressions.equal(given, wanted, self.symbols, rng)


@dataclass(frozen=True)
class Function:
    """A function that the student writes; `returns` is the form of its result, `example` arguments it must take.

    `example` is public: the public check calls the function with it and looks at the result's form alone.
    """

    returns: Form
    example: tuple[Any, ...] = field(default=())

    def describe(self) -> str:
        """See Form."""
        return t("grade.form.function", form=self.returns.describe())

    def read(self, value: Any) -> Any:
        """The result of a call, read through `returns`."""
        return self.returns.read(value)

    def same(self, given: Any, expected: Any, rng: random.Random) -> bool:
        """Two results of a call."""
        return self.returns.same(given, expected, rng)


def near(first: Any, second: Any, rel: float = 1e-9) -> bool:
    """Whether two numbers agree, for hints that compare a student's floats with decimals."""
    return abs(Fraction(first) - Fraction(second)) <= Fraction(rel) * max(Fraction(1), abs(Fraction(second)))


def _wrong(form: Form) -> FormError:
    return FormError(t("grade.form.whole_answer", form=form.describe()))


def _inside(form: Form, value: Any, place: str) -> Any:
    try:
        return form.read(value)
    except FormError as error:
        raise FormError(f"{place}{t('list.colon')}{error}") from None
