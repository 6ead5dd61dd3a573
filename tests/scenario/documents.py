"""Valid scenarios that between them hold every field of the schema, and ways to spoil one field at a time."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.scenario.explain import definition

TABLE = {
    "kind": "table",
    "seconds": {"1": 0.006, "2": 0.01},
    "swap_bytes_per_second": 1e9,
    "swap_fixed": 0.001,
}
PARTS = {"fixed": 0.001, "per_token": 1e-5, "per_pair": 1e-9, "per_context": 1e-8, "per_seat": 1e-4}
LINEAR = {"kind": "linear", **PARTS, "swap_bytes_per_second": None, "swap_fixed": 0}
PADDED = {**LINEAR, "kind": "padded", "buckets": [16, 64]}
CALIBRATED = {"kind": "calibrated", "path": "fitted.json", "swap_bytes_per_second": 1e9, "swap_fixed": 0.5}
FITTED = {"schema": "labkit.cost/1", "kind": "padded", **PARTS, "buckets": [8], "fitted": {"device": "none"}}
BUDGET = {
    "tokens": 512,
    "seats": 2,
    "kv_bytes": 67108864,
    "workspace_bytes": 1048576,
    "page_tokens": 16,
    "bytes_per_token": 65536,
    "round_seconds": 0.5,
}
POLICY = {
    "batching": "static",
    "batch_window_seconds": 0.01,
    "static_finished": "compute",
    "order": "credit",
    "aging_seconds": 2.5,
    "charge": "cost",
    "phase": "shared",
    "min_prefill_share": 0.25,
    "min_decode_share": 0.5,
    "prefill_chunk": 64,
    "max_bypass": 4,
    "admission": "grow",
    "preemption": "swap",
    "host_bytes": 1048576,
    "min_run_tokens": 2,
    "max_queue": 100,
    "margin_seconds": 0.1,
    "prefix_sharing": True,
    "pipeline_depth": 2,
    "lease_seconds": 0.5,
    "backpressure": ["output", "queue"],
}
REQUEST = {
    "id": "A",
    "arrival": 0.5,
    "prompt_tokens": 4,
    "output_tokens": 2,
    "max_output_tokens": 4,
    "tenant": "red",
    "priority": -1,
    "deadline": 9.5,
    "cancel_at": 3.5,
    "fail_at": 2.5,
    "prefilled": False,
    "prefix": [["system", 2], ["user", 2]],
    "prompt": [1, 2, 3, 4],
    "reader": {"tokens_per_second": 2.5, "buffer_tokens": 4, "on_full": "cancel", "patience_seconds": 1.5},
    "network_seconds": 0.25,
    "deliver_every": 2,
}
REAL = {
    "id": "C",
    "arrival": 0,
    "prompt": [1, 2],
    "max_output_tokens": 3,
    "sampling": {"temperature": 0.5, "top_k": 4, "top_p": 0.75, "seed": 9, "stop": [5, 6]},
}
HEAD = {"schema": "labkit.scenario/1", "title": "all fields", "seed": 7, "budget": BUDGET, "policy": POLICY}
REQUESTS = {
    **HEAD,
    "tenants": {"red": {"weight": 2.5, "max_carry": 100}},
    "cost": TABLE,
    "estimate": LINEAR,
    "requests": [REQUEST, {"id": "B", "arrival": 0, "prompt_tokens": 1, "output_tokens": 1}, REAL],
    "capacity_changes": [{"at": 1, "live_at": 2.5, "seats": 2}],
    "faults": [{"round": 3, "late_seconds": 0.25}, {"swap": "A", "nth": 2, "lost": True}],
    "until": 100,
}
ARRIVALS = {
    **{key: value for key, value in HEAD.items() if key != "policy"},
    "policy": {"preemption": "none"},
    "cost": PADDED,
    "arrivals": {
        "process": "gamma",
        "rate": 2.5,
        "count": 10,
        "burstiness": 0.5,
        "seed": 3,
        "prompt": {"kind": "uniform", "low": 1, "high": 9},
        "output": {"kind": "lognormal", "median": 8.5, "sigma": 0.5},
        "deadline_seconds": 1.5,
        "bound": 1.5,
    },
    "connections": 3,
}
ARRIVALS["budget"] = {**BUDGET, "host_bytes": None}
TRACE = {
    **HEAD,
    "cost": CALIBRATED,
    "trace": {
        "path": "trace.csv",
        "format": "csv",
        "scale": 2.5,
        "limit": 10,
        "deadline_seconds": 1.5,
        "bound": 1.5,
    },
}
CLOSED = {
    **HEAD,
    "cost": LINEAR,
    "closed_loop": {
        "users": 2,
        "think_seconds": 0.5,
        "count": 10,
        "seed": 3,
        "prompt": {"kind": "geometric", "mean": 4.5},
        "output": {"kind": "fixed", "value": 8},
        "deadline_seconds": 1.5,
        "bound": 1.5,
    },
}
LENGTH = {"kind": "fixed", "value": 8}
SEGMENTS = {
    **HEAD,
    "cost": LINEAR,
    "arrivals": {
        "process": "fixed",
        "segments": [{"for_seconds": 0.5, "rate": 2, "rate_to": 4.5}, {"for_seconds": 1, "rate": 0}],
        "repeat": True,
        "count": 10,
        "prompt": LENGTH,
        "output": LENGTH,
    },
}
ALL = {
    "requests": REQUESTS,
    "arrivals": ARRIVALS,
    "segments": SEGMENTS,
    "trace": TRACE,
    "closed_loop": CLOSED,
}


def write_files(folder: Path) -> None:
    """The files that `TRACE` names."""
    (folder / "trace.csv").write_text(
        "arrival,prompt_tokens,output_tokens\n0,4,2\n1.5,4,2\n", encoding="utf-8", newline="\n"
    )
    (folder / "fitted.json").write_text(json.dumps(FITTED), encoding="utf-8", newline="\n")


def fields(
    value: Any, node: dict[str, Any], path: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Every field of a document with the schema node that rules it."""
    node = _node(node, value)
    if path:
        yield path, node
    if isinstance(value, dict):
        for key, item in value.items():
            inner = node.get("properties", {}).get(key) or next(
                iter(node.get("patternProperties", {}).values()), None
            )
            inner = inner or node.get("additionalProperties")
            if inner:
                yield from fields(item, inner, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            pairs = node.get("prefixItems")
            yield from fields(item, pairs[index] if pairs else node["items"], (*path, index))


def _node(node: dict[str, Any], value: Any) -> dict[str, Any]:
    nullable = False
    while "$ref" in node or "else" in node:
        nullable |= "else" in node
        node = node["else"] if "else" in node else definition(node["$ref"])
    for branch in node.get("allOf", ()):
        ((field, wanted),) = branch["if"]["properties"].items()
        if isinstance(value, dict) and value.get(field) == wanted["const"]:
            node = definition(branch["then"]["$ref"])
    return {**node, "nullable": nullable}


def wrong(node: dict[str, Any]) -> Iterator[Any]:
    """Values that a schema node must refuse: every wrong type, both sides of the range, what is no number at all."""
    kinds = node.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "const" in node or "enum" in node:
        yield from ("no such", "", 5, 1.5, True, [], {}, None)
        return
    if not node["nullable"] and "null" not in kinds:
        yield None
    if not {"integer", "number"} & set(kinds):
        yield from (5, 1.5, float("nan"))
    if "string" not in kinds:
        yield from ("12", "")
    if "array" not in kinds:
        yield from ([], [1])
    if "object" not in kinds:
        yield from ({}, {"a": 1})
    if "boolean" not in kinds:
        yield from (True, False)
    if {"integer", "number"} & set(kinds):
        yield from (
            float("nan"),
            float("inf"),
            -float("inf"),
            10**30,
            -(10**30),
            10**400,
            1e300,
            5e-324,
            node["maximum"] + 1,
        )
        yield node["exclusiveMinimum"] if "exclusiveMinimum" in node else node["minimum"] - 1
    if "integer" in kinds:
        yield from (node["minimum"] + 0.5, 7.0)
    if "string" in kinds:
        if "maxLength" in node:
            yield "x" * 5000
        if "not" in node:
            yield from ("", "a\n", "\x1b[31m", "a\x00b", "\u2028")
    if "array" in kinds and node.get("uniqueItems"):
        yield [4, 4]
    if "object" in kinds:
        yield {"no such field": 1}


def spoiled(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy with the field at `path` replaced."""
    copied = copy.deepcopy(document)
    where = copied
    for step in path[:-1]:
        where = where[step]
    where[path[-1]] = value
    return copied
