"""A field by its path and its values: exact, in order, refused in one line."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.errors import InputError
from labkit.scenario import fields


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1,2.5,-3", (1, Decimal("2.5"), -3)),
        ("a=fcfs,sjf", ("fcfs", "sjf")),
        ("a=true,null,false", (True, None, False)),
        ('a="1",1', ("1", 1)),
        ("a=1:2:0.25", (1, Decimal("1.25"), Decimal("1.5"), Decimal("1.75"), 2)),
        ("a=10:0:-5", (10, 5, 0)),
        ("a=1:2:0.3", (1, Decimal("1.3"), Decimal("1.6"), Decimal("1.9"))),
        ("a=x:y:z", ("x:y:z",)),
        ("a=b=c", ("b=c",)),
        (r'a="x,\"y\"",z', ('x,"y"', "z")),
        ("a=,x", ("", "x")),
        ("a=true,1", (True, 1)),
    ],
)
def test_values(text, values):
    got = fields.axis(text)
    assert (got.name, got.steps, got.values) == ("a", ("a",), values)
    assert [type(v) is str for v in got.values] == [type(v) is str for v in values]
    assert [v is True for v in got.values] == [v is True for v in values]


def test_a_path_has_places():
    assert fields.axis("requests[0].prefix[1][0]=x").steps == ("requests", 0, "prefix", 1, 0)
    assert fields.shown(("requests", 0, "prefix", 1, 0)) == "requests[0].prefix[1][0]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", "expected FIELD=value"),
        ("a=", "expected FIELD=value"),
        ("=1", "given the field"),
        ("a..b=1", "given the field"),
        ("a[x]=1", "given the field"),
        ("a b=1", "given the field"),
        ("a=1,1", "a value twice"),
        ("a=1,1.0", "a value twice"),
        ('a="x', 'the end after each "text"'),
        ('a="x"y,z', 'the end after each "text"'),
        (r'a="\q"', "a JSON text"),
        (r'a="x\ny"', "without control characters"),
        (r'a="\ud800"', "without control characters"),
        ("a=1:2:0", "a step that leads to stop"),
        ("a=1:2:-1", "a step that leads to stop"),
        ("a=0:1e9:1", "expected at most 100000"),
        ("\x1b[31m=1", "given the field"),
    ],
)
def test_what_is_no_axis_is_one_line(text, words):
    with pytest.raises(InputError) as caught:
        fields.axis(text)
    (line,) = caught.value.problems
    assert words in line
    assert line.isprintable()


def test_a_change_leaves_the_document_alone_and_makes_the_way():
    document = {"budget": {"tokens": 1}, "requests": [{"id": "A"}]}
    got = fields.changed(
        document, {("budget", "tokens"): 2, ("policy", "order"): "sjf", ("requests", 0, "id"): "B"}, "F"
    )
    assert got == {"budget": {"tokens": 2}, "requests": [{"id": "B"}], "policy": {"order": "sjf"}}
    assert document == {"budget": {"tokens": 1}, "requests": [{"id": "A"}]}


@pytest.mark.parametrize("path", ["budget.tokens.x", "requests[1].id", "requests.id", "budget[0]", "title.x"])
def test_a_path_that_leads_nowhere_is_one_line(path):
    document = {"budget": {"tokens": 1}, "requests": [{"id": "A"}], "title": "t"}
    with pytest.raises(InputError, match="given a field that this scenario does not have") as caught:
        fields.changed(document, {fields.path(path, "--over"): 1}, "F")
    assert caught.value.problems[0].startswith(f"F: {path}: ")


@given(st.integers(-50, 50), st.integers(1, 30), st.integers(1, 9))
def test_a_range_holds_both_ends_and_nothing_twice(start, count, step):
    (values,) = (fields.axis(f"a={start}:{start + count * step}:{step}").values,)
    assert values == tuple(range(start, start + count * step + 1, step))
