"""`python -m labkit report JOURNAL…`: what a run's journal says, as tables on the terminal and as one HTML page.

Several journals stand side by side only where the fairness checker has nothing against it (C31); else each thing in
which they differ is named, one line each, and nothing is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from labkit.core.errors import InputError
from labkit.engine import journal
from labkit.measure.compare import Entrant, unfair
from labkit.measure.fairness import services
from labkit.measure.fold import Measures
from labkit.measure.goodput import Targets, denominators, in_ns
from labkit.measure.little import REGIONS
from labkit.measure.metrics import METRICS, values
from labkit.measure.result import ResultFold
from labkit.measure.times import POINTS
from labkit.show.report_layout import NS, Run, plain
from labkit.show.report_numbers import clean, printable
from labkit.show.report_tables import sections
from labkit.show.text import LANGUAGES, language, t

MOST_REQUESTS, MOST_ROUNDS = 24, 80  # what a timeline can show
BOUNDS = ("ttft", "tpot", "itl_max", "sojourn")


class _Parser(argparse.ArgumentParser):
    """argparse that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {clean(message, 400)}")


def parser() -> argparse.ArgumentParser:
    """The options of `report`."""
    top = _Parser(prog="labkit report", description="What a run's journal says.", allow_abbrev=False)
    top.add_argument("journals", nargs="+", metavar="JOURNAL", help="a file that `run --journal` wrote, or -")
    top.add_argument("--html", metavar="OUT.html", help="write one self-contained page with figures")
    top.add_argument("--json", action="store_true", help="every metric, exact, instead of tables")
    top.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="NAME=SECONDS",
        help=f"what on target asks: {', '.join(BOUNDS)} at most so many seconds, or deadline; may be repeated",
    )
    top.add_argument(
        "--point", choices=POINTS, default="worker", help="where targets are read (default: worker)"
    )
    top.add_argument("--quality", metavar="FILE", help="ids whose answers are good enough, one a line")
    top.add_argument("--window", nargs=2, metavar=("START", "END"), help="seconds; default: all of the run")
    top.add_argument("--lang", choices=LANGUAGES, help="default: zh, or what LABKIT_LANG says")
    return top


def main(argv: list[str]) -> int:
    """Run the command; `argv` begins with its name. Returns the exit status (0 done, 2 the input is wrong)."""
    for standard in (sys.stdout, sys.stderr):
        if hasattr(standard, "reconfigure"):
            standard.reconfigure(errors="backslashreplace", newline="\n")
    try:
        options = parser().parse_args(argv[1:])
        with _speaking(options.lang or language()), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", journal.CutShort)
            _report(options)
        for warning in caught:
            print(f"warning: {clean(str(warning.message), 400)}", file=sys.stderr)
        return 0
    except InputError as error:
        for line in error.problems:
            print(line, file=sys.stderr)
        return 2
    except SystemExit as end:  # --help
        return end.code if isinstance(end.code, int) else 2


@contextmanager
def _speaking(lang: str) -> Iterator[None]:
    before = os.environ.get("LABKIT_LANG")
    os.environ["LABKIT_LANG"] = lang
    try:
        yield
    finally:
        if before is None:
            del os.environ["LABKIT_LANG"]
        else:
            os.environ["LABKIT_LANG"] = before


