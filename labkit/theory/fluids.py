"""Fluid arithmetic: an output buffer fills and drains (C21, Q31.10), a burst leaves a backlog (C22).

Their points are checked against a tank that is filled and emptied in small exact steps.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from random import Random

import sympy as sp

from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Number, Point
from labkit.theory.rules import Evaluate, Given, Rearrange, Rewrite, Solve, Substitute
from labkit.theory.rules_calculus import Antiderivative
from labkit.theory.symbols import Quantity, positive

T, X = positive("t"), positive("x")


def _tank(
    start: Fraction, rate: Callable[[Fraction], Fraction], until: Fraction, step_: Fraction
) -> Fraction:
    """The level after `until`, in steps that no change of rate cuts."""
    level, now = start, Fraction(0)
    while now < until:
        width = min(step_, until - now)
        level, now = level + rate(now) * width, now + width
    return level


def _when(start: Fraction, rate: Fraction, target: Fraction, step_: Fraction) -> Fraction:
    """When the level passes the target: steps until it has, then back along the last one."""
    level, now = start, Fraction(0)
    while (level < target) if rate > 0 else (level > target):
        level, now = level + rate * step_, now + step_
    return now - (level - target) / rate


# ---------------------------------------------------------------- output buffer

FAST, SLOW, ROOM = positive("r_g"), positive("r_c"), positive("H_b")
SURPLUS = positive("g")
LEVEL, ROUND = sp.Function("B", nonnegative=True), positive(r"\tau")
FILL, DRAIN, MARK, OVER = (
    positive(r"t_{\mathrm{fill}}"),
    positive(r"t_{\mathrm{drain}}"),
    positive("h"),
    positive("o"),
)


def _buffer(draw: Random) -> Point:
    slow = Fraction(draw.randint(1, 12), 2)
    fast = slow + Fraction(draw.randint(1, 12), 2)
    return {
        FAST: fast,
        SLOW: slow,
        ROOM: fast + Fraction(draw.randint(1, 60)),
        T: Fraction(draw.randint(1, 20), 4),
        ROUND: Fraction(draw.randint(1, 4), 4),
    }


@cache
def buffer() -> Derivation:
    """C21: an empty buffer fills in H_b/(r_g − r_c), a full one drains in H_b/r_c; the high-water mark.

    64 KiB, 12 and 4 KiB/s: 8 s and 16 s. Generation can stop only between rounds: paused exactly at the top it
    overflows by (r_g − r_c)·τ, so the mark lies that much lower. Source: chapter 31.5, Q31.10.
    """
    eighth = Fraction(1, 8)

    def level(at: At, t: Number) -> Fraction:
        return _tank(Fraction(0), lambda _: at[FAST] - at[SLOW], Fraction(t), eighth)

    def over(at: At) -> Fraction:
        """Full at the start of a round whose tokens can no longer be stopped: what does not fit at its end."""
        end = _tank(at[ROOM], lambda _: at[FAST] - at[SLOW], at[ROUND], eighth)
        return end - at[ROOM]

    def mark(at: At) -> Fraction:
        """The highest level, by bisection, from which a round ends inside the buffer."""
        low, high = Fraction(0), Fraction(at[ROOM])
        for _ in range(60):
            middle = (low + high) / 2
            fits = _tank(middle, lambda _: at[FAST] - at[SLOW], at[ROUND], eighth) <= at[ROOM]
            low, high = (middle, high) if fits else (low, middle)
        return high

    net = FAST - SLOW
    asked = {ROOM: 64, FAST: 12, SLOW: 4}
    quarter = sp.Rational(1, 4)
    return derivation(
        "buffer",
        "C21",
        step("level", Given(), LEVEL(T), sp.Integral(net, (X, 0, T))),
        step("line", Antiderivative(f=net * X), LEVEL(T), net * T),
        step("at_full", Evaluate(values={T: FILL}), LEVEL(FILL), net * FILL),
        step("full", Given(), LEVEL(FILL), ROOM),
        step("equal", Substitute(of="at_full", using=("full",)), ROOM, net * FILL),
        step("fill", Solve(), FILL, ROOM / net),
        step("fill_asked", Evaluate(values=asked), FILL, 8),
        step("empty", Given(), 0, ROOM - SLOW * DRAIN),
        step("drain", Solve(), DRAIN, ROOM / SLOW),
        step("drain_asked", Evaluate(values=asked), DRAIN, 16),
        step("overflow", Given(), ROOM + OVER, ROOM + net * ROUND),
        step("over", Rearrange(), OVER, net * ROUND),
        step("margin", Given(), MARK + OVER, ROOM),
        step("put", Substitute(using=("over",)), MARK + net * ROUND, ROOM),
        step("mark", Solve(), MARK, ROOM - net * ROUND),
        step("mark_asked", Evaluate(values={**asked, ROUND: quarter}), MARK, 62),
        quantities=(
            Quantity(T, "seconds", "时间", "time", "s"),
            Quantity(FAST, "tokens_per_second", "生成速率", "rate of generation", "KiB/s"),
            Quantity(SLOW, "tokens_per_second", "消费速率", "rate of the reader", "KiB/s"),
            Quantity(ROOM, "buffer_tokens", "缓冲容量", "capacity of the buffer", "KiB"),
            Quantity(LEVEL, "backlog", "t 时刻的积压", "backlog at t", "KiB"),
            Quantity(FILL, "seconds", "填满时间", "time to fill", "s"),
            Quantity(DRAIN, "seconds", "排空时间", "time to drain", "s"),
            Quantity(
                ROUND,
                "seconds",
                "轮时：在途的一轮停不下来",
                "round time: a round in flight cannot be stopped",
                "s",
            ),
            Quantity(OVER, "backlog", "满时才暂停的溢出量", "overflow when paused only at the top", "KiB"),
            Quantity(MARK, "high_water", "高水位", "high-water mark", "KiB"),
        ),
        points=_buffer,
        source="C21, Q31.10",
        assume={FAST: SLOW + SURPLUS},
        meanings={
            LEVEL: level,
            OVER: over,
            MARK: mark,
            FILL: lambda at: _when(Fraction(0), at[FAST] - at[SLOW], at[ROOM], eighth),
            DRAIN: lambda at: _when(at[ROOM], -at[SLOW], Fraction(0), eighth),
        },
    )


# ---------------------------------------------------------------- burst

IN_BURST, OUT, AFTER, MORE = (
    positive(r"\lambda_b"),
    positive(r"\mu_b"),
    positive(r"\lambda_0"),
    positive(r"\mu_1"),
)
LENGTH, DELAY = positive(r"\tau"), positive("d")
BACKLOG, CLEAR, LATE = positive("Q"), positive(r"t_{\mathrm{clear}}"), positive("Q_d")


@cache
def burst() -> Derivation:
    """C22: a burst adds (λ_b − μ_b)·τ; how long it takes to clear; capacity ordered at its start but live d later.

    A device that is still loading serves nothing: μ_1 counts only from d on, so the order takes off (μ_1 − μ_b)(τ − d)
    and nothing of the first d seconds. Source: chapter 31.5. Fluid: no randomness.
    """
    eighth = Fraction(1, 8)

    def points(draw: Random) -> Point:
        out = Fraction(draw.randint(8, 20))
        length = Fraction(draw.randint(8, 40), 4)
        more = out + draw.randint(1, 6)
        return {
            OUT: out,
            MORE: more,
            IN_BURST: more + draw.randint(1, 9),
            AFTER: out - Fraction(draw.randint(1, 7)),
            LENGTH: length,
            DELAY: length * Fraction(draw.randint(1, 7), 8),
        }

    def late(at: At) -> Fraction:
        waiting = _tank(Fraction(0), lambda _: at[IN_BURST] - at[OUT], at[DELAY], eighth)
        return _tank(waiting, lambda _: at[IN_BURST] - at[MORE], at[LENGTH] - at[DELAY], eighth)

    def backlog(at: At) -> Fraction:
        return _tank(Fraction(0), lambda _: at[IN_BURST] - at[OUT], at[LENGTH], eighth)

    asked = {IN_BURST: 30, OUT: 20, LENGTH: 6, AFTER: 15, MORE: 25, DELAY: 4}
    from_then = sp.Integral(IN_BURST - MORE, (T, DELAY, LENGTH))
    first = (IN_BURST - OUT) * DELAY
    gained = (MORE - OUT) * (LENGTH - DELAY)
    return derivation(
        "burst",
        "C22",
        step("growth", Given(), BACKLOG, sp.Integral(IN_BURST - OUT, (X, 0, LENGTH))),
        step("backlog", Antiderivative(f=(IN_BURST - OUT) * X), BACKLOG, (IN_BURST - OUT) * LENGTH),
        step("backlog_asked", Evaluate(values=asked), BACKLOG, 60),
        step("emptied", Given(), BACKLOG, (OUT - AFTER) * CLEAR),
        step("equal", Substitute(using=("backlog",)), (IN_BURST - OUT) * LENGTH, (OUT - AFTER) * CLEAR),
        step("clear", Solve(), CLEAR, (IN_BURST - OUT) * LENGTH / (OUT - AFTER)),
        step("clear_asked", Evaluate(values=asked), CLEAR, 12),
        step("loading", Given(), LATE, first + from_then),
        step(
            "live",
            Antiderivative(f=(IN_BURST - MORE) * T),
            LATE,
            first + (IN_BURST - MORE) * (LENGTH - DELAY),
        ),
        step("saved", Rewrite(), LATE, (IN_BURST - OUT) * LENGTH - gained),
        step("less", Substitute(using=("backlog",), back=("backlog",)), LATE, BACKLOG - gained),
        step("late_asked", Evaluate(of="saved", values=asked), LATE, 50),
        quantities=(
            Quantity(IN_BURST, "arrival_rate", "突发期间的到达率", "arrival rate in the burst", "1/s"),
            Quantity(OUT, "service_rate", "有效完成速率", "rate of completions", "1/s"),
            Quantity(LENGTH, "seconds", "突发时长", "length of the burst", "s"),
            Quantity(BACKLOG, "backlog", "突发留下的积压", "backlog left by the burst"),
            Quantity(AFTER, "arrival_rate", "突发之后的到达率", "arrival rate afterwards", "1/s"),
            Quantity(CLEAR, "seconds", "消退时间", "time to clear it", "s"),
            Quantity(
                DELAY, "live_at", "扩容从下单到生效的时间", "from ordering capacity to its being live", "s"
            ),
            Quantity(
                MORE, "service_rate", "扩容生效后的完成速率", "rate of completions once it is live", "1/s"
            ),
            Quantity(LATE, "backlog", "扩容时留下的积压", "backlog left with the late capacity"),
        ),
        points=points,
        source="C22",
        assume={OUT: AFTER + positive("e")},
        meanings={
            BACKLOG: backlog,
            LATE: late,
            CLEAR: lambda at: _when(backlog(at), at[AFTER] - at[OUT], Fraction(0), eighth),
        },
    )
