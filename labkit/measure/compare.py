"""C31's fairness checker: two runs may stand side by side if only the scheduling differs between them.

The same have to be: the model and what it costs, the arrivals (ids, times, prompt lengths, bounds, tenants,
deadlines), what clients do, and the end of the observation. Policy, budget, belief (`estimate`) and weights are
what one compares. Where lengths of answers are set by the file they have to be equal; where a real model chooses
them, shorter answers are named: they are no speed-up. Nothing is left out of either run: what was rejected, failed,
cancelled or timed out is counted and stays in the sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.core.types import Outcome
from labkit.measure.result import ENDS

Record = dict[str, Any]
ARRIVAL = (
    "t",
    "prompt_tokens",
    "max_output_tokens",
    "tenant",
    "priority",
    "deadline",
    "prefilled",
    "intended",
)
LOADS = ("arrivals", "trace", "closed_loop")
COMPARED = ("budget", "policy", "estimate", "tenants", "capacity_changes")
ROOM = frozenset({"pages", "page_tokens"})  # of an executor: what the budget sets
PLACE = frozenset({"path"})  # where a trace lies says nothing of what is in it; the arrivals do
MISSING = "nothing"


@dataclass(frozen=True)
class Difference:
    """One field in which two runs differ: what either has. `more`: so many further requests differ in it."""

    field: str
    first: str
    second: str
    more: int = 0


class Entrant:
    """What one run brings to a comparison: its header, its arrivals, how each request ended and how long it is.

    Feed it every line of the journal. Kept: a tuple a request.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.header: Record = {}
        self.arrivals: dict[str, tuple[Any, ...]] = {}
        self.admitted: set[str] = set()
        self.outcomes: dict[str, Outcome] = {}
        self.lengths: dict[str, int] = {}

    def feed(self, event: Record) -> None:
        """One line of the journal, in order."""
        kind = event.get("event")
        if kind is None:
            self.header = event
        elif kind == "submit":
            self.arrivals[event["id"]] = tuple(event.get(field) for field in ARRIVAL)
        elif kind == "admit":
            self.admitted.add(event["id"])
        elif kind == "token":
            self.lengths[event["id"]] = event["index"]
        elif kind in ENDS:
            self.outcomes[event["id"]] = ENDS[kind]

    @property
    def planned(self) -> int | None:
        """How many requests the scenario plans; None where only its trace knows."""
        scenario = self.header["scenario"]
        if "requests" in scenario:
            return len(scenario["requests"])
        load = scenario.get("arrivals") or scenario.get("closed_loop") or {}
        count: int | None = load.get("count")
        return count

    @property
    def counts(self) -> dict[str, int | None]:
        """Requests planned, submitted, admitted, and with each outcome; nobody is dropped."""
        ends = list(self.outcomes.values())
        by = {outcome.value: ends.count(outcome) for outcome in Outcome if outcome is not Outcome.UNFINISHED}
        return {
            "planned": self.planned,
            "submitted": len(self.arrivals),
            "admitted": len(self.admitted),
            **by,
            "unfinished": len(self.arrivals) - len(ends),
        }

    @property
    def real(self) -> bool:
        """A real model chose the lengths of the answers."""
        kind: str = self.header["executor"]["kind"]
        return kind != "virtual"


def unfair(first: Entrant, second: Entrant) -> list[Difference]:
    """What forbids to compare the two; empty if they may stand side by side."""
    one, two = first.header, second.header
    out = list(_fields("executor", _without(one["executor"], ROOM), _without(two["executor"], ROOM)))
    if first.real or second.real:
        out += _fields("seed", one["seed"], two["seed"])
    for field in ("cost", "until", *LOADS):
        a, b = one["scenario"].get(field), two["scenario"].get(field)
        out += _fields(field, *_shared_sizes(_without(a, PLACE), _without(b, PLACE)))
    out += _clients(one["scenario"], two["scenario"])
    out += _arrivals(first, second)
    if not first.real:
        out += _lengths(first, second)
    return out


