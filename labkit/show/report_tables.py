"""The tables of a report: units in the column heads, a ratio with its numerator, denominator and population.

Each is a `Section`: a table and a note that says what it holds. Several runs stand side by side, a row a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from labkit.measure.compare import compared, shorter
from labkit.measure.fairness import Service, services
from labkit.measure.goodput import Targets
from labkit.measure.little import REGIONS, Little, mismatch
from labkit.measure.slices import DIMENSIONS, Slice, by_revision, pooled_itl, revision, slices
from labkit.show.report_layout import NS, Run, Section, each, heads, side_by_side
from labkit.show.report_numbers import Number, between, clean, mean_of, number, percent, times, unit_of
from labkit.show.report_ratios import flows, goodput, work
from labkit.show.tables import Table
from labkit.show.text import t

MOST_PARTS = 12  # tenants in one table
PERCENTILES = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
LATENCIES = (
    ("ttft", "worker", "ttft"),
    ("ttft", "client", "client_ttft"),
    ("ttft", "intended", "intended_ttft"),
    ("tpot", "worker", "tpot"),
    ("tpot", "client", "client_tpot"),
    ("itl", "worker", "itl"),
    ("itl", "client", "client_itl"),
    ("chunk_interval", "client", "chunk_interval"),
    ("sojourn", "client", "sojourn"),
    ("sojourn", "intended", "intended_sojourn"),
    ("wait", "worker", "wait"),
    ("waits_total", "worker", "waits_total"),
)


def sections(runs: Sequence[Run], targets: Targets) -> list[Section]:
    """Every table of a report on these runs, in order."""
    unit = unit_of(runs)
    parts = [_runs(runs)]
    parts += [_differences(runs)] if len(runs) > 1 else []
    parts += [
        _requests(runs),
        _latency(runs, unit),
        _weights(runs, unit),
        goodput(runs, targets),
        flows(runs),
        work(runs),
        *(_little(run, len(runs) > 1) for run in runs),
        _backlogs(runs),
        *(_tenants(run, len(runs) > 1) for run in runs),
        _slices(runs, unit),
    ]
    return parts


# ------------------------------------------------------------------------------------------------ the runs


def _runs(runs: Sequence[Run]) -> Section:
    rows = []
    for run in runs:
        seed = run.header["seed"]
        title = clean(str(run.header["scenario"].get("title") or "–"), 80)
        cells = [run.name, title, revision(run.header), "–" if seed is None else str(seed)]
        rows.append([*cells, number(run.measures.seconds, 6), number(run.measures.work.rounds)])
    heads = ("run", "scenario", "executor", "seed", "seconds", "rounds")
    window = runs[0].measures
    note = t(
        "report.window",
        start=number(Fraction(window.start, NS)),
        end=number(Fraction(window.end or 0, NS), 6),
    )
    if len({run.measures.end for run in runs}) > 1:
        note = ""
    return Section("runs", Table(t("report.runs"), [t(f"report.{head}") for head in heads], rows), note)


def _differences(runs: Sequence[Run]) -> Section:
    first, *others = runs
    rows, notes = [], []
    for other in others:
        rows += [
            [found.field, first.name, found.first, other.name, found.second]
            for found in compared(first.entrant, other.entrant)
        ]
        count, tokens = shorter(first.entrant, other.entrant)
        back = shorter(other.entrant, first.entrant)
        if count:
            notes.append(t("report.shorter", second=other.name, first=first.name, count=count, tokens=tokens))
        if back[0]:
            notes.append(
                t("report.shorter", second=first.name, first=other.name, count=back[0], tokens=back[1])
            )
    if not rows:
        notes.insert(0, t("report.same"))
    if "closed_loop" in first.header["scenario"]:
        notes.append(t("report.closed"))
    head = [t("report.field"), t("report.run"), t("report.value"), t("report.run"), t("report.value")]
    return Section("differs", Table(t("report.differs"), head, rows), t("list.stop").join(notes))


OUTCOMES = ("finished", "rejected", "cancelled", "expired", "failed", "unfinished")


def _requests(runs: Sequence[Run]) -> Section:
    names = ("planned", "submitted", "accepted", "admitted", *OUTCOMES, "on_target")
    counted = []
    for run in runs:
        fold = run.measures
        more = {
            "planned": run.entrant.planned,
            "accepted": len(fold.accepted),
            "admitted": sum(row.admitted is not None for row in fold.requests),
            "on_target": fold.on_target,
        }
        counted.append(fold.counts | more)
    rows = [
        [t(f"report.{name}"), *("–" if counts[name] is None else number(counts[name]) for counts in counted)]
        for name in names
    ]
    head = [t("report.quantity"), *(run.name for run in runs)]
    return Section("requests", Table(t("report.requests"), head, rows), t("report.requests_note"))


# ------------------------------------------------------------------------------------------------ latency


def _latency(runs: Sequence[Run], unit: tuple[str, int]) -> Section:
    plain = all(row.intended == row.sent for run in runs for row in run.measures.requests)
    same = {figure for figure in ("ttft", "tpot", "itl") if all(_same(run, figure) for run in runs)}

    def cells(run: Run, key: str) -> Sequence[str] | None:
        figure, point, name = next(entry for entry in LATENCIES if entry[2] == key)
        sample = run.measures.sample(name)
        if not sample.size or (point == "intended" and plain) or (point == "client" and figure in same):
            return None
        where = "both" if figure in same and point == "worker" else point
        percentiles = [between(sample.percentile(share), unit) for share in (*PERCENTILES, Fraction(1))]
        counted = [number(sample.size), number(sample.censored), mean_of(sample, unit)]
        return [t(f"report.{figure}"), t(f"report.{where}"), *counted, *percentiles]

    rows = each(runs, [name for _, _, name in LATENCIES], cells)
    columns = (
        t("report.observed"),
        t("report.count"),
        t("report.cut"),
        t("report.mean"),
        "p50",
        "p90",
        "p99",
    )
    head = heads(runs, t("report.quantity"), *columns, t("report.max"))
    return Section("latency", Table(t("report.latency", unit=unit[0]), head, rows), t("report.latency_note"))


def _same(run: Run, figure: str) -> bool:
    """Both points of observation have the same times: everything was delivered as it came out."""
    worker, client = run.measures.sample(figure), run.measures.sample(f"client_{figure}")
    return (worker.exact, worker.least) == (client.exact, client.least)


def _weights(runs: Sequence[Run], unit: tuple[str, int]) -> Section:
    def cells(run: Run, key: str) -> Sequence[str] | None:
        tpot, itl = run.measures.sample("tpot"), run.measures.sample("itl")
        request, gap = t("report.each_request"), t("report.each_gap")
        size = {"tpot_mean": tpot.measured, "itl_mean": itl.measured}.get(key, itl.size)
        if key == "tpot_mean":
            return [t("report.tpot_mean"), request, number(size), times(tpot.mean(), unit)]
        if key == "itl_mean":
            return [t("report.itl_mean"), gap, number(size), times(itl.mean(), unit)]
        share = Fraction(99, 100) if key == "itl_high" else Fraction(1)
        return [t(f"report.{key}"), gap, number(size), between(itl.percentile(share), unit)]

    rows = each(runs, ["tpot_mean", "itl_mean", "itl_high", "itl_max"], cells)
    head = heads(runs, t("report.quantity"), t("report.weight"), t("report.count"), t("report.value"))
    return Section("weights", Table(t("report.weights", unit=unit[0]), head, rows), t("report.weights_note"))


# ------------------------------------------------------------------------------------------------ Little


def _little(run: Run, many: bool) -> Section:
    residence = run.measures.residence
    rows = [_place(t(f"report.{region}"), residence.little(region)) for region in REGIONS]
    everyone, accepted = residence.little("system"), residence.little("system", accepted_only=True)
    note = t("report.little_note")
    if everyone.departures != accepted.departures:
        rows.append(_place(t("report.without_rejected"), accepted))
        off = mismatch(everyone, accepted)
        note += t("list.stop") + t("report.mismatch", amount=number(off))
    heads = ("place", "mean_number", "rate", "mean_time", "boundary", "peak", "area", "holds")
    caption = t("report.little") + (f" · {run.name}" if many else "")
    return Section("little", Table(caption, [t(f"report.{head}") for head in heads], rows), note)


def _place(name: str, little: Little) -> list[str]:
    values = (little.mean_number, little.rate, little.mean_time, little.boundary)
    peak = "–" if little.peak is None else number(little.peak)
    holds = t("report.equal") if little.exact else t("report.unequal")
    return [name, *map(number, values), peak, number(Fraction(little.area, NS)), holds]


def _backlogs(runs: Sequence[Run]) -> Section:
    def cells(run: Run, name: str) -> Sequence[str] | None:
        work, seconds = run.measures.work, run.measures.seconds
        age = work.age
        value: Number = {
            "age_mean": age.mean,
            "age_max": Fraction(age.greatest, NS) if age.samples else None,
            "age_slope": age.slope,
            "queue_peak": run.measures.residence.steps["queue"].peak,
            "backlog_mean": Fraction(work.backlog.area, NS) / seconds if seconds else None,
            "backlog_peak": work.backlog.peak,
            "buffer_peak": work.buffer_peak,
            "lost": work.lost,
        }[name]
        return [t(f"report.{name}"), number(value)]

    names = [
        "queue_peak",
        "age_mean",
        "age_max",
        "age_slope",
        "backlog_mean",
        "backlog_peak",
        "buffer_peak",
        "lost",
    ]
    head = heads(runs, t("report.quantity"), t("report.value"))
    return Section(
        "backlogs", Table(t("report.backlogs"), head, each(runs, names, cells)), t("report.backlogs_note")
    )


# ------------------------------------------------------------------------------------------------ parts


def _tenants(run: Run, many: bool) -> Section:
    given = services(run.measures)
    tenants = sorted(given[0].amounts, key=lambda name: -given[1].amounts[name])
    shown, rest = tenants[:MOST_PARTS], tenants[MOST_PARTS:]
    head = [t("report.tenant"), *(t(f"report.unit_{s.unit}") for s in given)]
    rows = [[clean(name), *(_amount(s, [name]) for s in given)] for name in shown]
    if rest:
        rows.append([t("report.others", count=len(rest)), *(_amount(s, rest) for s in given)])
    rows.append([t("report.total"), *(number(s.total) for s in given)])
    rows.append([t("report.jain"), *(number(s.jain) for s in given)])
    if any(s.jain != s.jain_weighted for s in given):
        rows.append([t("report.jain_weighted"), *(number(s.jain_weighted) for s in given)])
    meanings = [f"{head[i + 1]}{t('list.colon')}{t(f'report.meaning_{s.unit}')}" for i, s in enumerate(given)]
    caption = t("report.tenants") + (f" · {run.name}" if many else "")
    note = t("report.tenants_note") + t("report.units_count", units=t("list.semicolon").join(meanings))
    return Section("tenants", Table(caption, head, rows), note)


def _amount(service: Service, tenants: Iterable[str]) -> str:
    amount = sum((service.amounts[name] for name in tenants), Fraction(0))
    share = percent(amount / service.total if service.total else None)
    return f"{number(amount)} ({share})"


def _slices(runs: Sequence[Run], unit: tuple[str, int]) -> Section:
    rows, owners = [], []
    for dimension in DIMENSIONS:
        for run in runs:
            parts = slices(run.measures.requests, dimension)
            for part in (
                sorted(parts, key=lambda p: -len(p.requests))[:MOST_PARTS] if dimension == "tenant" else parts
            ):
                rows.append(_slice(part, unit))
                owners.append(run)
    table = side_by_side(runs, rows, owners)
    joined = by_revision((run.header, run.measures.requests) for run in runs)
    empty = ["–"] if len(runs) > 1 else []
    for part in joined:
        first, *others = _slice(part, unit)
        table.append([first, *empty, *others])
    columns = ["TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", f"ITL {t('report.mean')}"]
    head = heads(runs, t("report.slice"), t("report.count"), t("report.cut"), *columns)
    return Section("slices", Table(t("report.slices", unit=unit[0]), head, table), t("report.slices_note"))


def _slice(part: Slice, unit: tuple[str, int]) -> list[str]:
    label = t(f"report.by_{part.dimension}", label=clean(part.label))
    if part.dimension == "hit":
        label = t("report.by_hit" if part.label == "hit" else "report.by_no_hit")
    ttft, tpot = part.ttft, part.tpot
    p50, p99 = Fraction(1, 2), Fraction(99, 100)
    percentiles = [between(sample.percentile(p), unit) for sample in (ttft, tpot) for p in (p50, p99)]
    pooled = times(pooled_itl(part.requests), unit)
    return [label, number(ttft.size), number(ttft.censored), *percentiles, pooled]
