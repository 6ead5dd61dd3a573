"""JSON read strictly and exactly: bounded in size and depth, decimals never through binary floating point.

What JSON leaves open is refused with its place in the document: duplicate keys, NaN and Infinity, halves of
surrogate pairs, numbers too long or too far from 1 to be exact about. Such a number becomes an `Unreadable`,
so that the schema's check names the field that holds it, together with all other problems.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, BinaryIO

from labkit.core.errors import InputError, escaped

MOST_BYTES = 16 << 20
DEEPEST = 32
MOST_DIGITS = 60
FARTHEST_EXPONENT = 40

Path = tuple[str | int, ...]

# A whole string (closed or not, so that no text is scanned twice), or one bracket.
_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that no field accepts; `text` says in words what was given."""

    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document: where, what was given, what was expected."""

    path: Path
    given: str
    expected: str

    def line(self, label: str) -> str:
        """`FILE: field.path[3].name: given X, expected Y`."""
        place = shown_path(self.path)
        return f"{label}: {place + ': ' if place else ''}given {self.given}, expected {self.expected}"


@dataclass(slots=True)
class Document:
    """A parsed document, and what was wrong with it as text."""

    value: Any
    problems: list[Problem] = field(default_factory=list)


class _Repeated(dict[str, Any]):
    """An object in which keys came more than once."""

    repeats: tuple[str, ...] = ()


def shown_path(path: Path) -> str:
    """`requests[3].id`; keys that are not plain names are quoted, escaped and cut."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            short = step if len(step) <= 40 else step[:37] + "..."
            parts.append('["' + escaped(short.replace('"', '\\"')) + '"]')
    return "".join(parts)


def read_bounded(stream: BinaryIO, label: str) -> bytes:
    """All of a stream, but never more than 16 MiB: an endless input costs no more than that.

    Raises:
        InputError: it is longer.
    """
    parts: list[bytes] = []
    room = MOST_BYTES + 1
    while room and (part := stream.read(min(room, 1 << 20))):
        parts.append(part)
        room -= len(part)
    if not room:
        raise InputError(f"{label}: given more than {MOST_BYTES >> 20} MiB, expected a file of at most that")
    return b"".join(parts)


