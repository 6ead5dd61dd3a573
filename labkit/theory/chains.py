"""Independent numbers for the queueing derivations: chains solved by linear algebra, no formula of the chapter used.

All are plain floats (numpy), truncated where what is cut off is far below the tolerance of a check.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
CUT = 1e-14


def _levels(load: float) -> int:
    """How many numbers of requests to keep so that the rest has a probability under 10⁻¹⁴ at this utilisation."""
    return min(math.ceil(math.log(CUT) / math.log(load)) + 10, 900)


def stationary(rates: Floats) -> Floats:
    """The stationary law of a chain from its rates (or probabilities) of change; the diagonal is not looked at.

    By taking out one state after the other (Grassmann, Taksar and Heyman 1985): nothing is subtracted, so small
    probabilities are as exact as large ones.
    """
    left = rates.copy()
    for last in range(len(left) - 1, 0, -1):
        into, out = np.flatnonzero(left[:last, last]), np.flatnonzero(left[last, :last])
        left[into, last] /= left[last, out].sum()
        left[np.ix_(into, out)] += np.outer(left[into, last], left[last, out])
    law = np.zeros(len(left))
    law[0] = 1.0
    for state in range(1, len(left)):
        law[state] = law[:state] @ left[:state, state]
    return law / law.sum()


@lru_cache(maxsize=64)
def number_inside(arrival_rate: float, service_rate: float, servers: int = 1) -> Floats:
    """Stationary law of the number inside M/M/c, from its whole generator."""
    size = _levels(arrival_rate / (servers * service_rate)) + servers
    generator = np.zeros((size, size))
    for n in range(size):
        if n + 1 < size:
            generator[n, n + 1] = arrival_rate
        if n:
            generator[n, n - 1] = service_rate * min(n, servers)
    return stationary(generator)


@lru_cache(maxsize=64)
def seen_by_arrivals(arrival_rate: float, service_rate: float) -> Floats:
    """Stationary law of what arrivals to M/M/1 find: the chain from one arrival to the next.

    Before the next arrival each departure comes first with probability μ/(λ+μ), so from n + 1 inside k leave with
    probability (μ/(λ+μ))^k · λ/(λ+μ), and all of them with what is left.
    """
    size = _levels(arrival_rate / service_rate)
    leave = service_rate / (arrival_rate + service_rate)
    powers = leave ** np.arange(size + 2)
    step = np.zeros((size, size))
    for n in range(size):
        inside = min(n + 1, size - 1)
        step[n, inside - np.arange(inside)] = powers[:inside] * (1 - leave)
        step[n, 0] = powers[inside]
    return stationary(step)


def still_there(arrival_rate: float, service_rate: float, times: Floats | float, own: int = 1) -> Floats:
    """Pr(T > t) (own=1) or Pr(Wq > t) (own=0) of M/M/1, FCFS: n found, and fewer than n + own services end by t.

    Services that end by t are counted as a Poisson number of mean μt.
    """
    found = seen_by_arrivals(arrival_rate, service_rate)
    below = np.cumsum(_poisson(service_rate * np.asarray(times, dtype=float), len(found)), axis=-1)
    if own == 0:
        found, below = found[1:], below[..., :-1]
    return np.asarray(below @ found)


def ends_now(arrival_rate: float, service_rate: float, times: Floats | float, own: int = 1) -> Floats:
    """The density of T (own=1) or of Wq above 0 (own=0) at t: all but one have ended, and a service ends now."""
    found = seen_by_arrivals(arrival_rate, service_rate)[1 - own :]
    return np.asarray(
        service_rate * _poisson(service_rate * np.asarray(times, dtype=float), len(found)) @ found
    )


def _poisson(means: Floats, size: int) -> Floats:
    """Pr(Poisson(mean) = n) for n = 0 … size − 1, along a new last axis."""
    counts = np.arange(size)
    factorials = np.cumsum(np.log(np.maximum(counts, 1)))
    positive = np.maximum(means, 1e-300)[..., None]
    return np.asarray(np.exp(counts * np.log(positive) - positive - factorials))


@lru_cache(maxsize=64)
def two_phase(arrival_rate: float, rates: tuple[float, float], first: float) -> tuple[float, float, float]:
    """M/G/1 whose service is exponential with one of two rates: mean number waiting, utilisation, mean residual.

    The states are empty, and (number inside, rate of the one in service). The residual is the mean remaining service
    of the request found in service at a random moment, given that there is one.
    """
    chances = (first, 1 - first)
    size = 100  # at loads up to a half what lies beyond is far below the tolerance
    generator = np.zeros((1 + 2 * size, 1 + 2 * size))
    for phase in (0, 1):
        generator[0, 1 + phase] = arrival_rate * chances[phase]
        for n in range(1, size + 1):
            here = 1 + 2 * (n - 1) + phase
            if n < size:
                generator[here, here + 2] = arrival_rate
            if n == 1:
                generator[here, 0] = rates[phase]
            else:
                for other in (0, 1):
                    generator[here, 1 + 2 * (n - 2) + other] += rates[phase] * chances[other]
    law = stationary(generator)
    inside = law[1:].reshape(size, 2)
    waiting = float((np.arange(size) * inside.sum(axis=1)).sum())
    busy = inside.sum(axis=0)
    return waiting, float(busy.sum()), float(busy @ (1 / np.array(rates)) / busy.sum())


def two_stages_tail(first: float, second: float, t: float) -> float:
    """Pr(X + Y > t) of two independent exponential stages: a chain of two states, watched at Poisson moments."""
    fastest = max(first, second)
    weights = _poisson(np.asarray(fastest * t), int(fastest * t + 12 * math.sqrt(fastest * t + 1) + 40))
    state, total = np.array([1.0, 0.0]), 0.0
    step = np.array([[1 - first / fastest, first / fastest], [0.0, 1 - second / fastest]])
    for weight in weights:
        total += float(weight * state.sum())
        state = state @ step
    return total


def waits_many(arrival_rate: float, service_rate: float, servers: int, times: Floats | float) -> Floats:
    """Pr(Wq > t) of M/M/c, FCFS: n ≥ c found, and at most n − c of the services at rate cμ end by t."""
    law = number_inside(arrival_rate, service_rate, servers)[servers:]
    means = servers * service_rate * np.asarray(times, dtype=float)
    return np.asarray(np.cumsum(_poisson(means, len(law)), axis=-1) @ law)


def waits_now(arrival_rate: float, service_rate: float, servers: int, t: float) -> float:
    """The density of Wq at t > 0 of M/M/c: n − c services have ended by t, and the next ends now."""
    law = number_inside(arrival_rate, service_rate, servers)[servers:]
    rate = servers * service_rate
    return float(rate * _poisson(np.asarray(rate * t), len(law)) @ law)


def laplace(tail: Callable[[Floats], Floats], z: float) -> float:
    """E[exp(−zX); X > 0] of a time X ≥ 0 from its tail: Pr(X > 0) − z∫exp(−zt)·Pr(X > t)dt, by Gauss–Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = 40 / z * np.concatenate([[0.0], 0.5 ** np.arange(10, -1, -1)])
    low, high = edges[:-1, None], edges[1:, None]
    times = (low + high) / 2 + (high - low) / 2 * nodes
    area = float(((high - low) / 2 * weights * np.exp(-z * times) * tail(times)).sum())
    return float(tail(np.asarray(0.0))) - z * area
