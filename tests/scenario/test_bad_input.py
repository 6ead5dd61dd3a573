"""Every wrong field, type, sign and number is one clear line each; nothing else ever comes out of loading."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.scenario import InputError, load
from labkit.scenario.explain import schema
from labkit.scenario.strict_json import shown_path
from tests.scenario import documents
from tests.scenario.documents import ALL, REQUESTS, TABLE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenario")
    documents.write_files(path)
    return path


def problems(document: Any, folder=None) -> list[str]:
    """The lines that loading raises; each must be one harmless line."""
    with pytest.raises(InputError) as caught:
        load(document, base=folder, label="F")
    lines = list(caught.value.problems)
    for line in lines:
        assert line.startswith("F: "), line
        assert line.isprintable(), line
        assert len(line) < 700, line
        assert ("given" in line and "expected" in line) or "more problems" in line, line
    assert lines
    return lines


@pytest.mark.parametrize("name", ALL)
def test_the_documents_are_valid(name, folder):
    scenario = load(ALL[name], base=folder)
    assert load(scenario.raw, base=folder).raw == scenario.raw


def test_the_documents_hold_every_field(folder):
    """So that a new field of the schema is spoiled too."""
    seen = set()
    for document in ALL.values():
        for _, node in documents.fields(document, schema("scenario")):
            seen.add(id(node.get("properties")) if "properties" in node else node.get("description"))
    wanted = {
        field.get("description")
        for node in [schema("scenario"), *schema("scenario")["$defs"].values()]
        for name, field in node.get("properties", {}).items()
        if "$ref" not in field and "else" not in field and "properties" not in field and name != "kind"
    }
    assert not {d for d in wanted if d} - seen


CASES = [
    (name, path, value)
    for name, document in ALL.items()
    for path, node in documents.fields(document, schema("scenario"))
    for value in documents.wrong(node)
    if name == "requests" or path[0] in {"cost", "connections", {"segments": "arrivals"}.get(name, name)}
]


@pytest.mark.parametrize("name", ALL)
def test_every_field_refuses_every_wrong_value(name, folder):
    """Wrong type, below and above the range, NaN, infinities: the field is named in a line."""
    checked = 0
    for source, path, value in CASES:
        if source != name:
            continue
        place = shown_path(path)
        try:
            lines = problems(documents.spoiled(ALL[name], path, value), folder)
        except pytest.fail.Exception:
            pytest.fail(f"{place} accepts {value!r}")
        assert any(line.startswith(f"F: {place}") or place in line for line in lines), (path, value, lines)
        checked += 1
    assert checked > 100


def test_missing_required_fields_are_named():
    lines = problems({})
    assert [line.split(": ")[1] for line in lines[:3]] == ["schema", "budget", "cost"]
    assert any("exactly one of requests, arrivals, trace, closed_loop" in line for line in lines)
    assert any(
        "requests[0].arrival: given nothing" in line for line in problems({**REQUESTS, "requests": [{}]})
    )


@pytest.mark.parametrize(
    "path", [(), ("budget",), ("policy",), ("cost",), ("requests", 0), ("requests", 0, "reader")]
)
def test_unknown_fields_are_refused_with_a_hint(path):
    document = copy.deepcopy(REQUESTS)
    where: Any = document
    for step in path:
        where = where[step]
    close = {(): "titel", ("budget",): "seat", ("policy",): "ordr"}.get(path, "zzzz")
    where[close] = 1
    (line,) = problems(document)
    assert f"{shown_path((*path, close))}: given an unknown field" in line
    if close != "zzzz":
        assert "did you mean" in line


def change(document: dict[str, Any], **paths: Any) -> dict[str, Any]:
    """`budget__seats=3` and the like, on a copy."""
    copied = copy.deepcopy(document)
    for path, value in paths.items():
        *steps, last = [int(s) if s.isdigit() else s for s in path.split("__")]
        where: Any = copied
        for step in steps:
            where = where[step]
        if value is ...:
            del where[last]
        else:
            where[last] = value
    return copied


PLAIN = {
    "schema": "labkit.scenario/1",
    "budget": {"tokens": 64, "seats": 2},
    "policy": {},
    "cost": TABLE,
    "requests": [
        {"id": "A", "arrival": 1, "prompt_tokens": 4, "output_tokens": 2},
        {"id": "B", "arrival": 1, "prompt_tokens": 4, "output_tokens": 2},
    ],
}
LENGTH = {"kind": "fixed", "value": 4}
POISSON = {"process": "poisson", "rate": 1, "count": 3, "prompt": LENGTH, "output": LENGTH}
RULES = {
    "two loads": ({"arrivals": POISSON}, "requests and arrivals"),
    "no load": ({"requests": ...}, "no load"),
    "duplicate id": ({"requests__1__id": "A"}, "requests[1].id"),
    "empty prompt": ({"requests__0__prompt_tokens": 0}, "requests[0].prompt_tokens"),
    "a prompt without end": (
        {"requests__0__prompt_tokens": 2**53 - 1, "budget__tokens": 2**53 - 1},
        "requests[0].prompt_tokens",
    ),
    "prefix too long": ({"requests__0__prefix": [["s", 3], ["t", 2]]}, "requests[0].prefix"),
    "output 0": ({"requests__0__output_tokens": 0}, "requests[0].output_tokens"),
    "bound 0": ({"requests__0__max_output_tokens": 0}, "requests[0].max_output_tokens"),
    "cancelled before it arrives": ({"requests__0__cancel_at": 0.5}, "requests[0].cancel_at"),
    "cancelled as it arrives": ({"requests__0__cancel_at": 1}, "requests[0].cancel_at"),
    "fails as it arrives": ({"requests__0__fail_at": 1}, "requests[0].fail_at"),
    "prompt of another length": ({"requests__0__prompt": [1, 2]}, "requests[0].prompt"),
    "table too short": ({"budget__seats": 3}, 'cost.seconds["3"]'),
    "table too short later": (
        {"capacity_changes": [{"at": 1, "live_at": 2, "seats": 5}]},
        'cost.seconds["3"]',
    ),
    "estimate too short": ({"estimate": {"kind": "table", "seconds": {"1": 1}}}, 'estimate.seconds["2"]'),
    "free cost": ({"cost": {"kind": "linear", "per_context": 1}}, "cost"),
    "fields of another kind": ({"cost": {**TABLE, "per_pair": 1}}, "cost.per_pair"),
    "buckets fall": (
        {"cost": {"kind": "padded", "fixed": 1, "buckets": [8, 4]}},
        "cost.buckets[1]",
    ),
    "shares over 1": (
        {"policy": {"phase": "shared", "min_prefill_share": 0.6, "min_decode_share": 0.5}},
        "policy.min_prefill_share",
    ),
    "shares without shared": ({"policy__min_decode_share": 0.5}, "policy.min_decode_share"),
    "window without static": ({"policy__batch_window_seconds": 1}, "policy.batch_window_seconds"),
    "compute without static": ({"policy__static_finished": "compute"}, "policy.static_finished"),
    "charge without credit": ({"policy__charge": "cost"}, "policy.charge"),
    "run without preemption": ({"policy__min_run_tokens": 2}, "policy.min_run_tokens"),
    "swap without room": ({"policy__preemption": "swap"}, "policy.host_bytes"),
    "cheapest without room": ({"policy__preemption": "cheapest"}, "policy.host_bytes"),
    "room without swap": ({"policy__host_bytes": 4096}, "policy.host_bytes"),
    "host bytes twice": (
        {"policy": {"preemption": "swap", "host_bytes": 1}, "budget__host_bytes": 1},
        "budget.host_bytes",
    ),
    "lease without depth 2": ({"policy__lease_seconds": 2}, "policy.lease_seconds"),
    "faults without depth 2": ({"faults": [{"round": 1, "lost": True}]}, "faults"),
    "fault of nothing": ({"policy__pipeline_depth": 2, "faults": [{"lost": True}]}, "round and swap"),
    "fault of two": (
        {"policy__pipeline_depth": 2, "faults": [{"round": 1, "swap": "A", "lost": True}]},
        "round and swap",
    ),
    "late and lost": (
        {"policy__pipeline_depth": 2, "faults": [{"round": 1, "late_seconds": 1, "lost": True}]},
        "late_seconds and lost",
    ),
    "neither late nor lost": (
        {"policy__pipeline_depth": 2, "faults": [{"round": 1, "lost": False}]},
        "late_seconds and lost",
    ),
    "the second swap of a round": (
        {"policy__pipeline_depth": 2, "faults": [{"round": 1, "nth": 2, "lost": True}]},
        "faults[0].nth",
    ),
    "a swap without swaps": (
        {"policy__pipeline_depth": 2, "faults": [{"swap": "A", "lost": True}]},
        "faults[0].swap",
    ),
    "a signal twice": (
        {
            "policy__pipeline_depth": 2,
            "faults": [{"round": 1, "lost": True}, {"round": 1, "late_seconds": 1}],
        },
        "faults[1]",
    ),
    "workspace is everything": (
        {"budget__kv_bytes": 100, "budget__workspace_bytes": 100},
        "budget.workspace_bytes",
    ),
    "not one page": ({"budget__kv_bytes": 100}, "budget.kv_bytes"),
    "hands over more than it holds": (
        {
            "requests__0__reader": {"tokens_per_second": 1, "buffer_tokens": 2},
            "requests__0__deliver_every": 3,
        },
        "requests[0].deliver_every",
    ),
    "cancel without patience": (
        {"requests__0__reader": {"tokens_per_second": 1, "buffer_tokens": 2, "on_full": "cancel"}},
        "requests[0].reader",
    ),
    "patience without cancel": (
        {"requests__0__reader": {"tokens_per_second": 1, "buffer_tokens": 2, "patience_seconds": 1}},
        "requests[0].reader",
    ),
    "reads once in an age": (
        {"requests__0__reader": {"tokens_per_second": 1e-12, "buffer_tokens": 2}},
        "requests[0].reader",
    ),
    "no seat for good": (
        {"capacity_changes": [{"at": 1, "live_at": 2, "seats": 0}, {"at": 0, "live_at": 1, "seats": 2}]},
        "capacity_changes[0].seats",
    ),
    "live before ordered": (
        {"capacity_changes": [{"at": 2, "live_at": 1, "seats": 1}]},
        "capacity_changes[0].live_at",
    ),
    "gamma field": ({"requests": ..., "arrivals": {**POISSON, "burstiness": 2}}, "arrivals.burstiness"),
    "uniform upside down": (
        {"requests": ..., "arrivals": {**POISSON, "prompt": {"kind": "uniform", "low": 5, "high": 4}}},
        "arrivals.prompt.high",
    ),
    "rate of an age": ({"requests": ..., "arrivals": {**POISSON, "rate": 1e-12}}, "arrivals.rate"),
    "no trace": ({"requests": ..., "trace": {"path": "no.csv", "format": "csv"}}, "trace.path"),
    "trace is a folder": ({"requests": ..., "trace": {"path": ".", "format": "csv"}}, "trace.path"),
    "trace of another format": (
        {"requests": ..., "trace": {"path": "trace.csv", "format": "mooncake"}},
        "trace.format",
    ),
    "no fitted model": ({"cost": {"kind": "calibrated", "path": "no.json"}}, "cost.path"),
    "fitted model is no model": ({"cost": {"kind": "calibrated", "path": "trace.csv"}}, "cost.path"),
}


@pytest.mark.parametrize("rule", RULES)
def test_cross_field_rules(rule, folder):
    changes, place = RULES[rule]
    lines = problems(change(PLAIN, **changes), folder)
    assert any(place in line for line in lines), lines


def test_what_is_allowed_together(folder):
    for policy in (
        {"admission": "reserve", "preemption": "recompute", "order": "priority"},
        {"batching": "static", "preemption": "recompute", "admission": "grow"},
        {"preemption": "swap", "host_bytes": 0},
    ):
        load({**PLAIN, "policy": policy, "tenants": {"red": {}}}, base=folder)
    load(
        change(PLAIN, requests__0__prompt_tokens=2**53 - 1)
    )  # rejected when it runs: it is over budget.tokens
    late = change(PLAIN, requests__0__deadline=0.5)
    assert load(late).source().take().request.deadline_ns == 500_000_000


def test_all_problems_at_once_but_not_endlessly():
    document = {
        **PLAIN,
        "requests": [{"id": f"q{i}", "arrival": "x"} for i in range(700)],
        "budget": {"tokens": 0},
    }
    lines = problems(document)
    assert len(lines) == 51
    assert lines[0].startswith("F: budget.tokens")
    assert "more problems" in lines[-1]


def test_many_requests_are_checked_like_few():
    """The compiled check for large files refuses what the plain one refuses, with the same sentence."""
    many = [{"id": f"q{i}", "arrival": i, "prompt_tokens": 4, "output_tokens": 2} for i in range(600)]
    for field, value in (("arrival", "x"), ("prefix", [["a", 0]]), ("tenant", "a\x1b"), ("zz", 1), ("id", 5)):
        spoilt = copy.deepcopy(many)
        spoilt[550][field] = value
        few = problems({**PLAIN, "requests": [spoilt[550]]})
        assert problems({**PLAIN, "requests": spoilt}) == [line.replace("[0]", "[550]", 1) for line in few]
    load({**PLAIN, "requests": many})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not JSON"),
        (b"[]", "an object"),
        (b"null", "an object"),
        (b'{"a": 1,}', "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b'{"schema": NaN}', "given NaN"),
        (b'{"until": -Infinity}', "given -Infinity"),
        (b'{"until": 1e999999999}', "until: given 1e999999999"),
        (b'{"until": 1e99999999999999999999999999}', "until: given 1e9999"),
        (b'{"until": 0.' + b"1" * 100_000 + b"}", "until: given a number of 100002 characters"),
        (b'{"seed": ' + b"9" * 1_000_000 + b"}", "seed: given a number of 1000000 digits"),
        (b'{"seed": 1, "seed": 2}', "seed: given the same key twice"),
        (b'{"budget": {"tokens": 1, "tokens": 1}}', "budget.tokens: given the same key twice"),
        (b'{"title": "\\ud800"}', "title: given half of a surrogate pair"),
        (b'{"\\udfff": 1}', "surrogate"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (bytes(range(256)) * 10, "not UTF-8"),
        (b"[" * 100_000, "nested more than 32 deep"),
        (b'{"a":' * 33 + b"1" + b"}" * 33, "nested more than 32 deep"),
        (b'{"requests": [' + b"[" * 31 + b"]" * 31 + b"]}", "nested more than 32 deep"),
        (b" " * (16 << 20) + b"{}", "16 MiB"),
    ],
)
def test_text_that_is_no_scenario(text, words):
    assert any(words in line for line in problems(text))


def test_what_text_may_be():
    plain = json.dumps(PLAIN)
    assert load(b"\xef\xbb\xbf" + plain.encode()).raw == load(plain).raw
    assert load(plain.replace('"A"', '"\\ud83d\\ude00"')).raw["requests"][0]["id"] == "\U0001f600"
    deep_in_a_string = json.dumps({**PLAIN, "title": '[{"' * 60})
    assert load(deep_in_a_string).title == '[{"' * 60


def test_hostile_strings_stay_on_their_line():
    evil = '\x1b[2J\r\n"}\u202e\u2028' + "x" * 1000
    lines = problems({**PLAIN, evil: evil, "policy": {"order": evil}, "title": [evil]})
    assert all(len(line) < 400 for line in lines)
    with pytest.raises(InputError) as caught:
        load(evil)
    assert all(line.isprintable() for line in caught.value.problems)


def test_python_values_are_exact_or_refused():
    scenario = load({**PLAIN, "until": 0.1})
    assert scenario.until_ns == 100_000_000
    assert scenario.raw["until"] == Decimal("0.1")
    assert load({**PLAIN, "until": Decimal("0.0000000005")}).until_ns == 0  # half-even
    assert load({**PLAIN, "until": Decimal("0.0000000015")}).until_ns == 2
    (line,) = problems({**PLAIN, "until": Fraction(1, 3)})
    assert "the fraction 1/3" in line
    (line,) = problems({**PLAIN, "until": {1, 2}})
    assert "a Python set" in line
    assert "keys that are strings" in problems({**PLAIN, 3: 4})[0]
    loop: list[Any] = []
    loop.append(loop)
    assert "nested" in problems({**PLAIN, "requests": loop})[0]


def loads_or_is_refused(document: Any) -> None:
    """Anything else than an InputError of harmless lines fails the test."""
    lines: tuple[str, ...] = ()
    try:
        load(document)
    except InputError as error:
        lines = error.problems
    assert all(line.isprintable() for line in lines)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.data())
def test_a_document_with_anything_in_it_loads_or_is_refused(data):
    name = data.draw(st.sampled_from(["requests", "arrivals", "closed_loop"]))
    path, _ = data.draw(st.sampled_from(list(documents.fields(ALL[name], schema("scenario")))))
    loads_or_is_refused(documents.spoiled(ALL[name], path, data.draw(JSON)))


@given(st.data())
def test_text_with_any_bytes_in_it_loads_or_is_refused(data):
    text = bytearray(json.dumps(REQUESTS).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    loads_or_is_refused(bytes(text))
