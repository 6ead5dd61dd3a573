"""What may cross between a student's process and the grader, and what is refused, whatever bytes come."""

import json
import math
from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from labkit.grade.values import MAX_MESSAGE, Expr, ValueRefusedError, decode, encode, parse

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.fractions()
)
PLAIN = st.recursive(
    ATOMS, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner), max_leaves=20
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(list("bifsqldx")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
KINDS = {type(None), bool, int, float, str, Fraction, list, dict, Expr}


def kinds(value):
    yield type(value)
    if isinstance(value, dict):
        for key, item in value.items():
            assert type(key) is str
            yield from kinds(item)
    if isinstance(value, list):
        for item in value:
            yield from kinds(item)


def same(first, second):
    """Equal and of equal types all the way down: 1, 1.0 and True are three things."""
    if type(first) is not type(second):
        return False
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    return first == second and (
        not isinstance(first, float) or math.copysign(1, first) == math.copysign(1, second)
    )


@given(PLAIN)
def test_plain_data_crosses_unchanged(value):
    assert same(decode(json.loads(json.dumps(encode(value)))), value)


@given(JSON)
def test_whatever_comes_is_refused_or_plain(data):
    try:
        value = decode(data)
    except ValueRefusedError:
        return
    assert set(kinds(value)) <= KINDS


@given(st.binary(max_size=60))
def test_whatever_bytes_come_are_refused_or_json(line):
    try:
        found = parse(line)
    except ValueRefusedError:
        with pytest.raises((UnicodeDecodeError, json.JSONDecodeError)):
            json.loads(line.decode("utf-8"))
    else:
        assert json.dumps(found) == json.dumps(json.loads(line.decode("utf-8")))


@pytest.mark.parametrize(
    "data",
    [
        ["i", 5], ["i", "0x1f"], ["i", "1_0"], ["i", "f" * 10_000], ["i", "--1"], ["i", ""], ["f", "nan"], ["f", "inf"],
        ["f", "0x1p9999"], ["f", 1.0], ["b", 1], ["s", "x" * 30_000], ["q", "1", "0"], ["q", "1", "-2"], ["l", "ab"],
        ["d", [["k", ["i", "1"]], ["k", ["i", "2"]]]], ["d", [[1, None]]], ["d", {"k": None}], ["x", ["Lambda", "x"]],
        ["x", ["Pow", ["Symbol", "x"]]], ["x", ["Symbol", ""]], ["x", ["Symbol", 3]], ["x", "Pi"], ["x", ["Sum", ["Pi"],
        ["Pi"]]], ["x", ["Limits", ["Number", "1", "1"], ["Pi"], ["Pi"]]], {"i": "1"}, "text", 5, True, ["b"], [],
    ],
)  # fmt: skip
def test_forms_that_nobody_writes_are_refused(data):
    with pytest.raises(ValueRefusedError):
        decode(data)


def nested(depth):
    data = None
    for _ in range(depth):
        data = ["l", [data]]
    return data


def test_size_and_depth_are_bounded():
    decode(nested(30))
    with pytest.raises(ValueRefusedError, match="too large or too deep"):
        decode(nested(60))
    with pytest.raises(ValueRefusedError, match="too large or too deep"):
        decode(["l", [None] * 30_000])
    with pytest.raises(ValueRefusedError, match="too long"):
        parse(b" " * (MAX_MESSAGE + 1))
    with pytest.raises(ValueRefusedError, match="not JSON"):
        parse(b"[" * 100_000)


class Whole(int):
    """An int that claims to equal everything."""

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize(
    "value",
    [
        Whole(3),
        {1: 2},
        {1, 2},
        b"x",
        object(),
        1j,
        math.nan,
        math.inf,
        pytest.param(1 << 20_000, id="huge"),
        print,
    ],
)
def test_other_values_are_refused(value):
    with pytest.raises(ValueRefusedError):
        encode(value)
    with pytest.raises(ValueRefusedError):
        encode([value])


def test_numpy_values_become_plain_ones():
    numpy = pytest.importorskip("numpy")
    assert same(decode(encode(numpy.float64(0.1))), 0.1)
    assert same(decode(encode(numpy.arange(3))), [0, 1, 2])
    assert same(decode(encode(numpy.bool_(True))), True)
    with pytest.raises(ValueRefusedError):
        encode(numpy.array([object()]))


def test_expressions_cross_as_trees():
    q, s = sp.symbols("q s", positive=True)
    assert decode(encode(q)) == Expr("Symbol", ("q",))
    assert decode(encode(sp.Rational(62, 3))) == Expr("Number", (Fraction(62, 3),))
    assert decode(encode(q**2)) == Expr("Pow", (Expr("Symbol", ("q",)), Expr("Number", (Fraction(2),))))
    tree = decode(encode(sp.Sum(s + q, (q, 1, s))))
    assert [tree.head, tree.args[1].head] == ["Sum", "Limits"]
    for refused in (sp.Function("f")(q), sp.Integral(q, q), sp.oo, sp.nan, sp.I, sp.Matrix([q]), sp.zoo):
        with pytest.raises(ValueRefusedError):
            encode(refused)
