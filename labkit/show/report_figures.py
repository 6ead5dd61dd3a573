"""Which figures a report has, from the folds of its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import matplotlib

from labkit.measure.fairness import services
from labkit.measure.latency import Sample
from labkit.measure.steps import Thin
from labkit.show.figures.report_lines import Panel, Point, Step, lines
from labkit.show.figures.report_shares import shares
from labkit.show.figures.report_tails import Tail, tails
from labkit.show.figures.timeline import timeline, timelines
from labkit.show.picture import Picture
from labkit.show.report_layout import NS, Run
from labkit.show.report_numbers import between, clean, unit_of
from labkit.show.text import t

MOST_TENANTS = 7
UNITS = ("requests", "tokens", "cost_positions", "cost_seats")


def pictures(runs: Sequence[Run]) -> Iterator[tuple[str, Picture]]:
    """Every figure with a key for links; a timeline where a run is small, a backlog where output was ever behind."""
    yield from _timelines(runs)
    yield "tail", _latency(runs)
    yield "queue", _queue(runs)
    yield "rounds", _rounds(runs)
    gaps = _gaps(runs)
    if gaps is not None:
        yield "gaps", gaps
    pages, label = {run.name: _steps(run.measures.work.pages) for run in runs}, t("report.axis_pages")
    yield "pages", lines(t("report.fig_pages"), [Panel(label, label, steps=pages)])
    if any(run.measures.work.backlog.peak for run in runs):
        name = t("report.axis_backlog")
        found = {run.name: _steps(run.measures.work.backlog.thin) for run in runs}
        yield "backlog", lines(t("report.fig_backlog"), [Panel(name, name, steps=found)])
    bars = list(_bars(runs))
    if bars and any(len(run.measures.tenants) > 1 for run in runs):
        yield "shares", shares(t("report.fig_shares"), bars)


def _timelines(runs: Sequence[Run]) -> Iterator[tuple[str, Picture]]:
    """All runs on one time axis where each is small and they have the same seats; else those that are small."""
    small = {run.name: run for run in runs if run.result is not None and run.result["rounds"]}
    seats = {
        name: int(run.header["scenario"].get("budget", {}).get("seats", 1)) for name, run in small.items()
    }
    with matplotlib.rc_context({"text.parse_math": False}):  # an id may hold a dollar sign
        if len(runs) == 1:
            for name, run in small.items():
                yield "timeline", timeline(run.result, seats[name])
        elif len(set(seats.values())) == 1:
            yield (
                "timeline",
                timelines({name: run.result for name, run in small.items()}, *set(seats.values())),
            )
        else:
            for place, (name, run) in enumerate(small.items(), 1):
                yield f"timeline-{place}", timelines({name: run.result}, seats[name])


def _steps(thin: Thin | None) -> list[Step]:
    """Bins in s, those of one height joined."""
    out: list[Step] = []
    for start, end, area, peak in thin.bins() if thin else ():
        mean = area / (end - start)
        if out and (out[-1][2], out[-1][3]) == (mean, float(peak)):
            out[-1] = (out[-1][0], end / NS, mean, float(peak))
        else:
            out.append((start / NS, end / NS, mean, float(peak)))
    return out


def _points(bins: Sequence[tuple[int, int, int, int]], per: float) -> list[Point]:
    return [(at / NS, total / count / per, most / per) for at, count, total, most in bins]


def _queue(runs: Sequence[Run]) -> Picture:
    greatest = max(run.measures.work.age.greatest for run in runs)
    unit, per = ("ms", 1e6) if greatest < 10 * NS else ("s", 1e9)
    waiting, age = t("report.axis_waiting"), t("report.axis_age", unit=unit)
    lengths = {run.name: _steps(run.measures.residence.steps["queue"].thin) for run in runs}
    ages = {
        run.name: _points(run.measures.work.ages.points() if run.measures.work.ages else (), per)
        for run in runs
    }
    return lines(
        t("report.fig_queue"), [Panel(waiting, waiting, steps=lengths), Panel(age, age, points=ages)]
    )


def _rounds(runs: Sequence[Run]) -> Picture:
    trails = {run.name: run.measures.work.round_times for run in runs}
    found = {name: _points(trail.points() if trail else (), 1e6) for name, trail in trails.items()}
    label = t("report.axis_round")
    return lines(t("report.fig_rounds"), [Panel(label, label, points=found)])


def _tail(run: Run, sample: Sample, unit: tuple[str, int]) -> Tail:
    measured = [(float(value) / NS, count) for value, count in sample.exact.items()]
    censored = [(float(value) / NS, count) for value, count in sample.least.items()]
    p50, p99 = (f"{between(sample.percentile(Fraction(p, 100)), unit)} {unit[0]}" for p in (50, 99))
    return Tail(run.name, measured, sorted(censored), p50, p99)


def _latency(runs: Sequence[Run]) -> Picture:
    unit = unit_of(runs)
    names = {"ttft": t("report.ttft"), "sojourn": t("report.sojourn")}
    panels = [
        (label, [_tail(run, run.measures.sample(name), unit) for run in runs])
        for name, label in names.items()
    ]
    return tails(t("report.fig_tail"), panels)


def _gaps(runs: Sequence[Run]) -> Picture | None:
    unit = unit_of(runs)
    found = {
        name: [_tail(run, run.measures.sample(name), unit) for run in runs]
        for name in ("itl", "chunk_interval")
    }
    panels = [(t(f"report.{name}"), each) for name, each in found.items() if any(tail.size for tail in each)]
    return tails(t("report.fig_gaps"), panels) if panels else None


def _bars(runs: Sequence[Run]) -> Iterator[tuple[str, str, Mapping[str, float]]]:
    """The same tenants by name in every bar, those with most over all bars; what the others got stands together."""
    found = [
        (run.name, service) for unit in UNITS for run in runs for service in services(run.measures)
        if service.unit == unit and service.total
    ]  # fmt: skip
    most: Counter[str] = Counter()
    for _, service in found:
        for tenant in service.amounts:
            most[tenant] += service.share(tenant) or Fraction(0)
    names = [tenant for tenant, _ in most.most_common()]
    labels: dict[str, str] = {}
    for place, tenant in enumerate(names[:MOST_TENANTS], 1):  # a name that is cut may look like another
        label = clean(tenant, 24)
        labels[tenant] = f"{label} ({place})" if label in labels.values() else label
    rest = t("report.others", count=len(names) - len(labels))
    for run, service in found:
        parts = {
            label: float(service.share(tenant) or 0)
            for tenant, label in labels.items()
            if tenant in service.amounts
        }
        if len(names) > len(labels):
            left = sum(
                (service.amounts.get(tenant, Fraction(0)) for tenant in names[MOST_TENANTS:]), Fraction(0)
            )
            parts[rest] = float(left / service.total)
        yield run, t(f"report.unit_{service.unit}"), parts
