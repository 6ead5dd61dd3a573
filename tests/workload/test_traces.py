"""Traces: exact times, the lengths as recorded, and every broken row named by its line."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.core.errors import InputError
from labkit.workload.traces import open_trace

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens\r
2023-11-16 23:59:59.9799600,4808,10\r
2023-11-17 00:00:00.0000001,3180,8\r
2023-11-17 00:00:00.0000001,110,27\r
"""
MOONCAKE = """{"timestamp": 27482, "input_length": 600, "output_length": 3, "hash_ids": [46, 47]}
{"timestamp": 30535, "input_length": 1024, "output_length": 1, "hash_ids": [46, 48]}
{"timestamp": 30535.5, "input_length": 10, "output_length": 2, "hash_ids": []}
"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45.5,ChatGPT,1087,0,1087,Conversation log
118,GPT-4,417,276,693,"API log"
"""
CSV = """tenant,arrival,output_tokens,prompt_tokens,deadline,priority,max_output_tokens
red,10.5,5,40,12.5,-3,8
,10.75,5,41,,,
"""


@pytest.fixture
def trace(tmp_path):
    def opened(text: str | bytes, form: str, **options):
        path = tmp_path / "trace"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        source = open_trace(path, form, label="T", **options)
        jobs = []
        while source.peek() is not None:
            jobs.append(source.take())
        return jobs

    return opened


def seen(jobs):
    return [(j.request.id, j.request.arrival_ns, j.request.prompt_tokens, j.oracle) for j in jobs]


def test_azure_is_exact_across_midnight(trace):
    assert seen(trace(AZURE, "azure")) == [
        ("r0", 0, 4808, 10),
        ("r1", 20_040_100, 3180, 8),
        ("r2", 20_040_100, 110, 27),
    ]


def test_azure_with_an_offset_and_without_decimals(trace):
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00,1,1\n2024-05-10 00:00:00.009930+00:00,2,2\n"
    assert seen(trace(text, "azure")) == [("r0", 0, 1, 1), ("r1", 9_930_000, 2, 2)]


def test_scale_divides_the_gaps_exactly(trace):
    assert [j.request.arrival_ns for j in trace(AZURE, "azure", scale=Fraction(3))] == [
        0,
        6_680_033,
        6_680_033,
    ]
    assert [j.request.arrival_ns for j in trace(AZURE, "azure", scale=Fraction(1, 2))][1] == 40_080_200


def test_limit_and_bound(trace):
    (job,) = trace(AZURE, "azure", limit=1, bound=Fraction(1, 4))
    assert (job.request.max_output_tokens, job.oracle) == (3, 3)
    (job, *_) = trace(AZURE, "azure", bound=Fraction(5, 4))
    assert (job.request.max_output_tokens, job.oracle) == (13, 10)


def test_mooncake_blocks_become_prefix_runs(trace):
    jobs = trace(MOONCAKE, "mooncake")
    assert seen(jobs) == [("r0", 0, 600, 3), ("r1", 3_053_000_000, 1024, 1), ("r2", 3_053_500_000, 10, 2)]
    assert [j.request.prefix for j in jobs] == [(("46", 512), ("47", 88)), (("46", 512), ("48", 512)), ()]


def test_burstgpt_skips_failed_calls(trace):
    assert seen(trace(BURSTGPT, "burstgpt")) == [("r0", 0, 472, 18), ("r1", 113_000_000_000, 417, 276)]


