"""The tables of a report: units in the column heads, a ratio with its numerator, denominator and population.

Each is a `Section`: a table and a note that says what it holds. Several runs stand side by side, a row a run.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from labkit.measure.compare import Entrant, compared, shorter
from labkit.measure.fairness import Service, services
from labkit.measure.fold import Measures
from labkit.measure.goodput import Share, Targets, denominators
from labkit.measure.latency import Bounds, Sample
from labkit.measure.little import REGIONS, Little, mismatch
from labkit.measure.slices import DIMENSIONS, Slice, by_revision, pooled_itl, revision, slices
from labkit.show.tables import Table
from labkit.show.text import t

NS = 10**9
LONGEST = 40  # characters of a name from outside
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
Number = Fraction | int | None


@dataclass(frozen=True)
class Run:
    """One journal, read: the name to show it by, its first line, its measures, what it brings to a comparison.

    `result` is the result object where it is small enough to draw request by request.
    """

    name: str
    header: Mapping[str, Any]
    measures: Measures
    entrant: Entrant
    result: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Section:
    """A table with a note under it; `key` names it in links."""

    key: str
    table: Table
    note: str = ""


def sections(runs: Sequence[Run], targets: Targets) -> list[Section]:
    """Every table of a report on these runs, in order."""
    unit = unit_of(runs)
    parts = [_runs(runs)]
    parts += [_differences(runs)] if len(runs) > 1 else []
    parts += [
        _requests(runs),
        _latency(runs, unit),
        _weights(runs, unit),
        _goodput(runs, targets),
        _flows(runs),
        _work(runs),
        *(_little(run, len(runs) > 1) for run in runs),
        _backlogs(runs),
        *(_tenants(run, len(runs) > 1) for run in runs),
        _slices(runs, unit),
    ]
    return parts


# ------------------------------------------------------------------------------------------------ numbers


def number(value: Number, digits: int = 4) -> str:
    """A number for people, to four significant digits and never with an exponent; a word where it is undefined."""
    if value is None:
        return t("report.undefined")
    if value == int(value):
        return f"{int(value):,}".replace(",", " ") if abs(value) >= 10**4 else str(int(value))
    size = abs(float(value))
    places = digits - 1 if size == 0 else max(0, digits - 1 - _exponent(size))
    text = f"{float(value):,.{min(places, 9)}f}".replace(",", " " if size >= 10**4 else "")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _exponent(size: float) -> int:
    return int(f"{size:e}".partition("e")[2])


def printable(text: str) -> str:
    """Text in which nothing can drive a terminal or turn its direction; lines stay lines."""
    return "".join(c if c.isprintable() or c in "\n\u3000" else ascii(c)[1:-1] for c in text)


def clean(text: str, longest: int = LONGEST) -> str:
    """Text from outside on one line: nothing that could break it or drive a terminal, cut to so many characters."""
    safe = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


def percent(value: Number) -> str:
    """A share with its percent sign."""
    return t("report.undefined") if value is None else f"{number(100 * value)} %"


def unit_of(runs: Sequence[Run]) -> tuple[str, int]:
    """ms while the longest sojourn is under ten seconds, else s; and how many of it make a second."""
    longest = max((row.sojourn().ns for run in runs for row in run.measures.requests), default=0)
    return ("ms", 1000) if longest < 10 * NS else ("s", 1)


def _times(value: Number, unit: tuple[str, int]) -> str:
    return number(None if value is None else value * unit[1])


def between(bounds: Bounds, unit: tuple[str, int]) -> str:
    """A percentile as one number, as 'at least', or as its two bounds."""
    if bounds.low is None:
        return t("report.undefined")
    low = _times(bounds.low, unit)
    if bounds.exact:
        return low
    return f"≥ {low}" if bounds.high is None else f"{low}–{_times(bounds.high, unit)}"


def _mean(sample: Sample, unit: tuple[str, int]) -> str:
    mean = _times(sample.mean(), unit)
    return f"{mean} (≥ {_times(sample.mean_at_least(), unit)})" if sample.censored else mean


# ------------------------------------------------------------------------------------------------ layout


def _side_by_side(
    runs: Sequence[Run], rows: Sequence[Sequence[str]], owners: Sequence[Run]
) -> list[Sequence[str]]:
    """The rows, with the name of their run in the second column where there are several."""
    if len(runs) == 1:
        return list(rows)
    return [[row[0], owner.name, *row[1:]] for row, owner in zip(rows, owners, strict=True)]


def _head(runs: Sequence[Run], first: str, *others: str) -> list[str]:
    return [first, *([t("report.run")] if len(runs) > 1 else []), *others]


def _each(
    runs: Sequence[Run], names: Sequence[str], cells: Callable[[Run, str], Sequence[str] | None]
) -> list[Sequence[str]]:
    """A row for each name and run; None leaves the row out."""
    rows, owners = [], []
    for name in names:
        for run in runs:
            found = cells(run, name)
            if found is not None:
                rows.append(found)
                owners.append(run)
    return _side_by_side(runs, rows, owners)


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
    heads = ("submitted", "accepted", *OUTCOMES, "on_target")
    rows = []
    for run in runs:
        counts = run.measures.counts
        counts = counts | {"accepted": len(run.measures.accepted), "on_target": run.measures.on_target}
        planned, admitted = run.entrant.planned, sum(r.admitted is not None for r in run.measures.requests)
        cells = ["–" if planned is None else number(planned), *(number(counts[head]) for head in heads)]
        rows.append([run.name, *cells, number(admitted)])
    head = [t("report.run"), t("report.planned"), *(t(f"report.{h}") for h in heads), t("report.admitted")]
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
        where = "both" if figure in same else point
        percentiles = [between(sample.percentile(share), unit) for share in (*PERCENTILES, Fraction(1))]
        counted = [number(sample.size), number(sample.censored), _mean(sample, unit)]
        return [t(f"report.{figure}"), t(f"report.{where}"), *counted, *percentiles]

    rows = _each(runs, [name for _, _, name in LATENCIES], cells)
    columns = (
        t("report.observed"),
        t("report.count"),
        t("report.cut"),
        t("report.mean"),
        "p50",
        "p90",
        "p99",
    )
    head = _head(runs, t("report.quantity"), *columns, t("report.max"))
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
            return [t("report.tpot_mean"), request, number(size), _times(tpot.mean(), unit)]
        if key == "itl_mean":
            return [t("report.itl_mean"), gap, number(size), _times(itl.mean(), unit)]
        share = Fraction(99, 100) if key == "itl_high" else Fraction(1)
        return [t(f"report.{key}"), gap, number(size), between(itl.percentile(share), unit)]

    rows = _each(runs, ["tpot_mean", "itl_mean", "itl_high", "itl_max"], cells)
    head = _head(runs, t("report.quantity"), t("report.weight"), t("report.count"), t("report.value"))
    return Section("weights", Table(t("report.weights", unit=unit[0]), head, rows), t("report.weights_note"))


# ------------------------------------------------------------------------------------------------ ratios

RATIO = ("numerator", "denominator", "value", "population")
POPULATIONS = {
    "submitted": "report.of_sent",
    "accepted": "report.of_those_accepted",
    "finished": "report.of_those_finished",
}
RATES = {"submit_rate": "submit_rate", "throughput": "throughput", "goodput": "goodput_rate"}


def _goodput(runs: Sequence[Run], targets: Targets) -> Section:
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

    rows = _each(runs, list(next(iter(tables.values()))), cells)
    head = _head(runs, t("report.quantity"), *(t(f"report.{h}") for h in RATIO))
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


def _flows(runs: Sequence[Run]) -> Section:
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

    rows = _each(runs, ["requests", "input", "output", "target", "computed", "tokens"], cells)
    head = _head(runs, t("report.quantity"), *(t(f"report.{h}") for h in RATIO))
    return Section("flows", Table(t("report.flows"), head, rows), t("report.flows_note"))


def _work(runs: Sequence[Run]) -> Section:
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
    rows = _each(runs, [*names, "preemptions", "preempted"], cells)
    head = _head(runs, t("report.quantity"), *(t(f"report.{h}") for h in RATIO))
    return Section("work", Table(t("report.work"), head, rows), t("report.work_note"))


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
    head = _head(runs, t("report.quantity"), t("report.value"))
    return Section(
        "backlogs", Table(t("report.backlogs"), head, _each(runs, names, cells)), t("report.backlogs_note")
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
        rows.append(
            [f"{t('report.jain')} ({t('report.weighted')})", *(number(s.jain_weighted) for s in given)]
        )
    meanings = [f"{head[i + 1]}{t('list.colon')}{t(f'report.meaning_{s.unit}')}" for i, s in enumerate(given)]
    caption = t("report.tenants") + (f" · {run.name}" if many else "")
    note = (
        t("report.tenants_note") + t("list.stop") + t("list.semicolon").join(meanings) + t("report.full_stop")
    )
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
    table = _side_by_side(runs, rows, owners)
    joined = by_revision((run.header, run.measures.requests) for run in runs)
    empty = ["–"] if len(runs) > 1 else []
    for part in joined:
        first, *others = _slice(part, unit)
        table.append([first, *empty, *others])
    columns = ["TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", f"ITL {t('report.mean')}"]
    head = _head(runs, t("report.slice"), t("report.count"), t("report.cut"), *columns)
    return Section("slices", Table(t("report.slices", unit=unit[0]), head, table), t("report.slices_note"))


def _slice(part: Slice, unit: tuple[str, int]) -> list[str]:
    label = t(f"report.by_{part.dimension}", label=clean(part.label))
    if part.dimension == "hit":
        label = t("report.by_hit" if part.label == "hit" else "report.by_no_hit")
    ttft, tpot = part.ttft, part.tpot
    p50, p99 = Fraction(1, 2), Fraction(99, 100)
    percentiles = [between(sample.percentile(p), unit) for sample in (ttft, tpot) for p in (p50, p99)]
    pooled = _times(pooled_itl(part.requests), unit)
    return [label, number(ttft.size), number(ttft.censored), *percentiles, pooled]


# ------------------------------------------------------------------------------------------------ as text


def plain(section: Section) -> str:
    """The table as text: columns padded as wide as a terminal shows them, the note below."""
    rows = [list(section.table.head), *map(list, section.table.rows)]
    count = max(map(len, rows))
    widths = [max(_width(row[i]) for row in rows if i < len(row)) for i in range(count)]
    lines = [
        "  ".join(c + " " * (w - _width(c)) for c, w in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
    parts = [section.table.caption, *lines, *([section.note] if section.note else [])]
    return printable("\n".join(parts)) + "\n"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
