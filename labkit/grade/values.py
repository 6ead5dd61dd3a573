"""Plain data between a student's process and the grader: a closed set of types, written as JSON.

What crosses is an exact int, a finite float, a bool, a str, `null`, a rational (Fraction), a list, a dict with
keys of text, and a symbolic expression as a tree of whitelisted node types. Nothing is ever evaluated, unpickled or
parsed by sympy. `encode` runs inside the student's process and is a convenience; `decode` runs outside and trusts
nothing: whatever it returns has exactly the types named here, and bounded size and depth.

Standard library only: the worker reads this file too.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

MAX_NODES = 20_000
MAX_DEPTH = 40
MAX_TEXT = 20_000
MAX_BITS = 14_000
MAX_MESSAGE = 1 << 20
HEXADECIMAL = frozenset("0123456789abcdef")

# Node types of an expression that may cross, and how many arguments each takes (least, most).
HEADS: dict[str, tuple[int, int]] = {
    "Add": (0, 400),
    "Mul": (0, 400),
    "Pow": (2, 2),
    "exp": (1, 1),
    "log": (1, 1),
    "Abs": (1, 1),
    "floor": (1, 1),
    "ceiling": (1, 1),
    "Min": (1, 40),
    "Max": (1, 40),
    "binomial": (2, 2),
    "factorial": (1, 1),
    "Sum": (2, 2),
    "Limits": (3, 3),
    "Equality": (2, 2),
    "Unequality": (2, 2),
    "StrictLessThan": (2, 2),
    "LessThan": (2, 2),
    "StrictGreaterThan": (2, 2),
    "GreaterThan": (2, 2),
}
CONSTANTS = ("Exp1", "Pi")


class ValueRefusedError(ValueError):
    """A value that may not cross; the text says why, in words for the person who wrote it."""


@dataclass(frozen=True)
class Expr:
    """A node of a symbolic expression: its type's name and its arguments.

    A leaf is `Expr("Symbol", ("q",))`, `Expr("Number", (Fraction(1, 2),))`, `Expr("Float", (0.5,))` or one of
    `CONSTANTS` without arguments. A symbol is its name alone: assumptions a student declared do not count.
    """

    head: str
    args: tuple[Any, ...] = ()


# ------------------------------------------------------------------------------------------- inside the worker


def encode(value: object) -> Any:
    """The JSON form of a value; raises ValueRefusedError where it is none of the closed set."""
    return _encode(value, _Count(), 0)


class _Count:
    def __init__(self) -> None:
        self.nodes = 0

    def step(self, depth: int) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise ValueRefusedError("too large or too deep")


def _encode(value: Any, count: _Count, depth: int) -> Any:
    count.step(depth)
    kind = type(value)
    if value is None:
        return None
    if kind is bool:
        return ["b", value]
    if kind is int:
        if value.bit_length() > MAX_BITS:
            raise ValueRefusedError("an integer with thousands of digits")
        return ["i", format(value, "x")]
    if kind is float:
        if not math.isfinite(value):
            raise ValueRefusedError("not a finite number")
        return ["f", value.hex()]
    if kind is str:
        return ["s", value[: MAX_TEXT + 1]]
    if kind is Fraction:
        return ["q", format(value.numerator, "x"), format(value.denominator, "x")]
    if kind is list or kind is tuple:
        return ["l", [_encode(item, count, depth + 1) for item in value]]
    if kind is dict:
        return ["d", [[_key(key), _encode(item, count, depth + 1)] for key, item in value.items()]]
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.generic, numpy.ndarray)):
        return _encode(value.tolist(), count, depth + 1)
    sympy = sys.modules.get("sympy")
    if sympy is not None and isinstance(value, sympy.Basic):
        return ["x", _tree(value, sympy, count, depth + 1)]
    raise ValueRefusedError(f"a value of type {kind.__name__}"[:80])


def _key(key: object) -> str:
    if type(key) is not str:
        raise ValueRefusedError("a dict whose keys are not text")
    return key[:MAX_TEXT]


def _tree(node: Any, sympy: ModuleType, count: _Count, depth: int) -> Any:
    count.step(depth)
    if isinstance(node, sympy.Symbol):
        return ["Symbol", node.name]
    if isinstance(node, sympy.Rational):
        return ["Number", format(int(node.p), "x"), format(int(node.q), "x")]
    if isinstance(node, sympy.Float):
        return ["Float", float(node).hex()]
    if node is sympy.S.Exp1 or node is sympy.S.Pi:
        return ["Exp1" if node is sympy.S.Exp1 else "Pi"]
    name = type(node).__name__
    if name in HEADS:
        if name == "Sum":
            if len(node.limits) != 1 or len(node.limits[0]) != 3:
                raise ValueRefusedError("a Sum that does not run over one index between two limits")
            limits = [_tree(item, sympy, count, depth + 1) for item in node.limits[0]]
            return ["Sum", _tree(node.function, sympy, count, depth + 1), ["Limits", *limits]]
        return [name, *(_tree(item, sympy, count, depth + 1) for item in node.args)]
    raise ValueRefusedError(f"an expression with {name} in it"[:80])


# ---------------------------------------------------------------------------------------------------- outside


def parse(line: bytes) -> Any:
    """JSON of one message; raises ValueRefusedError for anything else."""
    if len(line) > MAX_MESSAGE:
        raise ValueRefusedError("a message that is too long")
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ValueRefusedError("a message that is not JSON") from None


def decode(data: Any) -> Any:
    """The value of a JSON form, in exact types; raises ValueRefusedError for anything that `encode` does not write."""
    return _decode(data, _Count(), 0)


def _decode(data: Any, count: _Count, depth: int) -> Any:
    count.step(depth)
    match data:
        case None:
            return None
        case ["b", bool(value)]:
            return value
        case ["i", str(text)]:
            return _integer(text)
        case ["f", str(text)]:
            return _float(text)
        case ["s", str(text)] if len(text) <= MAX_TEXT:
            return text
        case ["q", str(top), str(bottom)]:
            return _rational(top, bottom)
        case ["l", list(items)]:
            return [_decode(item, count, depth + 1) for item in items]
        case ["d", list(items)]:
            pairs = [_pair(item, count, depth) for item in items]
            if len({key for key, _ in pairs}) < len(pairs):
                raise ValueRefusedError("a dict that says one key twice")
            return dict(pairs)
        case ["x", tree]:
            return _node(tree, count, depth + 1)
    raise ValueRefusedError("a value of no known kind")


def _pair(item: Any, count: _Count, depth: int) -> tuple[str, Any]:
    match item:
        case [str(key), value] if len(key) <= MAX_TEXT:
            return key, _decode(value, count, depth + 1)
    raise ValueRefusedError("a dict whose keys are not text")


def _integer(text: str) -> int:
    digits = text.removeprefix("-")
    if not digits or len(digits) > MAX_BITS // 4 + 1 or not set(digits) <= HEXADECIMAL:
        raise ValueRefusedError("an integer that is not one")
    return int(text, 16)


def _float(text: str) -> float:
    try:
        value = float.fromhex(text) if len(text) < 60 else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueRefusedError("not a finite number")
    return value


def _rational(top: str, bottom: str) -> Fraction:
    under = _integer(bottom)
    if under <= 0:
        raise ValueRefusedError("a fraction without a positive denominator")
    return Fraction(_integer(top), under)


def _node(tree: Any, count: _Count, depth: int) -> Expr:
    count.step(depth)
    match tree:
        case ["Symbol", str(name)] if 0 < len(name) <= 60:
            return Expr("Symbol", (name,))
        case ["Number", str(top), str(bottom)]:
            return Expr("Number", (_rational(top, bottom),))
        case ["Float", str(text)]:
            return Expr("Float", (_float(text),))
        case [str(name)] if name in CONSTANTS:
            return Expr(name)
        case [str(name), *items] if name in HEADS and HEADS[name][0] <= len(items) <= HEADS[name][1]:
            nodes = tuple(_node(item, count, depth + 1) for item in items)
            if (name == "Sum") != (bool(nodes) and nodes[-1].head == "Limits") or (
                name == "Limits" and nodes[0].head != "Symbol"
            ):
                raise ValueRefusedError("a Sum that does not run over one index between two limits")
            return Expr(name, nodes)
    raise ValueRefusedError("an expression with an unknown node")
