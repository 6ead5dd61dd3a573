"""The tables of ratios: goodput, throughput, work; each with its numerator, denominator and population by name."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from labkit.measure.goodput import Share, Targets, denominators
from labkit.show.report_layout import NS, Run, Section, each, heads
from labkit.show.report_numbers import number, percent
from labkit.show.tables import Table
from labkit.show.text import t

RATIO = ("numerator", "denominator", "value", "population")
POPULATIONS = {
    "submitted": "report.of_sent",
    "accepted": "report.of_those_accepted",
    "finished": "report.of_those_finished",
}
RATES = {"submit_rate": "submit_rate", "throughput": "throughput", "goodput": "goodput_rate"}


def goodput(runs: Sequence[Run], targets: Targets) -> Section:
    """X5: what is on target, a second and as a share, with every denominator."""
    tables = {
        run.name: {
            s.name: s for s in denominators(run.measures.counts, run.measures.on_target, run.measures.seconds)
        }
        for run in runs
    }

    def cells(run: Run, name: str) -> Sequence[str] | None:
        share: Share = tables[run.name][name]
        rate = share.per == "seconds"
        above = t("report.in_requests", count=number(share.numerator), kind=t(f"report.{share.of}"))
        below = t("report.in_seconds", count=number(share.denominator, 6))
        if not rate:
            below = t("report.in_requests", count=number(share.denominator), kind=t(f"report.{share.per}"))
        value = number(share.value) if rate else percent(share.value)
        return [t(f"report.{RATES.get(name, name)}"), above, below, value, t(POPULATIONS[share.population])]

    rows = each(runs, list(next(iter(tables.values()))), cells)
    head = heads(runs, t("report.quantity"), *(t(f"report.{h}") for h in RATIO))
    asked = _asked(targets)
    note = t("report.goodput_note", targets=asked) if asked else t("report.no_targets")
    return Section("goodput", Table(t("report.goodput"), head, rows), note)


def _asked(targets: Targets) -> str:
    names = {"ttft": "TTFT", "tpot": "TPOT", "itl_max": t("report.longest_itl"), "sojourn": "T"}
    bounds = {name: getattr(targets, field) for field, name in names.items()}
    asked = [
        t("report.target", name=name, bound=number(Fraction(bound, NS)))
        for name, bound in bounds.items()
        if bound is not None
    ]
    asked += [t("report.target_deadline")] if targets.deadline else []
    asked += [t("report.target_quality")] if targets.quality else []
    if not asked:
        return ""
    return t("list.comma").join(asked) + t("report.target_point", point=t(f"report.{targets.point}"))


def flows(runs: Sequence[Run]) -> Section:
    """C06: four throughputs, and beside them what had to be computed and the token flow."""

    def cells(run: Run, name: str) -> Sequence[str] | None:
        work, fold = run.measures.work, run.measures
        count, of = {
            "requests": (work.finished, "finished"),
            "input": (work.input_finished, "finished"),
            "computed": (work.input_computed, "finished"),
            "output": (work.generated, "emitted"),
            "target": (work.finished_on_target, "finished"),
            "tokens": (sum(r.input + r.output for r in fold.requests), "sent"),
        }[name]
        what = "in_plain" if name in ("requests", "target") else "in_tokens"
        above = t(f"report.{what}", count=number(count))
        below = t("report.in_seconds", count=number(fold.seconds, 6))
        rate = number(count / fold.seconds if fold.seconds else None)
        return [t(f"report.flow_{name}"), above, below, rate, t(f"report.of_{of}")]

    rows = each(runs, ["requests", "input", "computed", "output", "target", "tokens"], cells)
    head = heads(runs, t("report.quantity"), *(t(f"report.{h}") for h in RATIO))
    return Section("flows", Table(t("report.flows"), head, rows), t("report.flows_note"))


def work(runs: Sequence[Run]) -> Section:
    """Rounds, both ratios of recomputation (C28), preemptions."""

    def cells(run: Run, name: str) -> Sequence[str] | None:
        work, fold = run.measures.work, run.measures
        busy, accepted = Fraction(work.busy, NS), fold.accepted
        first = work.executed - work.recomputed
        preempted = sum(r.preemptions > 0 for r in accepted)
        above, what, below, per, of = {
            "busy_share": (busy, "in_seconds_busy", fold.seconds, "in_seconds", "window"),
            "seats_mean": (Fraction(work.seat_time, NS), "in_seat_seconds", busy, "in_seconds_busy", "busy"),
            "round_tokens": (work.executed, "in_positions", work.rounds, "in_rounds", "rounds"),
            "round_mean": (Fraction(work.round_time, 10**6), "in_ms", work.rounds, "in_rounds", "rounds"),
            "recompute_ratio": (work.recomputed, "in_again", first, "in_first", "rounds"),
            "generated": (work.generated, "in_tokens", work.executed, "in_positions", "rounds"),
            "preemptions": (work.preemptions.total(), "in_times", len(accepted), "in_plain", "accepted"),
            "preempted": (preempted, "in_plain", len(accepted), "in_plain", "accepted"),
        }[name]
        ratio = Fraction(above) / below if below else None
        value = percent(ratio) if name in ("busy_share", "preempted") else number(ratio)
        parts = [t(f"report.{what}", count=number(above)), t(f"report.{per}", count=number(below))]
        return [t(f"report.{name}"), *parts, value, t(f"report.of_{of}")]

    names = ["busy_share", "seats_mean", "round_tokens", "round_mean", "recompute_ratio", "generated"]
    rows = each(runs, [*names, "preemptions", "preempted"], cells)
    head = heads(runs, t("report.quantity"), *(t(f"report.{h}") for h in RATIO))
    return Section("work", Table(t("report.work"), head, rows), t("report.work_note"))
