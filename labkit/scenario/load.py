"""From a scenario file to a `Scenario` that can be run; or every problem that the file has, at once."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from labkit.core.errors import InputError, escaped, quoted
from labkit.core.types import RoundCost, Setup
from labkit.scenario import build, explain, rules
from labkit.scenario.defaults import filled
from labkit.scenario.strict_json import Document, Problem, from_python, parse, read_bounded
from labkit.workload import Source

LIBRARY = Path(__file__).parent / "library"
MOST_PROBLEMS = 50
MOST_COUNTED = 1_000


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A scenario that passed every check, ready to run any number of times.

    `raw` is the document with all defaults filled in and its decimals exactly as given: loading it again
    gives the same; `given` is the document as it came, for those who change a field before the defaults follow from
    it. Times are ns; `capacity_changes` are (ordered at, serving from, seats), in order. `base`
    is the folder that paths are relative to, `label` what errors call the file.
    """

    label: str
    raw: dict[str, Any]
    given: dict[str, Any]
    base: Path
    setup: Setup
    cost: RoundCost
    estimate: RoundCost
    capacity_changes: tuple[tuple[int, int, int], ...]
    until_ns: int | None

    @property
    def title(self) -> str:
        """The name for people; may be empty."""
        return str(self.raw["title"])

    @property
    def seed(self) -> int:
        """Seed of what has none of its own."""
        return int(self.raw["seed"])

    def document(self) -> dict[str, Any]:
        """`raw` for any JSON writer, decimals as floats: the same numbers up to 15 digits, the nearest
        beyond.
        """
        plain: dict[str, Any] = _plain(self.raw)
        return plain

    def source(self) -> Source:
        """The load, from its start.

        Raises:
            InputError: now or while streaming: a row of a trace cannot be used.
        """
        label = escaped(str(self.raw["trace"]["path"])) if "trace" in self.raw else self.label
        return build.source(self.raw, self.base, label)

    def with_seed(self, seed: int | None) -> Scenario:
        """The same with every seed replaced; None: unchanged.

        Raises:
            InputError: the seed is out of range.
        """
        if seed is None:
            return self
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**53:
            raise InputError(
                f"{self.label}: seed: given {explain.shown(seed)}, expected an integer from 0 to 2^53 - 1"
            )
        return dataclasses.replace(self, raw=_seeded(self.raw, seed), given=_seeded(self.given, seed))

    def check_virtual(self) -> None:
        """What only the real model can do without.

        Raises:
            InputError: the virtual executor lacks a length.
        """
        found = []
        for index, request in enumerate(self.raw.get("requests") or ()):
            for field in ("prompt_tokens", "output_tokens"):
                if field not in request:
                    where = f"{self.label}: requests[{index}].{field}"
                    found.append(
                        f"{where}: given nothing, expected it, or --executor torch: only the real model finds it out"
                    )
        if found:
            raise InputError(found[:MOST_PROBLEMS])

    def check_load(self) -> None:
        """Read a trace from end to end, so that nothing in it can stop a run half way.

        Raises:
            InputError: a row cannot be used; its line is named.
        """
        if "trace" in self.raw:
            source = self.source()
            while source.peek() is not None:
                source.take()


def load(
    scenario: str | os.PathLike[str] | bytes | Mapping[str, Any],
    *,
    base: str | os.PathLike[str] | None = None,
    label: str | None = None,
) -> Scenario:
    """Load and check a scenario: a path, a library name such as "x1_static", JSON text or bytes, or a mapping.

    A file of that name wins over the library. Paths inside are relative to the file's folder, or to `base`.

    Raises:
        InputError: with one line for every problem.
    """
    if isinstance(scenario, Mapping):
        label = label or "scenario"
        return _scenario(from_python(scenario, label), label, Path(base or "."))
    if isinstance(scenario, bytes | bytearray):
        label = label or "scenario"
        return _scenario(parse(bytes(scenario), label), label, Path(base or "."))
    name = os.fspath(scenario)
    if isinstance(scenario, str) and name.lstrip().startswith("{"):
        return load(name.encode("utf-8", "surrogatepass"), base=base, label=label)
    path = _found(name)
    label = label or escaped(name)
    return _scenario(parse(_contents(path, label), label), label, Path(base) if base else path.parent)


def load_stream(stream: Any, label: str = "standard input") -> Scenario:
    """A scenario from a binary stream; paths inside are relative to the current folder.

    Raises:
        InputError: with one line for every problem.
    """
    return _scenario(parse(read_bounded(stream, label), label), label, Path())


def names() -> list[str]:
    """The library's scenarios, by name."""
    return sorted(path.stem for path in LIBRARY.glob("*.json"))


def _found(name: str) -> Path:
    if os.path.lexists(name) if "\0" not in name else False:
        return Path(name)
    if name in names():
        return LIBRARY / f"{name}.json"
    close = difflib.get_close_matches(name, names(), 1) if len(name) <= 200 else []
    hint = f"; did you mean {quoted(close[0])}?" if close else ""
    raise InputError(
        f"{escaped(name[:200])}: given a path where no file is, expected a scenario file, a library name or -{hint}"
    )