def test_burstgpt_as_published(trace):
    """Columns in another order, decimals, a quoted comma, calls that failed at both ends: exact gaps, nothing lost."""
    text = (
        "Log Type,Total tokens,Response tokens,Request tokens,Model,Timestamp\n"
        "API log,9,0,9,ChatGPT,0.125\n"
        '"a, b",30,10,20,GPT-4,1000000.5\n'
        "API log,12,1,11,ChatGPT,1000000.5\n"
        "API log,7,3,4,ChatGPT,1000001.000000001\n"
        "API log,5,0,5,ChatGPT,1000002\n"
    )
    assert seen(trace(text, "burstgpt")) == [("r0", 0, 20, 10), ("r1", 0, 11, 1), ("r2", 500_000_001, 4, 3)]
    assert [job.oracle for job in trace(text, "burstgpt", limit=2)] == [10, 1]
    scaled = trace(text, "burstgpt", scale=Fraction(1, 10))
    assert [job.request.arrival_ns for job in scaled] == [0, 0, 5_000_000_010]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("5,m,x,1,1,l", 'Request tokens "x"'),
        ("5,m,0,1,1,l", 'Request tokens "0"'),
        ("5,m,1,-1,1,l", 'Response tokens "-1"'),
        ("-5,m,1,1,1,l", 'Timestamp "-5"'),
        ("4,m,1,1,1,l", "never go back"),
        ("5,m,1,1,1", "5 cells"),
    ],
)
def test_a_broken_burstgpt_row_is_named(trace, row, words):
    with pytest.raises(InputError, match="T: line 3: given ") as caught:
        trace(BURSTGPT.splitlines()[0] + "\n5,m,1,1,2,l\n" + row + "\n", "burstgpt")
    assert words in str(caught.value)


gaps_ns = st.lists(st.integers(0, 10**13), min_size=1, max_size=20)


