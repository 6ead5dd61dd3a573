"""Exact laws of M/M/1, as the chapter derives it (E31.9-13), and of M/M/c beyond it.

Rates are per second, times are seconds, quantile levels are numbers between 0 and 1. T is the sojourn (wait and
service), Wq the wait. Each model answers the same questions, so that a page can set one beside another; general
laws of gaps and services are in `queueing_general`, other orders of service in `queueing_orders`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


def positive(**given: float) -> None:
    """Raise ValueError unless every value is a finite number over 0."""
    for name, value in given.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name}: given {value!r}, expected a finite number over 0")


def level(p: float) -> None:
    """Raise ValueError unless 0 < p < 1."""
    if not 0 < p < 1:
        raise ValueError(f"p: given {p!r}, expected a level between 0 and 1, such as 0.99")


def load(arrival_rate: float, service_rate: float, servers: int = 1) -> float:
    """rho = lambda/(c mu).

    Raises:
        ValueError: a rate is not positive, `servers` is below 1, or rho >= 1, where no stationary law exists.
    """
    positive(arrival_rate=arrival_rate, service_rate=service_rate)
    if servers != int(servers) or servers < 1:
        raise ValueError(f"servers: given {servers!r}, expected a whole number of at least 1")
    rho = arrival_rate / (servers * service_rate)
    if rho >= 1:
        raise ValueError(
            f"arrival_rate: given {arrival_rate:g}/s where {servers} x {service_rate:g}/s can be served, "
            "expected less: at rho >= 1 the queue grows without end and has no stationary law"
        )
    return rho


def quantile(tail: Callable[[float], float], p: float, scale: float) -> float:
    """The least t >= 0 with tail(t) <= 1 - p, by bisection to 1e-12 of itself; `scale`: a first guess."""
    level(p)
    if tail(0.0) <= 1 - p:
        return 0.0
    low, high = 0.0, scale
    while tail(high) > 1 - p:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 1 - p else (low, middle)
    return high


@dataclass(frozen=True)
class MM1:
    """M/M/1 with FCFS: E31.9-13. rho = lambda/mu < 1, else ValueError."""

    arrival_rate: float
    service_rate: float

    def __post_init__(self) -> None:
        load(self.arrival_rate, self.service_rate)

    @property
    def utilisation(self) -> float:
        """rho = lambda/mu: the share of time that the server works."""
        return self.arrival_rate / self.service_rate

    def state(self, n: int) -> float:
        """pi_n = (1 - rho) rho^n: n requests in the system (E31.9)."""
        return (1 - self.utilisation) * self.utilisation**n

    @property
    def mean_customers(self) -> float:
        """E[N] = rho/(1 - rho) requests (E31.9)."""
        return self.utilisation / (1 - self.utilisation)

    @property
    def mean_sojourn(self) -> float:
        """E[T] = 1/(mu - lambda) in s (E31.10); its slope in lambda is its square (N07)."""
        return 1 / (self.service_rate - self.arrival_rate)

    @property
    def mean_wait(self) -> float:
        """E[Wq] = rho/(mu - lambda) in s (E31.10)."""
        return self.utilisation * self.mean_sojourn

    def sojourn_tail(self, t: float) -> float:
        """Pr(T > t) = exp(-(mu - lambda) t) (E31.13)."""
        return math.exp(-(self.service_rate - self.arrival_rate) * max(t, 0.0))

    def wait_tail(self, t: float) -> float:
        """Pr(Wq > t) = rho exp(-(mu - lambda) t) for t >= 0: an atom 1 - rho at 0, no exponential law."""
        return 1.0 if t < 0 else self.utilisation * self.sojourn_tail(t)

    def sojourn_quantile(self, p: float) -> float:
        """t_p = log(1/(1 - p))/(mu - lambda) in s (E31.13)."""
        level(p)
        return -math.log1p(-p) * self.mean_sojourn

    def wait_quantile(self, p: float) -> float:
        """log(rho/(1 - p))/(mu - lambda) in s, and 0 up to p = 1 - rho."""
        level(p)
        return max(0.0, math.log(self.utilisation / (1 - p))) * self.mean_sojourn


@dataclass(frozen=True)
class MMc:
    """M/M/c with FCFS: c servers of rate mu each. Erlang (1917); Kleinrock, Queueing Systems I, 3.5."""

    arrival_rate: float
    service_rate: float
    servers: int

    def __post_init__(self) -> None:
        load(self.arrival_rate, self.service_rate, self.servers)

    @property
    def utilisation(self) -> float:
        """rho = lambda/(c mu)."""
        return self.arrival_rate / (self.servers * self.service_rate)

    @property
    def wait_probability(self) -> float:
        """Erlang C from Erlang B: C = B/(1 - rho (1 - B))."""
        blocked = erlang_b(self.arrival_rate / self.service_rate, self.servers)
        return blocked / (1 - self.utilisation * (1 - blocked))

    @property
    def drain(self) -> float:
        """c mu - lambda, the rate of a positive wait, per second."""
        return self.servers * self.service_rate - self.arrival_rate

    @property
    def mean_wait(self) -> float:
        """E[Wq] = C/(c mu - lambda) in s."""
        return self.wait_probability / self.drain

    @property
    def mean_sojourn(self) -> float:
        """E[T] = E[Wq] + 1/mu in s."""
        return self.mean_wait + 1 / self.service_rate

    def wait_tail(self, t: float) -> float:
        """Pr(Wq > t) = C exp(-(c mu - lambda) t) for t >= 0."""
        return 1.0 if t < 0 else self.wait_probability * math.exp(-self.drain * t)

    def sojourn_tail(self, t: float) -> float:
        """Pr(T > t): the convolution of the wait's law with the service's; one formula also where they meet.

        Pr(T > t) = e^(-mu t) + C mu (e^(-mu t) - e^(-theta t))/(theta - mu) with theta = c mu - lambda, and
        e^(-mu t) (1 + C mu t) where theta = mu.
        """
        t = max(t, 0.0)
        mu, gap = self.service_rate, abs(self.drain - self.service_rate)
        grown = t if gap == 0 else -math.expm1(-gap * t) / gap
        both = math.exp(-min(mu, self.drain) * t) * grown
        return math.exp(-mu * t) + self.wait_probability * mu * both

    def wait_quantile(self, p: float) -> float:
        """log(C/(1 - p))/(c mu - lambda) in s, 0 up to p = 1 - C."""
        level(p)
        excess = self.wait_probability / (1 - p)
        return math.log(excess) / self.drain if excess > 1 else 0.0

    def sojourn_quantile(self, p: float) -> float:
        """The p-quantile of T in s, by bisection."""
        return quantile(self.sojourn_tail, p, self.mean_sojourn)


def erlang_b(offered: float, servers: int) -> float:
    """Erlang B, the loss of M/G/c/c: B_0 = 1, B_n = a B_(n-1)/(n + a B_(n-1)); a = lambda/mu is `offered`.

    Raises:
        ValueError: `offered` is not positive, or `servers` no whole number of at least 0.
    """
    positive(offered=offered)
    if servers != int(servers) or servers < 0:
        raise ValueError(f"servers: given {servers!r}, expected a whole number of at least 0")
    blocked = 1.0
    for n in range(1, int(servers) + 1):
        blocked = offered * blocked / (n + offered * blocked)
    return blocked


def transient_waits(arrival_rate: float, service_rate: float, customers: int) -> list[float]:
    """E[Wq] in s of each of the first `customers` of M/M/1 from empty, for any rho: what rho >= 1 means.

    Spitzer (1956): E[W_n] = sum_(k <= n) E[U_k^+]/k, U_k the sum of k services less that of k gaps. Of k services
    j end before k gaps do with a negative binomial probability, and those left take (k - j)/mu.
    """
    positive(arrival_rate=arrival_rate, service_rate=service_rate)
    served = service_rate / (arrival_rate + service_rate)
    log_gamma = np.array([math.lgamma(n) if n else 0.0 for n in range(2 * customers + 1)])
    waits = [0.0]
    for k in range(1, customers):
        j = np.arange(k)
        log_chance = (
            log_gamma[k + j]
            - log_gamma[j + 1]
            - log_gamma[k]
            + j * math.log(served)
            + k * math.log1p(-served)
        )
        left = float(np.exp(log_chance) @ (k - j)) / service_rate
        waits.append(waits[-1] + left / k)
    return waits