def _report(options: argparse.Namespace) -> None:
    targets = _targets(options)
    start, end = _window(options.window)
    if options.html is not None:
        _keep_apart(options.html, options.journals)
    if options.journals.count("-") > 1:
        raise InputError("labkit report: given - more than once, expected one journal on standard input")
    names = _names(options.journals)
    runs = [read(path, name, targets, start, end) for path, name in zip(options.journals, names, strict=True)]
    _only_if_fair(runs)
    if options.html is not None:
        _write(options.html, as_html(runs, targets))
    if options.json:
        print(json.dumps(as_json(runs), ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    else:
        print(printable("\n".join(plain(section) for section in sections(runs, targets))), end="")


# ------------------------------------------------------------------------------------------------ what was asked


def _targets(options: argparse.Namespace) -> Targets:
    asked: dict[str, Any] = {}
    for text in options.target:
        name, _, bound = text.partition("=")
        if name == "deadline" and not bound:
            asked["deadline"] = True
        elif name in BOUNDS and name not in asked:
            asked[name] = in_ns(_seconds(bound, f"--target {name}"))
        else:
            known = ", ".join(f"{bound}=SECONDS" for bound in BOUNDS)
            raise InputError(
                f"labkit report: --target: given {clean(text)}, expected once each {known} or deadline"
            )
    if options.quality is not None:
        asked["quality"] = _ids(options.quality).__contains__
    return Targets(**asked, point=options.point)


def _ids(path: str) -> frozenset[str]:
    try:
        return frozenset(Path(path).read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(
            f"labkit report: --quality: given {clean(path)} ({why}), expected ids, one a line"
        ) from None


def _window(asked: Sequence[str] | None) -> tuple[int, int | None]:
    if asked is None:
        return 0, None
    start, end = (in_ns(_seconds(text, "--window")) for text in asked)
    if end <= start:
        raise InputError(
            f"labkit report: --window: given {clean(' '.join(asked))}, expected an end after its start"
        )
    return start, end


def _seconds(text: str, what: str) -> Fraction:
    digits = text.replace(".", "", 1)
    if text.isascii() and digits.isdigit() and len(text) <= 30:
        return Fraction(text)
    raise InputError(f"labkit report: {what}: given {clean(text) or 'nothing'}, expected seconds such as 0.5")


def _names(paths: Sequence[str]) -> list[str]:
    """What to call each journal: its file's name, or all of the path where two have the same."""
    short = [Path(path).stem if path != "-" else path for path in paths]
    unique = [name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)]
    shown = [clean(name) for name in unique]
    return [name if shown.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(shown)]


def _keep_apart(out: str, journals: Sequence[str]) -> None:
    for path in journals:
        if path != "-" and Path(path).exists() and Path(out).exists() and Path(out).samefile(path):
            raise InputError(
                f"labkit report: --html: given {clean(out)}, which is read, expected another file"
            )


# ------------------------------------------------------------------------------------------------ reading


def read(path: str, name: str, targets: Targets, start: int = 0, end: int | None = None) -> Run:
    """One journal, streamed: see `labkit.measure.fold` for what is kept. Raises InputError."""
    measures = Measures(targets, start=start, end=end, thin=True)
    entrant = Entrant(name)
    small: ResultFold | None = ResultFold(full=True)

    def feed(event: dict[str, Any]) -> None:
        nonlocal small
        measures.feed(event)
        entrant.feed(event)
        if small is not None:
            small.feed(event)
            if len(small.order) > MOST_REQUESTS or small.rounds_run > MOST_ROUNDS:
                small = None

    events = journal.parse(sys.stdin.buffer, "standard input") if path == "-" else journal.read(path)
    header = journal.follow(events, clean(path, 400), feed)
    measures.feed(header)
    entrant.feed(header)
    _within(measures.close(), name, end)
    return Run(name, header, measures, entrant, None if small is None else small.result())


def _within(measures: Measures, name: str, end: int | None) -> None:
    """Refuse a window of which nothing is known: it begins after the run, or goes on after one that was cut off."""
    seen = measures.observed
    if end is not None and (measures.start >= seen or (measures.cut and end > seen)):
        asked = f"{_float(Fraction(measures.start, NS))} {_float(Fraction(end, NS))}"
        raise InputError(
            f"labkit report: --window: given {asked}, expected a window in what {name} saw, "
            f"0 to {_float(Fraction(seen, NS))} s"
        )


def _only_if_fair(runs: Sequence[Run]) -> None:
    """C31: one line for each thing in which a run differs from the first, where it may not."""
    first, *others = runs
    lines = []
    for other in others:
        for found in unfair(first.entrant, other.entrant):
            more = f" (and {found.more} more requests)" if found.more else ""
            said = f"{clean(found.first)} in {first.name}, {clean(found.second)} in {other.name}"
            lines.append(f"labkit report: not comparable: {clean(found.field, 80)}: {said}{more}")
    if lines:
        raise InputError(lines)


# ------------------------------------------------------------------------------------------------ what comes out


def as_html(runs: Sequence[Run], targets: Targets) -> str:
    """The page."""
    from labkit.show.report_figures import pictures
    from labkit.show.report_page import page

    names = t("list.comma").join(run.name for run in runs)
    title = str(runs[0].header["scenario"].get("title") or runs[0].name)
    heading = t("report.title_many") if len(runs) > 1 else t("report.title_one", title=clean(title, 120))
    lead = [t("report.made_of", names=names), t("report.kept")]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # a name in a script we lack
        return page(heading, lead, list(pictures(runs)), sections(runs, targets))


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"labkit report: --html: given {clean(path) or 'nothing'} ({why}), expected a file to write"
        ) from None


def as_json(runs: Sequence[Run]) -> dict[str, Any]:
    """`labkit.report/1`: every metric as a float and exactly, the denominators, Little's terms, services by tenant."""
    return {"schema": "labkit.report/1", "runs": [_run_json(run) for run in runs]}


def _run_json(run: Run) -> dict[str, Any]:
    fold = run.measures
    metrics = {
        name: {
            "value": _float(value),
            "exact": None if value is None else str(value),
            "unit": METRICS[name].unit,
        }
        for name, value in values(fold).items()
    }
    return {
        "name": run.name,
        "window": [_float(Fraction(fold.start, NS)), _float(Fraction(fold.end or 0, NS))],
        "counts": {"planned": run.entrant.planned, **fold.counts, "on_target": fold.on_target},
        "metrics": metrics,
        "shares": [
            _floats(share, "name", "numerator", "of", "denominator", "per", "population", "value")
            for share in denominators(fold.counts, fold.on_target, fold.seconds)
        ],
        "little": [_little_json(run, region) for region in REGIONS],
        "services": [
            _floats(service, "unit", "meaning", "amounts", "total", "jain", "jain_weighted")
            for service in services(fold)
        ],
    }


def _floats(of: object, *names: str) -> dict[str, Any]:
    return {name: _float(getattr(of, name)) for name in names}


def _little_json(run: Run, region: str) -> Mapping[str, Any]:
    little = run.measures.residence.little(region)
    figures = ("region", "mean_number", "rate", "mean_time", "boundary")
    whole = (
        "area",
        "residence",
        "arrivals",
        "departures",
        "departed_time",
        "before",
        "present",
        "peak",
        "exact",
    )
    return _floats(little, *figures, *whole)


def _float(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _float(part) for name, part in value.items()}
    return float(value) if isinstance(value, Fraction) else value
