"""From a filled, checked document to what the engine takes: setup, cost models, loads. Decimals stay exact."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from labkit.core.types import (
    NS_PER_SECOND,
    Budget,
    Client,
    Job,
    Policy,
    Reader,
    Request,
    RoundCost,
    Setup,
    Tenant,
)
from labkit.executors.costs import LinearCost, PaddedCost, TableCost
from labkit.executors.virtual import Fault
from labkit.workload import Source
from labkit.workload.arrivals import Arrivals
from labkit.workload.closed_loop import ClosedLoop
from labkit.workload.connections import Connections
from labkit.workload.listed import Listed
from labkit.workload.profile import Segment
from labkit.workload.random_laws import Fixed, Geometric, LengthLaw, Lognormal, Uniform
from labkit.workload.traces import open_trace

Fields = dict[str, Any]


def ns(seconds: Any) -> int:
    """Seconds as written, rounded half-even to whole ns: the one rounding of an input."""
    return round(Fraction(seconds) * NS_PER_SECOND)


def ns_or_none(seconds: Any) -> int | None:
    """The same where null means none."""
    return None if seconds is None else ns(seconds)


def setup(document: Fields) -> Setup:
    """Budget, policy and tenants of a filled document."""
    fields, policy = document["budget"], document["policy"]
    page_bytes = fields["page_tokens"] * fields["bytes_per_token"]
    pages = None
    if fields["kv_bytes"] is not None:
        pages = (fields["kv_bytes"] - fields["workspace_bytes"]) // page_bytes
    budget = Budget(
        tokens=fields["tokens"],
        seats=fields["seats"],
        pages=pages,
        page_tokens=fields["page_tokens"],
        page_bytes=page_bytes,
        host_pages=(policy["host_bytes"] or 0) // page_bytes,
        round_ns=None if fields["round_seconds"] is None else max(1, ns(fields["round_seconds"])),
    )
    tenants = {
        name: Tenant(Fraction(tenant["weight"]), Fraction(tenant["max_carry"]))
        for name, tenant in document["tenants"].items()
    }
    return Setup(budget, _policy(policy), tenants, Fraction(budget.tokens))


def _policy(fields: Fields) -> Policy:
    same = (
        *("batching", "static_finished", "order", "charge", "phase", "prefill_chunk", "max_bypass"),
        *("admission", "preemption", "min_run_tokens", "max_queue", "prefix_sharing", "pipeline_depth"),
    )
    return Policy(
        **{name: fields[name] for name in same},
        batch_window_ns=ns(fields["batch_window_seconds"]),
        aging_ns=ns_or_none(fields["aging_seconds"]),
        min_prefill_share=Fraction(fields["min_prefill_share"]),
        min_decode_share=Fraction(fields["min_decode_share"]),
        margin_ns=ns(fields["margin_seconds"]),
        lease_ns=max(1, ns(fields["lease_seconds"])),
        backpressure=frozenset(fields["backpressure"]),
    )


def cost_model(fields: Fields) -> RoundCost:
    """A cost model from its fields, those of a fitted file included: seconds in, exact ns inside."""

    def exact(name: str) -> Fraction:
        return Fraction(fields[name]) * NS_PER_SECOND

    speed = fields["swap_bytes_per_second"]
    swap_fixed = exact("swap_fixed")
    swap_per_byte = Fraction(0) if speed is None else NS_PER_SECOND / Fraction(speed)
    if fields["kind"] == "table":
        times: dict[int, Fraction] = {}
        while (text := fields["seconds"].get(str(len(times) + 1))) is not None:
            times[len(times) + 1] = Fraction(text) * NS_PER_SECOND
        return TableCost(times, swap_fixed=swap_fixed, swap_per_byte=swap_per_byte)
    linear = LinearCost(
        fixed=exact("fixed"),
        per_token=exact("per_token"),
        per_pair=exact("per_pair"),
        per_context=exact("per_context"),
        per_seat=exact("per_seat"),
        swap_fixed=swap_fixed,
        swap_per_byte=swap_per_byte,
    )
    return linear if fields["kind"] == "linear" else PaddedCost(linear, fields["buckets"])


def faults(given: list[Fields]) -> tuple[Fault, ...]:
    """What the virtual executor is to fail at; one that never signals has no `late_ns`."""
    return tuple(
        Fault(
            fault.get("round"),
            fault.get("swap"),
            fault["nth"],
            max(1, ns(fault["late_seconds"])) if "late_seconds" in fault else None,
        )
        for fault in given
    )


def jobs(requests: list[Fields]) -> Iterator[Job]:
    """The requests of a file as jobs; the true output length goes to the oracle alone (law 4)."""
    for place, fields in enumerate(requests):
        request = Request(
            id=fields["id"],
            place=place,
            arrival_ns=ns(fields["arrival"]),
            prompt_tokens=fields["prompt_tokens"],
            max_output_tokens=fields["max_output_tokens"],
            tenant=fields["tenant"],
            priority=fields["priority"],
            deadline_ns=ns_or_none(fields["deadline"]),
            prefilled=fields["prefilled"],
            prefix=tuple((name, length) for name, length in fields["prefix"]),
        )
        client = Client(
            cancel_ns=ns_or_none(fields["cancel_at"]),
            fail_ns=ns_or_none(fields["fail_at"]),
            reader=None if fields["reader"] is None else _reader(fields["reader"]),
            network_ns=ns(fields["network_seconds"]),
            deliver_every=fields["deliver_every"],
        )
        # Without a length the real model finds the end itself.
        length = fields.get("output_tokens")
        yield Job(request, client, None if length is None else min(length, fields["max_output_tokens"]))


def _reader(fields: Fields) -> Reader:
    interval = max(1, round(NS_PER_SECOND / Fraction(fields["tokens_per_second"])))
    patience = ns(fields["patience_seconds"]) if fields["on_full"] == "cancel" else None
    return Reader(interval, fields["buffer_tokens"], patience)


def _law(fields: Fields) -> LengthLaw:
    kind = fields["kind"]
    if kind == "fixed":
        return Fixed(fields["value"])
    if kind == "uniform":
        return Uniform(fields["low"], fields["high"])
    if kind == "geometric":
        return Geometric(float(fields["mean"]))
    return Lognormal(float(fields["median"]), float(fields["sigma"]))


def source(document: Fields, base: Path, label: str) -> Source:
    """A fresh source of the document's load, behind the client's connections where they are few.

    Raises:
        InputError: here or while streaming, at the first row of a trace that cannot be used.
    """
    load = _load(document, base, label)
    count = document["connections"]
    return load if count is None else Connections(load, count)


def _load(document: Fields, base: Path, label: str) -> Source:
    if "requests" in document:
        return Listed(jobs(document["requests"]))
    if "trace" in document:
        fields = document["trace"]
        return open_trace(
            base / fields["path"],
            fields["format"],
            label=label,
            scale=Fraction(fields["scale"]),
            limit=fields["limit"],
            bound=Fraction(fields["bound"]),
            patience_ns=ns_or_none(fields["deadline_seconds"]),
        )
    fields = document["arrivals"] if "arrivals" in document else document["closed_loop"]
    laws: dict[str, Any] = {
        "prompt": _law(fields["prompt"]),
        "output": _law(fields["output"]),
        "bound": Fraction(fields["bound"]),
        "patience_ns": ns_or_none(fields["deadline_seconds"]),
    }
    if "arrivals" in document:
        return Arrivals(
            process=fields["process"],
            rate=None if fields["rate"] is None else Fraction(fields["rate"]),
            segments=[
                Segment(*(Fraction(part[name]) for name in ("for_seconds", "rate", "rate_to")))
                for part in fields["segments"]
            ],
            repeat=fields["repeat"],
            count=fields["count"],
            seed=fields["seed"],
            burstiness=float(fields["burstiness"]),
            **laws,
        )
    return ClosedLoop(
        users=fields["users"],
        think_ns=ns(fields["think_seconds"]),
        count=fields["count"],
        seed=fields["seed"],
        **laws,
    )
