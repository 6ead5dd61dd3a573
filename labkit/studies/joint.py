"""The latency of two stages together: estimated directly, not by adding quantiles (N21, C19, footnote 2).

Wait W and service S = T − W of the same requests. What holds whatever the joint law: Pr(T > w + s) ≤ Pr(W > w) +
Pr(S > s), so that the sum of two p99.5 holds for 99 % (the union bound). What does not: that the sum of two p99 is
the p99 of the sum. In one run all of it can be counted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from labkit.core.types import NS_PER_SECOND
from labkit.measure.fold import Measures
from labkit.scenario.load import load
from labkit.scenario.run import stream


@dataclass(frozen=True)
class Joint:
    """Quantiles in s, exact, of n requests that finished; `share` is the one asked for, such as 99/100.

    `total`: of T itself. `added`: W's plus S's. `beyond`: the share of requests over `added`. `bound`: the same for a
    sum of the two quantiles at 1 − (1 − share)/2, which the union bound promises to be at most 1 − share;
    `bound_beyond` counts it.
    """

    share: Fraction
    n: int
    wait: Fraction
    service: Fraction
    total: Fraction
    added: Fraction
    beyond: Fraction
    bound: Fraction
    bound_beyond: Fraction
    correlation: float


def stages(scenario: str | os.PathLike[str] | Mapping[str, Any]) -> list[tuple[int, int]]:
    """(W, S) in ns of each request that finished: W = b − a to the first execution, S = c − b from there (C01)."""
    fold = Measures()
    stream(load(scenario), fold.feed)
    rows = (row for row in fold.close().requests if row.finished_at is not None)
    return [(row.admitted - row.sent, row.finished_at - row.admitted) for row in rows]  # type: ignore[operator]


def joint(pairs: Sequence[tuple[int, int]], share: Fraction = Fraction(99, 100)) -> Joint:
    """Both stages and their sum, counted (nearest rank: the ⌈share·n⌉-th smallest).

    Raises:
        ValueError: no request finished.
    """
    if not pairs:
        raise ValueError("pairs: given none, expected at least one request that finished")
    waits, services = sorted(w for w, _ in pairs), sorted(s for _, s in pairs)
    totals = sorted(w + s for w, s in pairs)
    added = _quantile(waits, share) + _quantile(services, share)
    half = 1 - (1 - share) / 2
    bound = _quantile(waits, half) + _quantile(services, half)
    return Joint(
        share=share,
        n=len(pairs),
        wait=_seconds(_quantile(waits, share)),
        service=_seconds(_quantile(services, share)),
        total=_seconds(_quantile(totals, share)),
        added=_seconds(added),
        beyond=Fraction(sum(total > added for total in totals), len(totals)),
        bound=_seconds(bound),
        bound_beyond=Fraction(sum(total > bound for total in totals), len(totals)),
        correlation=_correlation(pairs),
    )


def _quantile(ordered: Sequence[int], share: Fraction) -> int:
    rank = max(1, -(-share.numerator * len(ordered) // share.denominator))
    return ordered[rank - 1]


def _seconds(ns: int) -> Fraction:
    return Fraction(ns, NS_PER_SECOND)


def _correlation(pairs: Sequence[tuple[int, int]]) -> float:
    """Pearson's coefficient of W and S; 0 where one of them does not vary."""
    n, sum_w, sum_s = len(pairs), sum(w for w, _ in pairs), sum(s for _, s in pairs)
    both = n * sum(w * s for w, s in pairs) - sum_w * sum_s
    spread = (n * sum(w * w for w, _ in pairs) - sum_w**2) * (n * sum(s * s for _, s in pairs) - sum_s**2)
    return both / math.sqrt(spread) if spread else 0.0
