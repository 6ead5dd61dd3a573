"""Who got how much: service by tenant in three units, Jain's index, bills (C24, C25, N16, N17).

Fairness by request, by token and by cost are three different things, and each needs its unit said beside it:
`UNITS` is that text. A tenant that sent a request counts in every index, also where it got nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from labkit.measure.fold import Measures

UNITS = {
    "requests": "one for each finished request, long or short",
    "tokens": "one for each position computed, prompt or output, again or not, whatever context it had to read",
    "output": "one for each output token emitted",
    "cost_positions": "seconds of each round, shared out by the positions that each request computed in it",
    "cost_seats": "seconds of each round, shared out equally by the requests that ran in it",
}


def jain(services: Sequence[int | Fraction]) -> Fraction | None:
    """Jain's index (Σx)²/(n·Σx²): 1 if all get the same, 1/n if one gets all; None if nobody gets anything."""
    squares = sum(x * x for x in services)
    return Fraction(sum(services) ** 2) / (len(services) * squares) if squares else None


@dataclass(frozen=True)
class Service:
    """What each tenant got in one unit, its share of all, and the index over tenants (divided by their weights)."""

    unit: str
    meaning: str
    amounts: dict[str, Fraction]
    total: Fraction
    jain: Fraction | None
    jain_weighted: Fraction | None

    def share(self, tenant: str) -> Fraction | None:
        """Its part of the total."""
        return self.amounts[tenant] / self.total if self.total else None


def services(fold: Measures) -> list[Service]:
    """Every unit, over the window. Weights are those of the journal's scenario, 1 where it names none."""
    weights = weights_of(fold)
    given: dict[str, dict[str, Fraction]] = {
        "requests": _exact(fold.work.finished_by),
        "tokens": _exact(fold.work.executed_by),
        "output": _exact(fold.work.generated_by),
        "cost_positions": fold.work.bill("positions"),
        "cost_seats": fold.work.bill("seats"),
    }
    out = []
    for unit, amounts in given.items():
        by = {tenant: amounts.get(tenant, Fraction(0)) for tenant in fold.tenants}
        weighted = [amount / weights[tenant] for tenant, amount in by.items()]
        total = sum(by.values(), Fraction(0))
        out.append(Service(unit, UNITS[unit], by, total, jain(list(by.values())), jain(weighted)))
    return out


def weights_of(fold: Measures) -> dict[str, Fraction]:
    """w of every tenant seen."""
    scenario = (fold.header or {}).get("scenario", {})
    named = scenario.get("tenants") or {}
    return {tenant: Fraction(str((named.get(tenant) or {}).get("weight", 1))) for tenant in fold.tenants}


def _exact(amounts: dict[str, int]) -> dict[str, Fraction]:
    return {tenant: Fraction(amount) for tenant, amount in amounts.items()}