@given(
    gaps_ns, st.fractions("1/1000", 1000, max_denominator=1000), st.integers(1, 25), st.integers(0, 10**12)
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scale_and_limit_never_renormalise_gaps(trace, gaps, scale, limit, start):
    """Each arrival is its own distance from the first over `scale`, once rounded; `limit` cuts and changes nothing."""
    at, rows = start, []
    for gap in [0, *gaps]:
        at += gap
        rows.append(f"{at // 10**9}.{at % 10**9:09d},1,1")
    text = HEAD + "\n".join(rows) + "\n"
    got = [job.request.arrival_ns for job in trace(text, "csv", scale=scale)]
    since, wanted = 0, [0]
    for gap in gaps:
        since += gap
        wanted.append(round(since / scale))
    assert got == wanted
    assert [job.request.arrival_ns for job in trace(text, "csv", scale=scale, limit=limit)] == wanted[:limit]


def test_patience_gives_a_deadline_to_those_without_one(trace):
    first, second = (job.request for job in trace(CSV, "csv", patience_ns=7))
    assert (first.deadline_ns, second.deadline_ns) == (2_000_000_000, 250_000_007)


def test_csv_columns_in_any_order(trace):
    first, second = (job.request for job in trace(CSV, "csv", scale=Fraction(2)))
    assert (first.tenant, first.priority, first.max_output_tokens) == ("red", -3, 8)
    assert first.deadline_ns == 2_000_000_000  # two seconds after its arrival, whatever the scale
    assert (second.tenant, second.priority, second.max_output_tokens) == ("default", 0, 5)
    assert (second.arrival_ns, second.deadline_ns) == (125_000_000, None)


def test_a_byte_order_mark_and_blank_lines_are_no_matter(trace):
    assert seen(trace("\ufeff" + AZURE.replace("\r\n", "\n\n"), "azure")) == seen(trace(AZURE, "azure"))


HEAD = "arrival,prompt_tokens,output_tokens\n"
BROKEN = {
    "empty file": ("csv", "", 1, "an empty file"),
    "header alone": ("csv", HEAD, 1, "no row to run"),
    "unknown column": ("csv", "arrival,prompt_tokens,output_tokens,colour\n", 1, '"colour"'),
    "missing column": ("csv", "arrival,prompt_tokens\n", 1, "each column once"),
    "column twice": ("csv", "arrival,arrival,prompt_tokens,output_tokens\n", 1, "each column once"),
    "too few cells": ("csv", HEAD + "0,1\n", 2, "2 cells"),
    "back in time": ("csv", HEAD + "2,1,1\n1,1,1\n", 3, "never go back"),
    "no prompt": ("csv", HEAD + "0,0,1\n", 2, 'prompt_tokens "0"'),
    "no output": ("csv", HEAD + "0,1,0\n", 2, 'output_tokens "0"'),
    "negative": ("csv", HEAD + "0,-1,1\n", 2, 'prompt_tokens "-1"'),
    "not a number": ("csv", HEAD + "0,1,1\nnan,1,1\n", 3, 'arrival "nan"'),
    "digits of another script": ("csv", HEAD + "0,\u0661,1\n", 2, "prompt_tokens"),
    "huge exponent": ("csv", HEAD + "1e999999999,1,1\n", 2, "arrival"),
    "beyond range": ("csv", HEAD + "1e10,1,1\n", 2, "arrival"),
    "huge count": ("csv", HEAD + "0," + "9" * 500 + ",1\n", 2, "prompt_tokens"),
    "empty cell": ("csv", HEAD + "0,,1\n", 2, 'prompt_tokens ""'),
    "open quote": ("csv", HEAD + '0,"1,1\n', 2, "cells"),
    "escape": ("csv", HEAD + "0,\x1b[31m,1\n", 2, '"\\x1b[31m"'),
    "not text": ("csv", HEAD.encode() + b"0,\xff\xfe,1\n", 2, "not UTF-8"),
    "endless line": ("csv", HEAD + "0" * 2_000_000, 2, "in one line"),
    "tenant": ("csv", "tenant," + HEAD + "x" * 300 + ",0,1,1\n", 2, "tenant"),
    "priority": ("csv", "priority," + HEAD + "1.5,0,1,1\n", 2, "priority"),
    "azure header": ("azure", "A,B,C\n", 1, "the header"),
    "azure time": ("azure", AZURE + "2023-13-17 00:00:00.1,1,1\n", 5, "TIMESTAMP"),
    "azure hour": ("azure", AZURE + "2023-11-17 24:00:00.1,1,1\n", 5, "TIMESTAMP"),
    "azure goes back": ("azure", AZURE + "2023-11-17 00:00:00,1,1\n", 5, "never go back"),
    "azure no output": ("azure", AZURE + "2023-11-18 00:00:00,1,0\n", 5, 'GeneratedTokens "0"'),
    "mooncake not JSON": ("mooncake", MOONCAKE + "x\n", 4, "a JSON object"),
    "mooncake list": ("mooncake", MOONCAKE + "[]\n", 4, "a JSON object"),
    "mooncake deep": ("mooncake", MOONCAKE + "[" * 100_000 + "\n", 4, "a JSON object"),
    "mooncake time": ("mooncake", '{"timestamp": -1}', 1, "timestamp"),
    "mooncake NaN": ("mooncake", '{"timestamp": NaN}', 1, "timestamp"),
    "mooncake dear time": ("mooncake", '{"timestamp": 1e999999999}', 1, "timestamp"),
    "mooncake length": ("mooncake", '{"timestamp": 1, "input_length": "5"}', 1, "input_length"),
    "mooncake ids": (
        "mooncake",
        '{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [1.5]}',
        1,
        "hash_ids",
    ),
    "mooncake too many ids": (
        "mooncake",
        '{"timestamp": 1, "input_length": 512, "output_length": 5, "hash_ids": [1, 2]}',
        1,
        "2 hash_ids",
    ),
    "burstgpt header": ("burstgpt", "Timestamp,Model\n", 1, "a header with"),
    "burstgpt all failed": (
        "burstgpt",
        "\n".join(BURSTGPT.splitlines()[:1]) + "\n1,m,5,0,5,x\n",
        2,
        "no row to run",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_row_is_named_by_its_line(name, trace):
    form, text, line, words = BROKEN[name]
    with pytest.raises(InputError) as caught:
        trace(text, form)
    (problem,) = caught.value.problems
    assert problem.startswith(f"T: line {line}: given ")
    assert words in problem
    assert "expected" in problem
    assert problem.isprintable()
    assert len(problem) < 300


def test_a_trace_breaks_only_where_it_is_broken(trace, tmp_path):
    (tmp_path / "late.csv").write_text(HEAD + "0,1,1\n" * 5 + "x\n", encoding="utf-8", newline="\n")
    source = open_trace(tmp_path / "late.csv", "csv")
    for _ in range(4):
        source.take()
    with pytest.raises(InputError, match="line 7"):
        source.take()


def test_memory_does_not_grow_with_the_trace(tmp_path):
    path = tmp_path / "long.csv"
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.write(HEAD)
        out.writelines(f"{i}.5,10,5\n" for i in range(30_000))
    tracemalloc.start()
    try:
        source = open_trace(path, "csv")
        while source.peek() is not None:
            source.take()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300_000
