"""Exact laws where FCFS, endless room or endless patience is given up; services stay exponential.

The time that one request spends is how long a small Markov chain lives: its state is the number of others that
matter, and `Lifetime` computes the law of such a lifetime by uniformisation, to a stated error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from labkit.theory.queueing import MM1, erlang_b, load, positive, quantile
from labkit.theory.queueing_laws import Floats

NEGLIGIBLE = 1e-12  # probability that a truncation may leave out
MOST_STATES = 100_000


@dataclass
class Lifetime:
    """How long a birth-death chain on 0, 1, ..., n - 1 lives until it is absorbed.

    `start`: probability of each state at time 0. `up`, `down`, `out`: rates per second to the next state, to the
    one before, and out of the chain (all of length n; up from the last and down from 0 are 0). Uniformisation
    (Jensen 1953): Pr(life > t) = sum_k e^(-L t) (L t)^k/k! Pr(alive after k jumps); what the sum leaves out is
    at most 1e-12.
    """

    start: Floats
    up: Floats
    down: Floats
    out: Floats
    _alive: list[float] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._rate = float(np.max(self.up + self.down + self.out))
        self._now = self.start.copy()

    def _alive_after(self, jumps: int) -> Floats:
        while len(self._alive) <= jumps:
            self._alive.append(float(self._now.sum()))
            moved = self._now * (1 - (self.up + self.down + self.out) / self._rate)
            moved[1:] += (self._now * self.up)[:-1] / self._rate
            moved[:-1] += (self._now * self.down)[1:] / self._rate
            self._now = moved
        return np.array(self._alive[: jumps + 1])

    def tail(self, t: float) -> float:
        """Pr(life > t), t in s."""
        jumps = self._rate * max(t, 0.0)
        spread = 8 * math.sqrt(jumps) + 40
        first, last = max(0, int(jumps - spread)), int(jumps + spread)
        alive = self._alive_after(last)[first:]
        k = np.arange(first, last + 1)
        log_factorial = np.array([math.lgamma(x + 1) for x in k])
        weight = np.exp(k * math.log(jumps) - jumps - log_factorial) if jumps else (k == 0).astype(float)
        return float(weight @ alive)

    @property
    def mean(self) -> float:
        """E[life] in s: that from state n solves (up + down + out) m_n = 1 + up m_(n+1) + down m_(n-1).

        From the last state down, m_n = told_n + part_n m_(n-1): Thomas's algorithm, a few numbers a state in memory.
        """
        told, part = [0.0], [0.0]  # of state n + 1
        for up, down, out in zip(self.up[::-1], self.down[::-1], self.out[::-1], strict=True):
            leave = up * (1 - part[-1]) + down + out
            told.append((1 + up * told[-1]) / leave)
            part.append(down / leave)
        mean = life = 0.0
        for share, alone, before in zip(self.start, told[:0:-1], part[:0:-1], strict=True):
            life = alone + before * life
            mean += share * life
        return float(mean)

    def quantile(self, p: float) -> float:
        """The p-quantile in s."""
        return quantile(self.tail, p, self.mean)


def _states(rho: float) -> int:
    """So many states that a geometric number with ratio `rho` exceeds them with probability 1e-12."""
    return 2 + int(math.log(NEGLIGIBLE) / math.log(rho))


def processor_sharing(arrival_rate: float, service_rate: float) -> Lifetime:
    """The law of T in M/M/1 under processor sharing. Coffman, Muntz, Trotter (1970).

    State: how many others share the server. An arrival finds n with probability (1 - rho) rho^n, as under FCFS
    (E31.9), so the mean is 1/(mu - lambda) too (E31.10); E31.11-13 do not hold.
    """
    rho = load(arrival_rate, service_rate)
    n = np.arange(2 * _states(rho))  # more others may come while it is there
    start = (1 - rho) * rho**n
    up = np.full(n.size, arrival_rate)
    up[-1] = 0.0
    return Lifetime(start, up, service_rate * n / (n + 1), service_rate / (n + 1))


@dataclass(frozen=True)
class LastComeFirstServed:
    """M/M/1 where the latest arrival goes next, without interrupting. Kleinrock, Queueing Systems II, 3.

    Who finds the server busy waits a busy period: the rest of the service, and all who come meanwhile. Means are
    those of FCFS, the tail is not.
    """

    arrival_rate: float
    service_rate: float

    def __post_init__(self) -> None:
        load(self.arrival_rate, self.service_rate)

    def _line(self, start: Floats) -> Lifetime:
        """State: services that must end before ours, and last our own (state 0)."""
        n = np.arange(start.size)
        up = np.where(n > 0, self.arrival_rate, 0.0)
        up[-1] = 0.0
        down = np.where(n > 0, self.service_rate, 0.0)
        return Lifetime(start, up, down, np.where(n > 0, 0.0, self.service_rate))

    @property
    def sojourn(self) -> Lifetime:
        """The law of T = Wq + S."""
        rho = self.arrival_rate / self.service_rate
        start = np.zeros(2 * _states(rho))
        start[:2] = 1 - rho, rho
        return self._line(start)

    @property
    def mean_sojourn(self) -> float:
        """E[T] = 1/(mu - lambda) in s, as under FCFS."""
        return MM1(self.arrival_rate, self.service_rate).mean_sojourn


@dataclass(frozen=True)
class TwoClasses:
    """M/M/1 with two classes, the first goes before the second, without interruption. Cobham (1954)."""

    first_rate: float
    second_rate: float
    service_rate: float

    def __post_init__(self) -> None:
        positive(first_rate=self.first_rate, second_rate=self.second_rate)
        load(self.first_rate + self.second_rate, self.service_rate)

    @property
    def mean_waits(self) -> tuple[float, float]:
        """E[Wq] of each class in s: W_0/(1 - rho_1) and W_0/((1 - rho_1)(1 - rho)), W_0 = rho/mu."""
        first = 1 - self.first_rate / self.service_rate
        rho = (self.first_rate + self.second_rate) / self.service_rate
        residual = rho / self.service_rate
        return residual / first, residual / (first * (1 - rho))


@dataclass(frozen=True)
class FiniteRoom:
    """M/M/1/K with FCFS: at most K = `room` requests in the system, others are lost. Any rho, also over 1."""

    arrival_rate: float
    service_rate: float
    room: int

    def __post_init__(self) -> None:
        positive(arrival_rate=self.arrival_rate, service_rate=self.service_rate)
        if self.room != int(self.room) or self.room < 1:
            raise ValueError(f"room: given {self.room!r}, expected a whole number of at least 1")

    @property
    def states(self) -> Floats:
        """pi_n, n = 0 ... K: rho^n, normalised."""
        rho = self.arrival_rate / self.service_rate
        n = np.arange(self.room + 1)
        weight: Floats = rho ** (n if rho <= 1 else n - self.room)
        weight /= weight.sum()
        return weight

    @property
    def loss(self) -> float:
        """pi_K: the share of requests that are turned away (PASTA)."""
        return float(self.states[-1])

    @property
    def sojourn(self) -> Lifetime:
        """The law of T of those who are let in: n + 1 services, n as an accepted arrival finds it."""
        seen = self.states[:-1] / (1 - self.loss)
        n = np.arange(self.room)
        mu = self.service_rate
        return Lifetime(seen, np.zeros(self.room), np.where(n > 0, mu, 0.0), np.where(n > 0, 0.0, mu))


def losses(mean_customers: float, rooms: Iterable[int]) -> list[tuple[int, float, float]]:
    """N06: what two queues with the same mean number in the system, without a limit, lose at each limit.

    One is M/M/1 with rho/(1 - rho) = `mean_customers` (E31.9), the other has a server for everyone, so that their
    number is Poisson and the loss Erlang's B. Rows: room, share lost by the first, by the second.
    """
    positive(mean_customers=mean_customers)
    rho = mean_customers / (1 + mean_customers)
    return [(room, FiniteRoom(rho, 1.0, room).loss, erlang_b(mean_customers, room)) for room in rooms]


@dataclass(frozen=True)
class Patience:
    """M/M/1+M with FCFS: who has waited an exponential time of mean `patience` s leaves. Palm (1957). Any rho."""

    arrival_rate: float
    service_rate: float
    patience: float

    def __post_init__(self) -> None:
        positive(arrival_rate=self.arrival_rate, service_rate=self.service_rate, patience=self.patience)

    @property
    def states(self) -> Floats:
        """pi_n: births lambda, deaths mu + (n - 1)/patience; cut where the rest is below 1e-12."""
        weights, greatest = [1.0], 1.0
        while len(weights) < 2 or weights[-1] > NEGLIGIBLE * greatest:
            death = self.service_rate + (len(weights) - 1) / self.patience
            weights.append(weights[-1] * self.arrival_rate / death)
            greatest = max(greatest, weights[-1])
            if len(weights) > MOST_STATES or math.isinf(greatest):
                raise ValueError(
                    f"patience: given {self.patience!r} s, which lets the queue grow too long; expected less"
                )
        return np.array(weights) / math.fsum(weights)

    @property
    def abandonment(self) -> float:
        """The share that leaves unserved: sum of (n - 1) pi_n over n > 1, the mean number that waits, a patience.

        1 - mu (1 - pi_0)/lambda is the same, but loses its digits where nearly all are served.
        """
        waiting = np.maximum(np.arange(self.states.size) - 1, 0)
        return float(waiting @ self.states) / (self.patience * self.arrival_rate)

    @property
    def served(self) -> Lifetime:
        """The law of T of those who are served.

        With n before it a request is served with probability mu/(mu + n/patience), the product of its chances to
        outlast each departure; given that, the step from n to n - 1 has rate mu + n/patience.
        """
        n = np.arange(self.states.size)
        down = self.service_rate + n / self.patience
        start = self.states * self.service_rate / down
        none = np.zeros(n.size)
        return Lifetime(
            start / start.sum(), none, np.where(n > 0, down, 0.0), np.where(n > 0, 0.0, self.service_rate)
        )
