"""One field of a scenario, named by its path and given one value after another: the axis of a sweep."""

from __future__ import annotations

import copy
import itertools
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from labkit.core.errors import InputError, escaped, quoted

MOST_VALUES = 100_000
_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[\d{1,9}\])*", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_PART = re.compile(
    r'("(?:[^"\\]|\\.)*"|[^",][^,]*)?(,|\Z)'
)  # a JSON text, which may hold commas, or other text

Number = int | Decimal
Value = Number | str | bool | None
Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class Axis:
    """A field, such as `arrivals.rate` or `requests[0].priority`, and the values that it takes in turn."""

    name: str
    steps: Steps
    values: tuple[Value, ...]


def axis(text: str) -> Axis:
    """`FIELD=v1,v2,…` or `FIELD=start:stop:step`, both ends included; numbers are exact decimals.

    A value is a JSON number, true, false, null or "text", which may hold commas; what is none of these is text as it
    stands (`fcfs`).

    Raises:
        InputError: no field, no value, the same value twice, a text that does not end or holds a control character, a
            step that leads nowhere, too many values.
    """
    name, equals, given = text.partition("=")
    if not equals or not given:
        raise InputError(
            f"labkit sweep: --over: given {quoted(text)}, expected FIELD=value,… or FIELD=start:stop:step"
        )
    steps = path(name, "--over")
    parts = given.split(":")
    numbers = [exact for exact in map(number, parts) if exact is not None]
    if len(parts) == len(numbers) == 3:
        return Axis(name, steps, tuple(_range(numbers[0], numbers[1], numbers[2], given)))
    values = tuple(value(part) for part in _parts(given))
    if len({(isinstance(item, bool), item) for item in values}) < len(
        values
    ):  # 1 and 1.0 are one, true is another
        raise InputError(f"labkit sweep: --over {escaped(name)}: given a value twice, expected each once")
    return Axis(name, steps, values)


def _parts(given: str) -> list[str]:
    parts, rest, more = [], given, ","
    while more:
        found = _PART.match(rest)
        if found is None:
            raise InputError(
                f'labkit sweep: --over: given {quoted(rest)}, expected a comma or the end after each "text"'
            )
        parts.append(found[1] or "")
        more, rest = found[2], rest[found.end() :]
    return parts


def path(name: str, option: str) -> Steps:
    """`arrivals.segments[1].rate` as steps into a document.

    Raises:
        InputError: it is no such path.
    """
    steps: list[str | int] = []
    for part in name.split("."):
        if not _STEP.fullmatch(part):
            raise InputError(
                f"labkit sweep: {option}: given the field {quoted(name)}, expected a path such as arrivals.rate"
            )
        field, *places = part.replace("]", "").split("[")
        steps += [field, *map(int, places)]
    return tuple(steps)


def number(text: str) -> Number | None:
    """The exact number that `text` is, else None."""
    if not _NUMBER.fullmatch(text):
        return None
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)


def value(text: str) -> Value:
    """One value as `axis` reads it.

    Raises:
        InputError: a text is none of JSON, or holds a control character or half a surrogate pair.
    """
    exact = number(text)
    if exact is not None:
        return exact
    plain: Value = text
    if text in ("true", "false", "null") or text.startswith('"'):
        try:
            plain = json.loads(text)
        except ValueError:
            raise InputError(f"labkit sweep: --over: given {quoted(text)}, expected a JSON text") from None
    if isinstance(plain, str) and any(unicodedata.category(c) in ("Cc", "Cs") for c in plain):
        raise InputError(
            f"labkit sweep: --over: given {quoted(plain)}, expected text without control characters"
        )
    return plain


def _range(start: Number, stop: Number, step: Number, given: str) -> list[Value]:
    if step == 0 or (stop - start) / step < 0:
        raise InputError(
            f"labkit sweep: --over: given {quoted(given)}, expected start:stop:step with a step that leads to stop"
        )
    count = int((stop - start) // step) + 1
    if count > MOST_VALUES:
        raise InputError(f"labkit sweep: --over: given {count} values, expected at most {MOST_VALUES}")
    return [start + i * step for i in range(count)]


def changed(document: Mapping[str, Any], settings: Mapping[Steps, Value], label: str) -> dict[str, Any]:
    """A copy of `document` with each field set; objects on the way are made where they are missing.

    Raises:
        InputError: a path goes through what is no object or list, or beyond a list's end.
    """
    copied: dict[str, Any] = copy.deepcopy(dict(document))
    for steps, setting in settings.items():
        where: Any = copied
        for step, following in itertools.pairwise(steps):
            if isinstance(step, str) and isinstance(where, dict) and where.get(step) is None:
                where[step] = {} if isinstance(following, str) else []
            where = where[step] if _holds(where, step) else None
        last = steps[-1]
        if not (isinstance(where, dict) if isinstance(last, str) else _holds(where, last)):
            raise InputError(
                f"{label}: {shown(steps)}: given a field that this scenario does not have, "
                "expected the path of one, such as budget.tokens"
            )
        where[last] = setting
    return copied


def _holds(where: Any, step: str | int) -> bool:
    if isinstance(step, str):
        return isinstance(where, dict) and step in where
    return isinstance(where, list) and step < len(where)


def shown(steps: Steps) -> str:
    """Steps as a path."""
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).removeprefix(".")
