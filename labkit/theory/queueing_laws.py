"""Laws of gaps between arrivals and of service times, with what the exact results and the samplers ask of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]
PIECE = 16_384  # draws at a time: what they need in between stays in the nearest cache


@dataclass(frozen=True)
class Law:
    """A law on positive times: mean in s and squared coefficient of variation (variance/mean^2).

    `draw(rng, shape)`: independent times. `residual(rng, shape)`: of the equilibrium law, density
    Pr(S > x)/E[S], which is what is left of a service that a random instant falls into; a residual of S is a
    uniform part of a length-biased S. `transform(s)` = E[exp(-s S)], None where it has no closed form.
    """

    name: str
    mean: float
    scv: float
    draw: Draw
    residual: Draw
    transform: Callable[[float], float] | None = None

    @property
    def memoryless(self) -> bool:
        """Whether it is the exponential law."""
        return self.name == "exponential"


def generator(*seed: int) -> np.random.Generator:
    """The generator of a seed (and a replication's number): SFC64, numpy's fastest, on a `SeedSequence`."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))


def standard_exponential(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """-log U with U = (k + 1/2)/2^32 in single precision: twice as fast as numpy's own.

    Each value differs from an exponential one by less than 1e-7 of max(1, itself), and none is over 22.9, which an
    exponential one exceeds with probability 1.2e-10. Two draws take one word of `rng`, which must have 64 bits.
    """
    if isinstance(rng.bit_generator, np.random.MT19937):
        raise ValueError(
            "rng: given MT19937, whose words have 32 bits, expected 64: generator(seed) makes one"
        )
    drawn = np.empty(shape)
    flat = drawn.reshape(-1)
    for first in range(0, flat.size, PIECE):
        piece = flat[first : first + PIECE]
        words = rng.bit_generator.random_raw((piece.size + 1) // 2).view(np.uint32)[: piece.size]
        unit = words.astype(np.float32)
        unit += np.float32(0.5)
        unit *= np.float32(2.0**-32)
        np.log(unit, out=unit)
        np.negative(unit, out=piece)
    return drawn


def _mean(mean: float) -> None:
    if not (math.isfinite(mean) and mean > 0):
        raise ValueError(f"mean: given {mean!r}, expected a finite number of seconds over 0")


def exponential(mean: float) -> Law:
    """Exponential: memoryless, c^2 = 1."""
    _mean(mean)

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        drawn = standard_exponential(rng, shape)
        drawn *= mean
        return drawn

    return Law("exponential", mean, 1.0, draw, draw, lambda s: 1 / (1 + s * mean))


def deterministic(mean: float) -> Law:
    """Always `mean`: c^2 = 0."""
    _mean(mean)
    return Law(
        "deterministic", mean, 0.0,
        lambda rng, shape: np.full(shape, mean),
        lambda rng, shape: mean * rng.random(shape),
        lambda s: math.exp(-s * mean),
    )  # fmt: skip


def gamma(mean: float, scv: float) -> Law:
    """Gamma with c^2 = `scv` > 0: Erlang-k at 1/k, bursty over 1."""
    _mean(mean)
    if not (math.isfinite(scv) and scv > 0):
        raise ValueError(f"scv: given {scv!r}, expected a finite number over 0")
    shape_, scale = 1 / scv, mean * scv
    return Law(
        "gamma", mean, scv,
        lambda rng, shape: rng.gamma(shape_, scale, shape),
        lambda rng, shape: rng.random(shape) * rng.gamma(shape_ + 1, scale, shape),
        lambda s: (1 + s * scale) ** -shape_,
    )  # fmt: skip


def hyperexponential(mean: float, scv: float) -> Law:
    """Two exponential phases with balanced means and c^2 = `scv` >= 1: many short times, few long ones."""
    _mean(mean)
    if not (math.isfinite(scv) and scv >= 1):
        raise ValueError(f"scv: given {scv!r}, expected a finite number of at least 1")
    p = (1 + math.sqrt((scv - 1) / (scv + 1))) / 2
    short, long = mean / (2 * p), mean / (2 * (1 - p))  # each phase carries half of the mean

    def phases(chance: float) -> Draw:
        def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
            scale = np.where(rng.random(shape) < chance, short, long)
            drawn: Floats = standard_exponential(rng, shape) * scale
            return drawn

        return draw

    return Law(
        "hyperexponential", mean, scv, phases(p), phases(0.5),
        lambda s: p / (1 + s * short) + (1 - p) / (1 + s * long),
    )  # fmt: skip


def lognormal(mean: float, scv: float) -> Law:
    """Lognormal with c^2 = `scv` > 0: all moments, but a tail heavier than any exponential."""
    _mean(mean)
    if not (math.isfinite(scv) and scv > 0):
        raise ValueError(f"scv: given {scv!r}, expected a finite number over 0")
    variance = math.log1p(scv)
    centre, sigma = math.log(mean) - variance / 2, math.sqrt(variance)
    return Law(
        "lognormal", mean, scv,
        lambda rng, shape: rng.lognormal(centre, sigma, shape),
        lambda rng, shape: rng.random(shape) * rng.lognormal(centre + variance, sigma, shape),
    )  # fmt: skip


def pareto(mean: float, exponent: float) -> Law:
    """Pareto, Pr(S > x) = (x_m/x)^exponent; `exponent` over 2, so that the variance exists."""
    _mean(mean)
    if not (math.isfinite(exponent) and exponent > 2):
        raise ValueError(f"exponent: given {exponent!r}, expected a finite number over 2")
    least = mean * (exponent - 1) / exponent

    def powers(a: float) -> Draw:
        return lambda rng, shape: least * (1 - rng.random(shape)) ** (-1 / a)

    biased = powers(exponent - 1)
    return Law(
        "pareto", mean, 1 / (exponent * (exponent - 2)), powers(exponent),
        lambda rng, shape: rng.random(shape) * biased(rng, shape),
    )  # fmt: skip


def geometric(mean: float, step: float) -> Law:
    """`step` times 1, 2, 3, ... geometric: what an engine with rounds of `step` s makes of memoryless work."""
    _mean(mean)
    if not 0 < step < mean:
        raise ValueError(f"step: given {step!r}, expected a number between 0 and the mean {mean:g}")
    p = step / mean

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return rng.geometric(p, shape) * step

    def residual(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        drawn: Floats = (rng.geometric(p, shape) - 1 + rng.random(shape)) * step
        return drawn

    return Law(
        "geometric", mean, 1 - p, draw, residual,
        lambda s: p * math.exp(-s * step) / (1 - (1 - p) * math.exp(-s * step)),
    )  # fmt: skip
