"""A server that works in rounds: K seats, every round takes as long, each busy seat ends with probability p at its end.

This is what a batching engine makes of Poisson arrivals and geometric outputs (C18). It is no M/M/1 of rate
mu = K p/round: work of one request is never done faster than one seat does it. The law is exact up to a truncation
that leaves out 1e-10 of the probability.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from labkit.theory.queueing import positive, quantile
from labkit.theory.queueing_laws import Floats

NEGLIGIBLE = 1e-10
_NODES, _WEIGHTS = (array / 2 for array in np.polynomial.legendre.leggauss(10))


@dataclass
class SeatRounds:
    """FCFS into `seats` seats at round starts; `mean_rounds` = 1/p rounds of `round_seconds` for each request.

    A request that finds no one starts a round at once; any other waits for the round in progress to end.

    Raises:
        ValueError: a figure is out of range, or lambda >= K p/round, where no stationary law exists.
    """

    arrival_rate: float
    seats: int = 32
    round_seconds: float = 0.01
    mean_rounds: float = 32.0
    _stays: list[Floats] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive(arrival_rate=self.arrival_rate, round_seconds=self.round_seconds)
        if self.seats != int(self.seats) or self.seats < 1:
            raise ValueError(f"seats: given {self.seats!r}, expected a whole number of at least 1")
        if not (math.isfinite(self.mean_rounds) and self.mean_rounds > 1):
            raise ValueError(f"mean_rounds: given {self.mean_rounds!r}, expected a finite number over 1")
        if self.arrival_rate >= self.capacity:
            raise ValueError(
                f"arrival_rate: given {self.arrival_rate:g}/s where {self.capacity:g}/s can be served, expected less"
            )

    @property
    def capacity(self) -> float:
        """K p/round: requests a second with every seat busy, the 'mu' of an offline measurement."""
        return self.seats / (self.mean_rounds * self.round_seconds)

    @property
    def chance(self) -> float:
        """p: that a request ends in a given round."""
        return 1 / self.mean_rounds

    @property
    def arrivals_a_round(self) -> float:
        """lambda times the round."""
        return self.arrival_rate * self.round_seconds

    @functools.cached_property
    def states(self) -> Floats:
        """How many are in the system when a round is planned, 0 first: the stationary law of the chain
        N' = N - Bin(min(N, K), p) + Poisson(lambda round), where 0 counts as 1, since the next arrival starts a round.
        """
        size = self.seats + 2 + math.ceil(-math.log(NEGLIGIBLE) / self._decay())
        return _stationary(self._moves(size), self.seats)

    def _moves(self, size: int) -> Floats:
        """[n][K + d]: the chance to go from n to n + d in a round, d >= -K; what would leave the last state stays."""
        come = _poisson(self.arrivals_a_round, self._most_before)
        band = np.zeros((size, self.seats + come.size + 1))
        for n in range(size):
            stay = self._stay(max(n, 1))
            after = np.convolve(stay, come)
            first = max(n, 1) - stay.size + 1
            fits = min(after.size, size - first)
            after[fits - 1] += after[fits:].sum()
            at = first - n + self.seats
            band[n, at : at + fits] = after[:fits]
        return band

    @property
    def idle_share(self) -> float:
        """The share of requests that find the system empty."""
        empty = float(self.states[0])
        return empty / (empty + self.arrivals_a_round)

    @property
    def mean_sojourn(self) -> float:
        """E[T] in s: half a round, the rounds without a seat, and 1/p rounds with one."""
        leave = self._leave(self.seats)
        waits = np.zeros(self._ahead.size + self._most_before)
        for ahead in range(self.seats, waits.size):
            least = max(ahead - self.seats, 0)
            reached = waits[least:ahead][::-1]
            waits[ahead] = (1 + leave[1 : reached.size + 1] @ reached) / (1 - leave[0])
        before = self._before(0.0, 1.0)
        seatless = sum(
            share * (self._ahead @ waits[j : j + self._ahead.size]) for j, share in enumerate(before)
        )
        busy = 1 - self.idle_share
        return self.round_seconds * (self.mean_rounds + busy * (0.5 + float(seatless)))

    def sojourn_tail(self, t: float) -> float:
        """Pr(T > t), t in s.

        With t = (m + f) rounds: who comes in the last f of a round must stay m rounds after it, others m - 1.
        """
        rounds = max(t, 0.0) / self.round_seconds
        whole = math.floor(rounds)
        late = rounds - whole
        before = self._before(0.0, 1 - late)
        early = before @ self._stay_over(whole - 1) if whole else before.sum()
        rest = self._before(1 - late, 1.0) @ self._stay_over(whole)
        idle = self.idle_share
        return float(idle * (1 - self.chance) ** whole + (1 - idle) * (early + rest))

    def sojourn_quantile(self, p: float) -> float:
        """The p-quantile of T in s."""
        return quantile(self.sojourn_tail, p, self.mean_rounds * self.round_seconds)

    @functools.cached_property
    def _ahead(self) -> Floats:
        """How many of a round's members and those who wait are still there after it."""
        found = np.zeros(self.states.size)
        for n, share in enumerate(self.states):
            stay = self._stay(max(n, 1))
            first = max(n, 1) - stay.size + 1
            found[first : first + stay.size] += share * stay
        return found

    def _stay_over(self, rounds: int) -> Floats:
        """[j]: the chance to stay over so many rounds after the next plan, j requests having come earlier in our
        round.
        """
        ahead, leave = self._ahead, self._leave(self.seats)
        while len(self._stays) <= rounds:
            stays = [ahead @ self._chances[j : j + ahead.size] for j in range(self._most_before + 1)]
            self._stays.append(np.array(stays))
            moved = np.convolve(self._chances, leave)[: self._chances.size]  # fewer are ahead after a round
            moved[: self.seats] = (1 - self.chance) ** len(self._stays)
            self._chances = moved
        return self._stays[rounds]

    @functools.cached_property
    def _chances(self) -> Floats:
        """By how many are ahead: the chance to stay over as many rounds as `_stays` has entries."""
        return np.ones(self._ahead.size + self._most_before)

    @property
    def _most_before(self) -> int:
        """So many come earlier in the same round with probability below 1e-10."""
        return math.ceil(self.arrivals_a_round + 8 * math.sqrt(self.arrivals_a_round) + 12)

    def _before(self, low: float, high: float) -> Floats:
        """Integral over u from `low` to `high` of Pr(j come before u in a round), j = 0, 1, ..., by Gauss's rule."""
        found = np.zeros(self._most_before + 1)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            u = low + (high - low) * (0.5 + node)
            if u > 0:
                found += (high - low) * weight * _poisson(self.arrivals_a_round * u, found.size)
        return found

    def _leave(self, n: int) -> Floats:
        """Pr(k of n seats end), k = 0 ... n."""
        p = self.chance
        return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])

    def _stay(self, n: int) -> Floats:
        """Pr(n - k remain of n), ascending in what remains, k at most the seats that are busy."""
        return self._leave(min(n, self.seats))[::-1]

    def _decay(self) -> float:
        """theta > 0 with E[exp(theta (Poisson - Bin(K, p)))] = 1: Pr(N > n) falls as exp(-theta n)."""
        p, k, rate = self.chance, self.seats, self.arrivals_a_round

        def drift(theta: float) -> float:
            return rate * math.expm1(theta) + k * math.log1p(p * math.expm1(-theta))

        low, high = 0.0, 1e-6
        while drift(high) < 0:
            low, high = high, 2 * high
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if drift(middle) < 0 else (low, middle)
        return high


def _poisson(mean: float, size: int) -> Floats:
    """Pr(n), n = 0 ... size - 1."""
    n = np.arange(size)
    chances: Floats = np.exp(n * math.log(mean) - mean - np.array([math.lgamma(x + 1) for x in n]))
    return chances


def _stationary(band: Floats, down: int) -> Floats:
    """The stationary law of a chain whose moves lie in a band, by state reduction: it subtracts nothing, so it loses
    no digits. Grassmann, Taksar and Heyman (1985). `band` is used up.
    """
    size, width = band.shape
    up = width - down - 1
    for n in range(size - 1, 0, -1):
        low, high = max(0, n - down), max(0, n - up)
        leave = band[n, low - n + down : down]  # to states low ... n - 1
        rows = np.arange(high, n)
        band[rows, n - rows + down] /= leave.sum()
        into = band[rows, n - rows + down]
        band[rows[:, None], np.arange(low, n) - rows[:, None] + down] += np.outer(into, leave)
    found = np.zeros(size)
    found[0] = 1.0
    for n in range(1, size):
        rows = np.arange(max(0, n - up), n)
        found[n] = found[rows] @ band[rows, n - rows + down]
    found /= found.sum()
    return found