def _contents(path: Path, label: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                size = os.fstat(stream.fileno()).st_size
                if size > 16 << 20:
                    raise InputError(f"{label}: given a file of {size} bytes, expected at most 16 MiB")
            return read_bounded(stream, label)
    except OSError as error:
        reason = (
            "a folder"
            if isinstance(error, IsADirectoryError)
            else f"a file that cannot be read ({error.strerror})"
        )
        raise InputError(f"{label}: given {reason}, expected a scenario file") from None


def _scenario(document: Document, label: str, base: Path) -> Scenario:
    raw = _checked(document, label)
    found: list[str] = []
    models: dict[str, RoundCost] = {}
    for name in ("cost", "estimate"):
        if raw[name] is not None:
            try:
                models[name] = build.cost_model(_fitted(raw[name], name, label, base))
            except InputError as error:
                found.extend(error.problems)
    if "trace" in raw:
        found.extend(_trace_file(raw["trace"]["path"], base, label))
    if found:
        raise InputError(found)
    changes = sorted(
        (build.ns(change["at"]), build.ns(change["live_at"]), change["seats"])
        for change in raw["capacity_changes"]
    )
    return Scenario(
        label=label,
        raw=raw,
        given=document.value,
        base=base,
        setup=build.setup(raw),
        cost=models["cost"],
        estimate=models.get("estimate", models["cost"]),
        capacity_changes=tuple(changes),
        until_ns=build.ns_or_none(raw["until"]),
    )


def _checked(document: Document, label: str) -> dict[str, Any]:
    """The filled document, or every problem that it has."""
    given = document.value
    schema_problems = list(itertools.islice(explain.problems(given, "scenario"), MOST_COUNTED))
    if not isinstance(given, dict):
        raise InputError(_lines([*document.problems, *schema_problems], label))
    raw = filled(_without(given, schema_problems) if schema_problems else given)
    rules_of_given = itertools.chain(rules.one_load(given), rules.lengths(given))
    cross = itertools.islice(itertools.chain(rules_of_given, rules.cross_field(raw)), MOST_COUNTED)
    found = [*document.problems, *schema_problems, *cross]
    if found:
        raise InputError(_lines(found, label))
    return raw


def _lines(problems: Iterable[Problem], label: str) -> list[str]:
    lines = list(dict.fromkeys(problem.line(label) for problem in problems))
    if len(lines) <= MOST_PROBLEMS:
        return lines
    more = f"{'at least ' if len(lines) >= MOST_COUNTED else ''}{len(lines) - MOST_PROBLEMS}"
    return [*lines[:MOST_PROBLEMS], f"{label}: and {more} more problems"]


def _without(given: dict[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """The document without the fields that the schema refused: the cross-field rules go over the rest."""
    rest = {key: copy.copy(value) for key, value in given.items()}
    for problem in problems:
        in_list = problem.path[:1] in (("requests",), ("capacity_changes",), ("faults",))
        *steps, last = problem.path[: 3 if in_list else 2] or ("",)
        where: Any = rest
        inner: Any
        for step in steps:
            inner = where.get(step) if isinstance(where, dict) else where[step]
            if not isinstance(inner, dict | list):
                break
            inner = where[step] = copy.copy(inner)
            where = inner
        else:
            if isinstance(where, list):
                where[int(last)] = None
            else:
                where.pop(last, None)
    return rest


def _seeded(document: dict[str, Any], seed: int) -> dict[str, Any]:
    loads: dict[str, Any] = {
        name: {**document[name], "seed": seed} for name in ("arrivals", "closed_loop") if name in document
    }
    return {**document, "seed": seed, **loads}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return float(value)
    return value


def _fitted(cost: dict[str, Any], name: str, label: str, base: Path) -> dict[str, Any]:
    """The fields of a cost model; those of kind `calibrated` come from its file."""
    if cost["kind"] != "calibrated":
        return cost
    path = base / cost["path"]
    inner = f"{label}: {name}.path: {quoted(cost['path'])}"
    if not path.exists():
        raise InputError(f"{inner}: given a path where no file is, expected a fitted model (labkit.cost/1)")
    document = parse(_contents(path, inner), inner)
    problems = [*document.problems, *explain.problems(document.value, "cost")]
    if problems:
        raise InputError(_lines(problems, inner))
    properties = explain.schema("cost")["properties"]
    fields: dict[str, Any] = {
        key: field["default"] for key, field in properties.items() if "default" in field
    }
    fields.update(document.value)
    for key in ("swap_bytes_per_second", "swap_fixed"):
        if cost[key] is not None:
            fields[key] = cost[key]
    problems = list(rules.cost_rules((), fields, 1))
    if problems:
        raise InputError(_lines(problems, inner))
    return fields


def _trace_file(name: str, base: Path, label: str) -> Iterator[str]:
    path = base / name
    given = f"{label}: trace.path: given {quoted(name)}"
    folder = "the scenario's folder" if base != Path() else "the current folder"
    try:
        mode = path.stat().st_mode
    except OSError:
        yield f"{given}, where no file is, expected a trace file (the path is relative to {folder})"
        return
    if not stat.S_ISREG(mode):
        yield f"{given}, a {'folder' if stat.S_ISDIR(mode) else 'special file'}, expected a trace file"
    elif not os.access(path, os.R_OK):
        yield f"{given}, which cannot be read, expected a readable file"