def compared(first: Entrant, second: Entrant) -> list[Difference]:
    """What the comparison is about: fields of budget, policy, belief and weights in which the two differ."""
    one, two = first.header["scenario"], second.header["scenario"]
    return [d for field in COMPARED for d in _fields(field, one.get(field), two.get(field))]


def shorter(first: Entrant, second: Entrant) -> tuple[int, int]:
    """Of the requests that finished in both: how many answers are shorter in the second, by how many tokens in all."""
    cuts = [a - b for _, a, b in _both(first, second) if b < a]
    return len(cuts), sum(cuts)


def _both(first: Entrant, second: Entrant) -> Iterator[tuple[str, int, int]]:
    done = Outcome.FINISHED
    for name, outcome in first.outcomes.items():
        if outcome is done and second.outcomes.get(name) is done:
            yield name, first.lengths.get(name, 0), second.lengths.get(name, 0)


def _lengths(first: Entrant, second: Entrant) -> Iterator[Difference]:
    wrong = [(name, str(a), str(b)) for name, a, b in _both(first, second) if a != b]
    yield from _of_requests("answer_tokens", wrong)


def _arrivals(first: Entrant, second: Entrant) -> Iterator[Difference]:
    a, b = first.arrivals, second.arrivals
    only = [(name, "submitted", MISSING) for name in a if name not in b]
    only += [(name, MISSING, "submitted") for name in b if name not in a]
    yield from _of_requests("submitted", only)
    closed = "closed_loop" in first.header["scenario"]  # there the answers set the next arrivals' times (C30)
    for place, field in enumerate(ARRIVAL):
        if closed and field in ("t", "intended"):
            continue
        pairs = ((name, a[name][place], b[name][place]) for name in a if name in b)
        yield from _of_requests(field, [(name, _said(x), _said(y)) for name, x, y in pairs if x != y])


def _clients(one: Mapping[str, Any], two: Mapping[str, Any]) -> Iterator[Difference]:
    """Prefixes, readers, cancellations: fields of listed requests that no `submit` tells."""
    if "requests" not in one or "requests" not in two:
        return
    others = {request["id"]: request for request in two["requests"]}
    told = {"id", "arrival", *ARRIVAL}
    wrong: dict[str, list[tuple[str, str, str]]] = {}
    for request in one["requests"]:
        other = others.get(request["id"], request)
        for field in dict.fromkeys([*request, *other]):
            if field not in told and request.get(field) != other.get(field):
                found = (request["id"], _said(request.get(field)), _said(other.get(field)))
                wrong.setdefault(field, []).append(found)
    for field, found_all in wrong.items():
        yield from _of_requests(field, found_all)


def _of_requests(field: str, wrong: Sequence[tuple[str, str, str]]) -> Iterator[Difference]:
    if wrong:
        name, first, second = wrong[0]
        yield Difference(f"requests[{name}].{field}", first, second, len(wrong) - 1)


def _fields(path: str, one: Any, two: Any) -> Iterable[Difference]:
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        for key in dict.fromkeys([*one, *two]):
            yield from _fields(f"{path}.{key}", one.get(key), two.get(key))
    elif one != two:
        yield Difference(path, _said(one), _said(two))


def _shared_sizes(one: Any, two: Any) -> tuple[Any, Any]:
    """A cost table names every batch size up to the seats: where one run has more, the sizes of both are compared."""
    if not (_is_table(one) and _is_table(two)):
        return one, two
    both = one["seconds"].keys() & two["seconds"].keys()
    first, second = (
        {**table, "seconds": {size: table["seconds"][size] for size in both}} for table in (one, two)
    )
    return first, second


def _is_table(cost: Any) -> bool:
    return isinstance(cost, Mapping) and cost.get("kind") == "table"


def _without(value: Any, fields: frozenset[str]) -> Any:
    return {k: v for k, v in value.items() if k not in fields} if isinstance(value, Mapping) else value


def _said(value: Any) -> str:
    text = MISSING if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
