"""What an exercise declares, once: public checks, hidden checks, bundle and reports all read it from here.

A declaration is public (it ships to students), so nothing in it gives an answer away: it states names, forms,
points, the given numbers and how a variant of them is drawn, and what common misconceptions are called.
"""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from labkit.grade.forms import Form

Given = dict[str, Any]  # name in the notebook -> int, Fraction, str, or lists of those


@dataclass(frozen=True)
class Misconception:
    """A way to be wrong that can be recognised: what feedback says (no value in it), and the section to read."""

    text: str
    section: str


# Recognised in every exercise.
CONSTANT = "constant"
NOT_THERE = "not-there"
COMMON = {
    CONSTANT: Misconception("函数对各种输入给出同一个结果，像是把某一组数的答案写死了。", ""),
    NOT_THERE: Misconception("用到了这道题不提供的模块。答案要自己写出，不能调用 labkit 现成的函数。", ""),
}


@dataclass(frozen=True)
class Hint:
    """A public remark: shown when `when(answers, given)` is true of the student's own answers.

    `when` sees answers in the form that checks compare (functions as they are) and compares them with each other
    or with the given numbers; it contains no answer. `misconception` names what is shown.
    """

    misconception: str
    when: Callable[[dict[str, Any], Given], bool]


@dataclass(frozen=True)
class Answer:
    """One name that the student defines, its form, and its points."""

    name: str
    form: Form
    points: int = 1


@dataclass(frozen=True)
class Part:
    """A part of an exercise. A manual part has `manual` points instead of answers; its rubric lies with
    the hidden checks.
    """

    key: str
    kind: Literal["compute", "derive", "build", "explain"]
    section: str
    answers: tuple[Answer, ...] = ()
    hints: tuple[Hint, ...] = ()
    manual: int = 0

    @property
    def points(self) -> int:
        """All points of the part."""
        return self.manual + sum(answer.points for answer in self.answers)


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise of the chapter.

    `statement` is its text in Markdown, with given numbers in braces; `given` holds the book's numbers and `notes`
    says in a comment what each is; `draw` makes other numbers for a variant, always well posed. `modules` are the
    labkit modules that an answer may import; the rest is not there when it is graded.
    """

    id: str
    title: str
    statement: str
    minutes: int
    difficulty: int
    parts: tuple[Part, ...]
    misconceptions: Mapping[str, Misconception]
    given: Given = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    draw: Callable[[random.Random], Given] | None = None
    modules: tuple[str, ...] = ()
    elective: bool = False

    @property
    def file(self) -> str:
        """The stem of its files: `ex_31_01`."""
        chapter, _, number = self.id.partition(".")
        return f"ex_{chapter}_{int(number):02}"

    @property
    def points(self) -> int:
        """All points, manual ones included."""
        return sum(part.points for part in self.parts)

    def part(self, key: str) -> Part:
        """The part of that key; KeyError where there is none."""
        return next((part for part in self.parts if part.key == key), None) or _missing(key)

    def answer(self, name: str) -> Answer:
        """The declaration of an answer; KeyError where there is none."""
        return next((a for part in self.parts for a in part.answers if a.name == name), None) or _missing(
            name
        )

    def misconception(self, key: str, section: str) -> Misconception:
        """A misconception by its key, its own or a common one; a common one is put down to `section`."""
        return self.misconceptions.get(key) or Misconception(COMMON[key].text, section)

    def numbers(self, secret: bytes | None = None, student: str = "") -> Given:
        """The book's numbers, or this student's own by HMAC-SHA256(secret, exercise and student)."""
        if secret is None or self.draw is None:
            return dict(self.given)
        digest = hmac.new(secret, f"{self.id}\0{student}".encode(), hashlib.sha256).digest()
        drawn = self.draw(random.Random(int.from_bytes(digest, "big")))
        assert set(drawn) == set(self.given), f"{self.id}: a variant names other numbers than the book"
        return drawn

    def render_statement(self, given: Given) -> str:
        """The statement with numbers filled in, under its heading."""
        stars = "★" * self.difficulty + "☆" * (3 - self.difficulty)
        elective = "（选修）" if self.elective else ""
        head = f"# 习题 {self.id}　{self.title}{elective}\n\n约 {self.minutes} 分钟，难度 {stars}，共 {self.points} 分"
        shown = {name: literal(value) for name, value in given.items()}
        return f"{head}。\n\n{self.statement.strip().format(**shown)}"

    def render_given(self, given: Given) -> str:
        """The code cell that defines the given numbers."""
        lines = []
        for name, value in given.items():
            note = f"  # {self.notes[name]}" if name in self.notes else ""
            lines.append(f"{name} = {literal(value)}{note}")
        return "\n".join(lines)


def literal(value: Any) -> str:
    """A given number as Python text: a fraction with a finite decimal as that decimal, any other as a quotient."""
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return str(value.numerator)
        for digits in range(1, 13):
            if (value * 10**digits).denominator == 1:
                return f"{float(value):.{digits}f}"
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    return repr(value)


def _missing(name: str) -> Any:
    raise KeyError(name)
