"""Random gaps and lengths, each from one uniform number by the inverse of its law (but for the gamma law).

The streams are `random.Random` alone, whose `getrandbits` is the same on every platform and version. One
number a request means that two loads with the same seed and different laws are coupled: the i-th length is
long in both or in neither, so that comparisons are less noisy (common random numbers).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

MOST_TOKENS = 2**24  # far over any model's context; longer draws of a long tail are cut to it
_NORMAL = NormalDist()
_BITS = 52


def stream(*names: object) -> random.Random:
    """A generator of its own for each tuple of names (seed, purpose, …): changing one leaves the others
    alone.
    """
    return random.Random("/".join(map(str, names)))


def unit(rng: random.Random) -> float:
    """Uniform on the open interval (0, 1), so that both logarithms of it exist."""
    return (rng.getrandbits(_BITS) + 0.5) / (1 << _BITS)


def exponential(rng: random.Random) -> float:
    """Exponential with mean 1."""
    return -math.log(unit(rng))


def gamma(rng: random.Random, shape: float) -> float:
    """Gamma with mean 1 and the given shape; coefficient of variation 1/√shape, so a small shape is bursty.

    Marsaglia and Tsang's rejection (2000) with normals by inversion; shape 1 is the exponential law, number
    for number. Below 1 the draw for `shape + 1` is multiplied by U^(1/shape).
    """
    if shape == 1:
        return exponential(rng)
    boost = 1.0
    base = shape
    if shape < 1:
        boost = unit(rng) ** (1 / shape)
        base = shape + 1
    d = base - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = _NORMAL.inv_cdf(unit(rng))
        v = (1 + c * x) ** 3
        if v > 0 and math.log(unit(rng)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v * boost / shape


class LengthLaw(Protocol):
    """A law of prompt or output lengths, in tokens, at least 1."""

    def draw(self, rng: random.Random) -> int:
        """One length."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always `value` tokens."""

    value: int

    def draw(self, rng: random.Random) -> int:
        """`value`; takes no number from the stream."""
        return self.value


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every length from `low` to `high`, both included, equally likely."""

    low: int
    high: int

    def draw(self, rng: random.Random) -> int:
        """One length."""
        return self.low + min(int(unit(rng) * (self.high - self.low + 1)), self.high - self.low)


@dataclass(frozen=True, slots=True)
class Geometric:
    """1, 2, 3, … with the given mean: the memoryless law of lengths."""

    mean: float

    def draw(self, rng: random.Random) -> int:
        """One length: 1 + ⌊log U / log(1 − 1/mean)⌋."""
        u = unit(rng)
        if self.mean <= 1:
            return 1
        return min(1 + int(math.log(u) / math.log1p(-1 / self.mean)), MOST_TOKENS)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """median·exp(sigma·Z), rounded to whole tokens, at least 1: the long tail of real lengths."""

    median: float
    sigma: float

    def draw(self, rng: random.Random) -> int:
        """One length, half-even rounded."""
        value = self.median * math.exp(self.sigma * _NORMAL.inv_cdf(unit(rng)))
        return max(1, round(min(value, MOST_TOKENS)))
