"""Recompute or swap: where the cheaper one changes, and what moves that point (C27)."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from random import Random

import sympy as sp

from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Number, Point, plus, power, times
from labkit.theory.rules import Evaluate, Given, Rearrange, Solve, Substitute
from labkit.theory.rules_calculus import Differentiate
from labkit.theory.symbols import Quantity, positive

N = positive("n")
PER_TOKEN, BYTES, LINK, SYNC = positive("r"), positive(r"\beta"), positive("b"), positive("C_s")
RECOMPUTE, SWAP = sp.Function("C_r", positive=True), sp.Function("C_w", positive=True)
EVEN = positive("n^*")
SHARE, HIDDEN, BUSY = positive("k"), positive(r"\phi"), positive("o")
SHIFTED = sp.Function("n^*", positive=True)


def _points(draw: Random) -> Point:
    link = Fraction(draw.randint(20, 60))
    bytes_, share = Fraction(draw.randint(1, 4)), Fraction(draw.randint(2, 6), 2)
    hidden, busy = Fraction(draw.randint(1, 9), 10), Fraction(draw.randint(1, 5), 50)
    return {
        BYTES: bytes_,
        LINK: link,
        SYNC: Fraction(draw.randint(1, 9), 2),
        SHARE: share,
        HIDDEN: hidden,
        BUSY: busy,
        PER_TOKEN: 2 * bytes_ * max(share, Fraction(1)) / link + busy + Fraction(draw.randint(1, 9), 10),
        N: Fraction(draw.randint(1, 40)),
    }


def _transfer(at: At, n: Number, share: Number = 1, hidden: Number = 0) -> Number:
    """Seconds that a victim's bytes hold the device up, out and back in, position by position."""
    whole, part = divmod(Fraction(n), 1)
    one = at[BYTES] / (at[LINK] / share) * (1 - hidden)
    return sum((one for _ in range(2 * int(whole))), Fraction(0)) + 2 * part * one


def _crossing(at: At, share: Number, hidden: Number, busy: Number) -> Number:
    """Where the two costs, walked position by position, meet: from their difference at two victims' sizes."""

    def dearer(n: int) -> Number:
        recompute = times(at[PER_TOKEN], n)
        moved = times(times(2 * n * at[BYTES] / at[LINK], share), plus(1, times(-1, hidden)))
        return plus(recompute, times(-1, plus(plus(moved, at[SYNC]), times(busy, n))))

    few, many = dearer(10), dearer(30)
    slope = plus(many, times(-1, few))
    return plus(30, times(-20, times(many, power(slope, -1))))


VICTIM_Q = (
    Quantity(N, "context", "受害者的位置数", "positions of the victim"),
    Quantity(PER_TOKEN, "per_token", "每个位置的重算时间", "seconds to recompute a position", "s"),
    Quantity(BYTES, "bytes_per_token", "每个位置的字节数", "bytes of a position", "B"),
    Quantity(LINK, "swap_bytes_per_second", "有效传输带宽", "bandwidth of the link", "B/s"),
    Quantity(SYNC, "swap_fixed", "同步成本", "cost of synchronising", "s"),
)


@cache
def crossover() -> Derivation:
    """C27: C_r against 2m/b + C_s for a victim of n positions: swap pays beyond n* = C_s/(r − 2β/b).

    r seconds a position to recompute, β bytes a position, m = βn. Source: chapter 31.6.
    """
    asked = {PER_TOKEN: sp.Rational(1, 1000), BYTES: 65536, LINK: 655_360_000, SYNC: sp.Rational(32, 1000)}
    return derivation(
        "crossover",
        "C27",
        step("recompute", Given(), RECOMPUTE(N), PER_TOKEN * N),
        step("swap", Given(), SWAP(N), 2 * BYTES * N / LINK + SYNC),
        step("even", Given(), RECOMPUTE(EVEN), SWAP(EVEN)),
        step(
            "costs",
            Substitute(using=("recompute", "swap"), at={"recompute": {N: EVEN}, "swap": {N: EVEN}}),
            PER_TOKEN * EVEN,
            2 * BYTES * EVEN / LINK + SYNC,
        ),
        step("crossover", Solve(), EVEN, SYNC / (PER_TOKEN - 2 * BYTES / LINK)),
        step("asked", Evaluate(values=asked), EVEN, 40),
        quantities=(
            *VICTIM_Q,
            Quantity(RECOMPUTE, "recompute", "重算成本", "cost of recomputing", "s"),
            Quantity(SWAP, "swap", "换出并换入的成本", "cost of swapping out and in", "s"),
            Quantity(EVEN, "cheapest", "两者相等处的位置数", "positions at which both cost the same"),
        ),
        points=_points,
        source="C27",
        assume={PER_TOKEN: 2 * BYTES / LINK + positive("e")},
        meanings={
            RECOMPUTE: lambda at, n: at[PER_TOKEN] * n,
            SWAP: lambda at, n: _transfer(at, n) + at[SYNC],
            EVEN: lambda at: _crossing(at, 1, 0, 0),
        },
    )


@cache
def crossover_shift() -> Derivation:
    """C27: what moves the crossover: k users of the link, a hidden share φ, o seconds a position on return.

    n* = C_s/(r − 2βk(1−φ)/b − o): it grows with k and o and falls with φ. Source: chapter 31.6.
    """
    moved = SHIFTED(SHARE, HIDDEN, BUSY)
    crowded = PER_TOKEN - 2 * BYTES * SHARE * (1 - HIDDEN) / LINK - BUSY
    burden = 2 * BYTES * SHARE * (1 - HIDDEN) / LINK * moved + SYNC + BUSY * moved
    plain = PER_TOKEN - 2 * BYTES / LINK
    return derivation(
        "crossover_shift",
        "C27",
        step("burdened", Given(), PER_TOKEN * moved, burden),
        step("shifted", Rearrange(factor=1 / crowded), moved, SYNC / crowded),
        step(
            "contention",
            Differentiate(by=SHARE),
            sp.Derivative(moved, SHARE),
            2 * BYTES * (1 - HIDDEN) / LINK * SYNC / crowded**2,
        ),
        step(
            "overlap",
            Differentiate(of="shifted", by=HIDDEN),
            sp.Derivative(moved, HIDDEN),
            -2 * BYTES * SHARE / LINK * SYNC / crowded**2,
        ),
        step("return", Differentiate(of="shifted", by=BUSY), sp.Derivative(moved, BUSY), SYNC / crowded**2),
        step(
            "alone",
            Evaluate(of="shifted", values={SHARE: 1, HIDDEN: 0, BUSY: 0}),
            SHIFTED(1, 0, 0),
            SYNC / plain,
        ),
        quantities=(
            *VICTIM_Q,
            Quantity(SHARE, "contention", "同时使用链路的个数", "users of the link"),
            Quantity(
                HIDDEN, "overlap", "被其他计算遮住的传输份额", "share of the transfer hidden by other work"
            ),
            Quantity(
                BUSY,
                "return_seconds",
                "恢复时每个位置占用设备的时间",
                "device time a position on return",
                "s",
            ),
            Quantity(
                SHIFTED, "cheapest", "此时两者相等处的位置数", "positions at which both then cost the same"
            ),
        ),
        points=_points,
        source="C27",
        meanings={SHIFTED: _crossing},
        assume={PER_TOKEN: 2 * BYTES * SHARE / LINK + BUSY + positive("e"), HIDDEN: 1 / (1 + positive("f"))},
    )
