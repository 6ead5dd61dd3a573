"""The same latencies by part of the load: prompt length, answer length, prefix hit, tenant, model revision (C29).

One mean over all hides who pays for it. Lengths fall into classes of powers of four; the last two dimensions are
those that somebody answers for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from labkit.core.types import NS_PER_SECOND
from labkit.measure.latency import Sample
from labkit.measure.times import Times

Labels = Callable[[Times], str]


@dataclass(frozen=True)
class Slice:
    """The accepted requests of one part; `label` says which part of its dimension."""

    dimension: str
    label: str
    requests: Sequence[Times]

    @property
    def ttft(self) -> Sample:
        """E31.1 at the worker, each request once."""
        return Sample(times.ttft() for times in self.requests)

    @property
    def tpot(self) -> Sample:
        """E31.2 at the worker, each request once."""
        return Sample(times.tpot() for times in self.requests)

    @property
    def itl_pooled(self) -> Fraction | None:
        """Mean of all gaps of these requests, in s: Σ(u_O − u_1)/Σ(O − 1), so long answers weigh more."""
        return pooled_itl(self.requests)


def pooled_itl(requests: Iterable[Times]) -> Fraction | None:
    """The mean gap over requests' tokens, each gap once: TPOT weighted by O − 1 (C29). In s; None without a gap."""
    spans = count = 0
    for times in requests:
        if times.first_emitted is not None and times.last_emitted is not None:
            spans += times.last_emitted - times.first_emitted
            count += times.output - 1
    return Fraction(spans, count * NS_PER_SECOND) if count else None


def length_class(tokens: int) -> str:
    """`0`, or the class from one power of four to the next: `1–3`, `4–15`, `16–63`, …"""
    if tokens == 0:
        return "0"
    low = 4 ** ((tokens.bit_length() - 1) // 2)
    return f"{low}–{4 * low - 1}"


DIMENSIONS: dict[str, Labels] = {
    "input": lambda times: length_class(times.input),
    "output": lambda times: length_class(times.output),
    "hit": lambda times: "hit" if times.cached else "no hit",
    "tenant": lambda times: times.tenant,
}


def slices(requests: Iterable[Times], dimension: str) -> list[Slice]:
    """The accepted ones of `requests` by one dimension, lengths ascending, else as they first come."""
    label = DIMENSIONS[dimension]
    parts: dict[str, list[Times]] = {}
    for times in requests:
        if times.accepted:
            parts.setdefault(label(times), []).append(times)
    names = (
        sorted(parts, key=lambda name: int(name.partition("–")[0]))
        if dimension in ("input", "output")
        else parts
    )
    return [Slice(dimension, name, parts[name]) for name in names]


def by_revision(runs: Iterable[tuple[Mapping[str, Any], Iterable[Times]]]) -> list[Slice]:
    """Runs with their headers, joined where the same model ran."""
    parts: dict[str, list[Times]] = {}
    for header, requests in runs:
        parts.setdefault(revision(header), []).extend(times for times in requests if times.accepted)
    return [Slice("revision", name, rows) for name, rows in parts.items()]


def revision(header: Mapping[str, Any]) -> str:
    """Which model on what, as the journal's first line identifies it."""
    executor = header["executor"]
    model = executor.get("model") or {}
    known = [
        executor["kind"],
        model.get("name"),
        model.get("revision"),
        executor.get("dtype"),
        executor.get("device"),
    ]
    return " ".join(str(part) for part in known if part)
