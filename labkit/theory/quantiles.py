"""Quantiles that intervals are made of: Student's t and the beta distribution, through mpmath."""

from __future__ import annotations

import functools


@functools.cache
def student_quantile(p: float, freedom: int) -> float:
    """The p-quantile, 1/2 ≤ p < 1, of Student's t with `freedom` degrees of freedom.

    Beyond 1,000 by its expansion about the normal quantile (Abramowitz and Stegun 26.7.5), to a relative 10⁻⁸.
    Raises ValueError out of these ranges.
    """
    import mpmath

    if not 0.5 <= p < 1 or freedom < 1:
        raise ValueError(
            f"given p = {p!r} and {freedom!r} degrees of freedom, expected 1/2 <= p < 1 and at least 1"
        )
    if p == 0.5:
        return 0.0
    if freedom > 1000:
        x = float(mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1))
        return x + (x**3 + x) / (4 * freedom) + (5 * x**5 + 16 * x**3 + 3 * x) / (96 * freedom**2)
    # Pr(|t| > x) = I_z(ν/2, 1/2) at z = ν/(ν + x²)
    z = beta_quantile(2 * (1 - p), freedom / 2, 1 / 2)
    return float(mpmath.sqrt(freedom * (1 - z) / mpmath.mpf(z)))


@functools.cache
def beta_quantile(p: float, a: float, b: float) -> float:
    """The p-quantile of the beta distribution, by halving: its function is monotone and mpmath has no inverse."""
    import mpmath

    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        if mpmath.betainc(a, b, 0, middle, regularized=True) < p:
            low = middle
        else:
            high = middle
    return high
