"""One server with general services (M/G/1, M/D/1) or general gaps (GI/M/1), and what bounds and approximates GI/G/c.

Rates are per second, times seconds. Where only an approximation or a bound is known, the name says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath

from labkit.theory.queueing import MMc, level, load, quantile
from labkit.theory.queueing_laws import Law


@dataclass(frozen=True)
class MG1:
    """M/G/1 with FCFS, its means by Pollaczek and Khinchine (1930, 1932); any law of services with a variance."""

    arrival_rate: float
    service: Law

    def __post_init__(self) -> None:
        load(self.arrival_rate, 1 / self.service.mean)

    @property
    def utilisation(self) -> float:
        """rho = lambda E[S]."""
        return self.arrival_rate * self.service.mean

    @property
    def mean_wait(self) -> float:
        """E[Wq] = lambda E[S^2]/(2 (1 - rho)) = rho/(1 - rho) E[S] (1 + c_s^2)/2 in s."""
        rho = self.utilisation
        return rho / (1 - rho) * self.service.mean * (1 + self.service.scv) / 2

    @property
    def mean_sojourn(self) -> float:
        """E[T] = E[Wq] + E[S] in s."""
        return self.mean_wait + self.service.mean

    @property
    def mean_customers(self) -> float:
        """E[N] = lambda E[T] (E31.8)."""
        return self.arrival_rate * self.mean_sojourn


@dataclass(frozen=True)
class MD1:
    """M/D/1 with FCFS: every service takes 1/mu. Erlang (1909)."""

    arrival_rate: float
    service_rate: float

    def __post_init__(self) -> None:
        load(self.arrival_rate, self.service_rate)

    @property
    def mean_wait(self) -> float:
        """E[Wq] = rho/(2 (mu - lambda)) in s: half of M/M/1's."""
        return self.arrival_rate / self.service_rate / (2 * (self.service_rate - self.arrival_rate))

    @property
    def mean_sojourn(self) -> float:
        """E[T] = E[Wq] + 1/mu in s."""
        return self.mean_wait + 1 / self.service_rate

    def wait_tail(self, t: float) -> float:
        """Pr(Wq <= t) = (1 - rho) sum_(k <= mu t) (lambda (k/mu - t))^k/k! e^(-lambda (k/mu - t)).

        The terms alternate and cancel, so they are added with as many digits as the largest of them needs.
        """
        if t < 0:
            return 1.0
        rho, last = self.arrival_rate / self.service_rate, math.floor(self.service_rate * t)
        with mpmath.workdps(30 + int(1.2 * self.arrival_rate * t)):
            exact_t, rate = mpmath.mpf(t), mpmath.mpf(self.arrival_rate)
            x = [rate * (k / mpmath.mpf(self.service_rate) - exact_t) for k in range(last + 1)]
            below = mpmath.fsum(v**k / mpmath.factorial(k) * mpmath.exp(-v) for k, v in enumerate(x))
            return float(1 - (1 - mpmath.mpf(rho)) * below)

    def sojourn_tail(self, t: float) -> float:
        """Pr(T > t) = Pr(Wq > t - 1/mu)."""
        return self.wait_tail(t - 1 / self.service_rate)

    def wait_quantile(self, p: float) -> float:
        """The p-quantile of Wq in s, by bisection."""
        return quantile(self.wait_tail, p, self.mean_sojourn)

    def sojourn_quantile(self, p: float) -> float:
        """The p-quantile of T in s: that of Wq and one service."""
        return self.wait_quantile(p) + 1 / self.service_rate


@dataclass(frozen=True)
class GIM1:
    """GI/M/1 with FCFS: any independent gaps, exponential services. Kendall (1953); Kleinrock I, 6.4.

    An arrival finds n before it with probability (1 - sigma) sigma^n, where sigma < 1 solves
    sigma = E[exp(-mu (1 - sigma) A)]. For Poisson arrivals sigma = rho.
    """

    gap: Law
    service_rate: float

    def __post_init__(self) -> None:
        load(1 / self.gap.mean, self.service_rate)
        if self.gap.transform is None:
            raise ValueError(f"gap: given {self.gap.name}, expected a law whose Laplace transform is known")

    @property
    def sigma(self) -> float:
        """The root below 1: the iteration from 0 climbs to it."""
        assert self.gap.transform is not None
        low, high = 0.0, 1.0 - 1e-12
        for _ in range(200):
            middle = (low + high) / 2
            above = self.gap.transform(self.service_rate * (1 - middle)) > middle
            low, high = (middle, high) if above else (low, middle)
        return low

    @property
    def drain(self) -> float:
        """mu (1 - sigma), per second: the rate of T, and of a positive Wq."""
        return self.service_rate * (1 - self.sigma)

    @property
    def mean_sojourn(self) -> float:
        """E[T] = 1/(mu (1 - sigma)) in s."""
        return 1 / self.drain

    @property
    def mean_wait(self) -> float:
        """E[Wq] = sigma/(mu (1 - sigma)) in s."""
        return self.sigma / self.drain

    def sojourn_tail(self, t: float) -> float:
        """Pr(T > t) = exp(-mu (1 - sigma) t)."""
        return math.exp(-self.drain * max(t, 0.0))

    def wait_tail(self, t: float) -> float:
        """Pr(Wq > t) = sigma exp(-mu (1 - sigma) t) for t >= 0."""
        return 1.0 if t < 0 else self.sigma * self.sojourn_tail(t)

    def sojourn_quantile(self, p: float) -> float:
        """log(1/(1 - p))/(mu (1 - sigma)) in s."""
        level(p)
        return -math.log1p(-p) / self.drain


def kingman_approximation(gap: Law, service: Law, servers: int = 1) -> float:
    """E[Wq] of GI/G/c in s, an approximation: (c_a^2 + c_s^2)/2 times the M/M/c value of the same rates.

    Kingman (1961) for one server, exact for M/G/1 and as rho goes to 1; Allen and Cunneen for several.
    """
    queue = MMc(1 / gap.mean, 1 / service.mean, servers)
    return (gap.scv + service.scv) / 2 * queue.mean_wait


def kingman_bound(gap: Law, service: Law) -> float:
    """An upper bound of E[Wq] of GI/G/1 in s: lambda (Var A + Var S)/(2 (1 - rho)). Kingman (1962)."""
    rho = load(1 / gap.mean, 1 / service.mean)
    variance = gap.scv * gap.mean**2 + service.scv * service.mean**2
    return variance / (2 * gap.mean * (1 - rho))
