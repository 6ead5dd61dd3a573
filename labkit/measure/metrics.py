"""Every scalar that is measured of a run, by name: what it means, its unit, its equation.

    measure(journal.read("x.jsonl"))["ttft_p99"]            # exact, in seconds
    fold = Measures(targets); fold.feed(event) …; values(fold)["goodput"]

A value is an exact Fraction, or None where it is undefined: a mean of nothing, a TPOT of one token (C02), a
percentile that falls among requests of which only 'at least so long' is known (`labkit.measure.latency`). A
percentile here is the upper of its two bounds, so None is never a good value: whoever asks for `ttft_p99` ≤ 0.5 s
and gets None has not met it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from labkit.core.types import NS_PER_SECOND, Outcome
from labkit.measure.fairness import services
from labkit.measure.fold import Measures
from labkit.measure.goodput import Targets

Value = Fraction | None
Better = Literal["low", "high"] | None
PERCENTILES = {
    "p50": Fraction(1, 2),
    "p90": Fraction(9, 10),
    "p95": Fraction(19, 20),
    "p99": Fraction(99, 100),
    "max": Fraction(1),
}


@dataclass(frozen=True)
class Metric:
    """One scalar of a run. `better`: which way is good, None where neither is. `of` reads it from a closed fold."""

    name: str
    unit: str
    doc: str
    equation: str
    better: Better
    of: Callable[[Measures], Value]


def measure(
    events: Iterable[dict[str, Any]],
    targets: Targets | None = None,
    *,
    start: int = 0,
    end: int | None = None,
) -> dict[str, Value]:
    """Every metric of a journal (its lines in order, with or without the first), over [start, end] in ns.

    Streams: see `labkit.measure.fold` for what is kept. Raises FoldError for events that no run could have written.
    """
    return values(Measures(targets, start=start, end=end).feed_all(events))


def values(fold: Measures) -> dict[str, Value]:
    """Every metric of a fold, which is closed if it is not yet."""
    fold.close()
    return {name: metric.of(fold) for name, metric in METRICS.items()}


# ------------------------------------------------------------------------------------------------ times

A_REQUEST = "each request weighs one"
A_GAP = "each gap weighs one, so long answers weigh more (C29)"
SAMPLES = {
    "ttft": ("time to first token at the worker, from sending", "E31.1: u_1 − a", A_REQUEST),
    "client_ttft": ("time to first token at the client, from sending", "E31.1, C05", A_REQUEST),
    "intended_ttft": ("time to first token at the client, from the intended start", "E31.1, C30", A_REQUEST),
    "tpot": ("time per output token at the worker", "E31.2: (u_O − u_1)/(O − 1)", A_REQUEST),
    "client_tpot": (
        "time per output token at the client, where no chunks come",
        "E31.2, C04, C05",
        A_REQUEST,
    ),
    "sojourn": ("time in the system, from sending to the last delivery", "T = c − a", A_REQUEST),
    "intended_sojourn": ("time from the intended start to the last delivery", "T, C30", A_REQUEST),
    "wait": ("first wait, from sending to the first execution", "W = b − a, C01", A_REQUEST),
    "waits_total": ("all waiting, after preemptions too", "Wq, C16", A_REQUEST),
    "itl": ("gap between two tokens at the worker", "E31.1: u_j − u_(j−1)", A_GAP),
    "client_itl": ("gap between two tokens at the client, where no chunks come", "E31.1, C04", A_GAP),
    "chunk_interval": ("gap between two chunks at the client, where chunks come", "C04", A_GAP),
}


def _of_sample(name: str) -> Iterator[Metric]:
    what, equation, weight = SAMPLES[name]

    def mean(m: Measures) -> Value:
        return m.sample(name).mean()

    def ranked(share: Fraction) -> Callable[[Measures], Value]:
        return lambda m: m.sample(name).percentile(share).high

    doc = f"mean {what}; {weight}; over those that were measured to the end"
    yield Metric(f"{name}_mean", "s", doc, equation, "low", mean)
    for label, share in PERCENTILES.items():
        doc = f"{label} of {what}; {weight}; censored ones kept: the upper bound"
        yield Metric(f"{name}_{label}", "s", doc, equation, "low", ranked(share))


# ------------------------------------------------------------------------------------------------ counts


def _ended(outcome: Outcome) -> Metric:
    name = outcome.value
    better: Better = "high" if outcome is Outcome.FINISHED else "low"
    doc = f"requests sent in the window that ended {name}"
    return Metric(name, "requests", doc, "", better, lambda m: Fraction(m.counts[name]))


def _ratio(above: int | Fraction, below: int | Fraction) -> Value:
    return Fraction(above) / below if below else None


def _in_s(ns: int, defined: int) -> Value:
    return Fraction(ns, NS_PER_SECOND) if defined else None


def _jain(unit: str) -> Callable[[Measures], Value]:
    return lambda m: next(s.jain for s in services(m) if s.unit == unit)


_SCALARS = (
    Metric(
        "submitted", "requests", "requests sent in the window", "", None, lambda m: Fraction(len(m.requests))
    ),
    *map(_ended, Outcome),
    Metric(
        "on_target",
        "requests",
        "requests sent in the window that meet every target",
        "X5",
        "high",
        lambda m: Fraction(m.on_target),
    ),
    Metric("seconds", "s", "length of the window", "H", None, lambda m: m.seconds),
    # rates
    Metric(
        "submit_rate",
        "requests/s",
        "requests sent, a second",
        "X5",
        None,
        lambda m: _ratio(len(m.requests), m.seconds),
    ),
    Metric(
        "throughput_requests",
        "requests/s",
        "requests that finished in the window, a second",
        "C06",
        "high",
        lambda m: _ratio(m.work.finished, m.seconds),
    ),
    Metric(
        "throughput_input",
        "tokens/s",
        "prompt tokens of the requests that finished in the window, a second",
        "C06",
        "high",
        lambda m: _ratio(m.work.input_finished, m.seconds),
    ),
    Metric(
        "throughput_input_computed",
        "tokens/s",
        "the same prompt tokens without those that the prefix cache held, a second",
        "C06",
        None,
        lambda m: _ratio(m.work.input_computed, m.seconds),
    ),
    Metric(
        "throughput_output",
        "tokens/s",
        "output tokens emitted in the window, a second",
        "C06",
        "high",
        lambda m: _ratio(m.work.generated, m.seconds),
    ),
    Metric(
        "throughput_on_target",
        "requests/s",
        "requests that finished in the window on target, a second",
        "C06",
        "high",
        lambda m: _ratio(m.work.finished_on_target, m.seconds),
    ),
    Metric(
        "goodput",
        "requests/s",
        "requests sent in the window that meet every target, a second",
        "X5: on target/H",
        "high",
        lambda m: _ratio(m.on_target, m.seconds),
    ),
    Metric(
        "on_target_of_finished",
        "1",
        "on target, of the finished",
        "X5",
        "high",
        lambda m: _ratio(m.on_target, m.counts["finished"]),
    ),
    Metric(
        "on_target_of_accepted",
        "1",
        "on target, of the accepted (not rejected)",
        "X5",
        "high",
        lambda m: _ratio(m.on_target, len(m.accepted)),
    ),
    Metric(
        "on_target_of_submitted",
        "1",
        "on target, of all sent",
        "X5",
        "high",
        lambda m: _ratio(m.on_target, len(m.requests)),
    ),
    Metric(
        "token_flow",
        "tokens/s",
        "prompt and output tokens of the requests sent, a second: a flow, no demand on the device",
        "C06: λ·E[P + O]",
        None,
        lambda m: _ratio(sum(r.input + r.output for r in m.requests), m.seconds),
    ),
    # rounds
    Metric(
        "busy_share",
        "1",
        "share of the window in which a round ran",
        "",
        None,
        lambda m: _ratio(m.work.busy, m.seconds * NS_PER_SECOND),
    ),
    Metric(
        "rounds", "rounds", "rounds that ended in the window", "", None, lambda m: Fraction(m.work.rounds)
    ),
    Metric(
        "seats_mean",
        "seats",
        "busy seats, mean over the time in which rounds ran",
        "",
        None,
        lambda m: _ratio(m.work.seat_time, m.work.busy),
    ),
    Metric(
        "round_tokens_mean",
        "positions",
        "positions computed a round",
        "E31.5: Σq",
        None,
        lambda m: _ratio(m.work.executed, m.work.rounds),
    ),
    Metric(
        "round_max", "s", "longest round", "", "low", lambda m: _in_s(m.work.longest_round, m.work.rounds)
    ),
    Metric(
        "pages_peak", "pages", "most KV pages in use", "E31.5", None, lambda m: Fraction(m.work.pages_peak)
    ),
    Metric(
        "recompute_ratio",
        "1",
        "positions computed again, per position computed the first time",
        "C28 (section 31.6)",
        "low",
        lambda m: _ratio(m.work.recomputed, m.work.executed - m.work.recomputed),
    ),
    Metric(
        "generated_per_executed",
        "1",
        "output tokens emitted, per position computed",
        "C28 (Q31.12)",
        "high",
        lambda m: _ratio(m.work.generated, m.work.executed),
    ),
    Metric(
        "preemptions",
        "preemptions",
        "preemptions in the window",
        "C28",
        "low",
        lambda m: Fraction(m.work.preemptions.total()),
    ),
    Metric(
        "preempted_share",
        "1",
        "requests preempted at least once, of the accepted",
        "C28",
        "low",
        lambda m: _ratio(sum(r.preemptions > 0 for r in m.accepted), len(m.accepted)),
    ),
    # who is where
    Metric(
        "system_mean",
        "requests",
        "mean number in the system",
        "E31.8: N̄",
        None,
        lambda m: m.residence.little("system").mean_number,
    ),
    Metric(
        "queue_mean",
        "requests",
        "mean number that wait, for the first time or after a preemption",
        "E31.8: N̄q",
        "low",
        lambda m: m.residence.little("queue").mean_number,
    ),
    Metric(
        "queue_peak",
        "requests",
        "most that waited at once",
        "N06",
        "low",
        lambda m: Fraction(m.residence.steps["queue"].peak),
    ),
    Metric(
        "queue_age_mean",
        "s",
        "how long the oldest waiting request has waited, mean over the ends of rounds",
        "Q31.13",
        "low",
        lambda m: m.work.age.mean,
    ),
    Metric(
        "queue_age_max",
        "s",
        "how long the oldest waiting request has waited, at most, at the end of a round",
        "Q31.13",
        "low",
        lambda m: _in_s(m.work.age.greatest, m.work.age.samples),
    ),
    Metric(
        "queue_age_slope",
        "1",
        "seconds of queue age gained a second, least squares over the ends of rounds",
        "Q31.13",
        "low",
        lambda m: m.work.age.slope,
    ),
    # output
    Metric(
        "backlog_mean",
        "tokens",
        "tokens emitted and not yet with the client, mean over the window",
        "C20",
        "low",
        lambda m: _ratio(m.work.backlog.area, m.seconds * NS_PER_SECOND),
    ),
    Metric(
        "backlog_peak",
        "tokens",
        "tokens emitted and not yet with the client, at most",
        "C20",
        "low",
        lambda m: Fraction(m.work.backlog.peak),
    ),
    Metric(
        "buffer_peak",
        "tokens",
        "most tokens of one request that its client had not read",
        "C21",
        "low",
        lambda m: Fraction(m.work.buffer_peak),
    ),
    Metric(
        "tokens_lost",
        "tokens",
        "tokens emitted and never delivered",
        "Q31.10",
        "low",
        lambda m: Fraction(m.work.lost),
    ),
    # tenants
    *(
        Metric(f"jain_{unit}", "1", f"Jain's index over tenants: {unit}", "C24", "high", _jain(unit))
        for unit in ("requests", "tokens", "cost_positions")
    ),
)

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*(m for name in SAMPLES for m in _of_sample(name)), *_SCALARS)
}