def parse(data: bytes, label: str) -> Document:
    """Parse UTF-8 JSON text. Numbers with a point or an exponent become `Decimal`, exactly as written.

    Raises:
        InputError: it is not UTF-8, not JSON, or nested more than 32 deep.
    """
    if len(data) > MOST_BYTES:
        raise InputError(f"{label}: given more than {MOST_BYTES >> 20} MiB, expected at most that")
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{label}: given bytes that are not UTF-8 (0x{data[error.start]:02x} at byte {error.start}), "
            "expected a JSON file in UTF-8"
        ) from None
    _check_depth(text, label)
    repeated: list[_Repeated] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(items)
        if len(plain) == len(items):
            return plain
        seen: set[str] = set()
        doubled = _Repeated(plain)
        doubled.repeats = tuple(dict.fromkeys(k for k, _ in items if k in seen or seen.add(k)))  # type: ignore[func-returns-value]
        repeated.append(doubled)
        return doubled

    try:
        value = json.loads(
            text, parse_float=_decimal, parse_int=_integer, parse_constant=Unreadable, object_pairs_hook=pairs
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise InputError(
            f"{label}: {where}: given text that is not JSON ({error.msg}), expected JSON"
        ) from None
    document = Document(value)
    if repeated or _HALF.search(text):
        _look_through(value, (), document.problems)
    return document


def _check_depth(text: str, label: str) -> None:
    depth = 0
    for match in _TOKENS.finditer(text):
        mark = match.group()[0]
        if mark in "[{":
            depth += 1
            if depth > DEEPEST:
                line = text.count("\n", 0, match.start()) + 1
                raise InputError(
                    f"{label}: line {line}: given objects or lists nested more than {DEEPEST} deep, "
                    f"expected at most {DEEPEST}"
                )
        elif mark in "]}":
            depth -= 1


def _integer(text: str) -> int | Unreadable:
    return int(text) if len(text) <= MOST_DIGITS else Unreadable(f"a number of {len(text)} digits")


def _decimal(text: str) -> Decimal | Unreadable:
    """The number as written, if exact arithmetic with it is cheap: at most 60 digits, from 1e-40 to 1e40."""
    if len(text) > 2 * MOST_DIGITS:
        return Unreadable(f"a number of {len(text)} characters")
    exponent = text.lower().partition("e")[2].lstrip("+-").lstrip("0")
    # Asked of the text first: merely building Decimal("1e99999999999999999999") is an error of its own.
    exact = _sane(Decimal(text)) if len(exponent) <= 3 else None
    return (
        Unreadable(f"{text[:40]} (over 60 digits, or not between 1e-40 and 1e40)") if exact is None else exact
    )


def _sane(value: Decimal) -> Decimal | None:
    if not value:
        # A zero has an exponent too: 0e999999999 is cheap to hold and dear to convert.
        exponent = value.as_tuple().exponent
        return value if isinstance(exponent, int) and abs(exponent) <= FARTHEST_EXPONENT else Decimal(0)
    if abs(value.adjusted()) > FARTHEST_EXPONENT or len(value.as_tuple().digits) > MOST_DIGITS:
        return None
    return value


def _look_through(value: Any, path: Path, problems: list[Problem]) -> None:
    """Find repeated keys and halves of surrogate pairs, which the parser let through."""
    if isinstance(value, _Repeated):
        problems.extend(Problem((*path, key), "the same key twice", "each key once") for key in value.repeats)
    if isinstance(value, dict):
        for key, item in value.items():
            _look_through(key, (*path, key), problems)
            _look_through(item, (*path, key), problems)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _look_through(item, (*path, index), problems)
    elif isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        problems.append(Problem(path, "half of a surrogate pair", "Unicode text"))


def from_python(value: Any, label: str) -> Document:
    """A document out of Python objects: a float counts as its shortest decimal, `Decimal` and int as they are.

    Fractions are refused: a scenario is a JSON file, and 1/3 has no JSON number. So is every other type.

    Raises:
        InputError: nested more than 32 deep (a list that holds itself is).
    """
    document = Document(None)
    document.value = _converted(value, (), document.problems, label)
    return document


def _converted(value: Any, path: Path, problems: list[Problem], label: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        _look_through(value, path, problems)
        return str(value)
    if isinstance(value, int):
        return int(value) if abs(value) < 10**MOST_DIGITS else Unreadable("an integer of too many digits")
    if isinstance(value, float):
        return _decimal(repr(float(value))) if value - value == 0 else Unreadable(repr(float(value)))
    if isinstance(value, Decimal):
        exact = _sane(value) if value.is_finite() else None
        return Unreadable(f"{str(value)[:40]}") if exact is None else exact
    if isinstance(value, Mapping | list | tuple):
        if len(path) >= DEEPEST:
            raise InputError(
                f"{label}: given objects or lists nested more than {DEEPEST} deep, expected at most {DEEPEST}"
            )
        if not isinstance(value, Mapping):
            return [_converted(item, (*path, i), problems, label) for i, item in enumerate(value)]
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                problems.append(Problem(path, f"a key of type {type(key).__name__}", "keys that are strings"))
                continue
            _look_through(key, path, problems)
            copy[str(key)] = _converted(item, (*path, key), problems, label)
        return copy
    if isinstance(value, Fraction):
        return Unreadable(f"the fraction {str(value)[:40]} (write it as a decimal)")
    return Unreadable(f"a Python {type(value).__name__}")


def dumps(value: Any) -> str:
    """Compact JSON text of a parsed document; decimals are written as they were read."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{dumps(v)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dumps, value)) + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
