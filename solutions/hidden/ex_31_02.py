"""Hidden checks of exercise 31.2 (Q31.2)."""

import random
from fractions import Fraction

import sympy as sp

from labkit.grade.checks import Trial, Verdict, function, partly, right, value, wrong

KERNELS = ("stop", "members", "seats")
T1, T2 = sp.symbols("t1 t2", positive=True)


def static(remaining, table, kernel="stop", answers="at once", clock="arrival"):
    """Completion times under the static policy; the other keywords are ways to be wrong."""
    seats, now, done = len(table), 0, []
    for first in range(0, len(remaining), seats):
        batch = remaining[first : first + seats]
        begun, ends = now, {}
        for turn in range(1, max(batch) + 1):
            running = sum(left >= turn for left in batch)
            now += table[{"stop": running, "members": len(batch), "seats": seats}[kernel] - 1]
            ends[turn] = now
        for left in batch:
            end = ends[left] if answers == "at once" else now
            done.append(end - begun if clock == "start" else end)
    return done


def continuous(remaining, table, order=None, clock="arrival", join="next round", fixed=False):
    """Completion times under the continuous policy; the keywords are ways to be wrong."""
    waiting = list(order or range(len(remaining)))
    left, begun, done, active, now, freed = list(remaining), {}, {}, [], 0, False
    while waiting or active:
        if not (join == "late" and freed and active):
            while waiting and len(active) < len(table):
                active.append(waiting.pop(0))
                begun[active[-1]] = now
        now += table[-1] if fixed else table[len(active) - 1]
        for one in active:
            left[one] -= 1
        finished = [one for one in active if left[one] == 0]
        freed = bool(finished)
        for one in finished:
            active.remove(one)
            done[one] = now - begun[one] if clock == "start" else now
    return [done[one] for one in range(len(remaining))]


def shortest_first(remaining, table):
    return continuous(remaining, table, order=sorted(range(len(remaining)), key=remaining.__getitem__))


def of_given(way, **changes):
    return lambda g: way(g["remaining"], g["round_ms"], **changes)


def times(reference, wrong_ways):
    """A check of the dict of three completion times and their mean: half for the times where only the mean is off."""

    def check(trial: Trial) -> Verdict:
        given, answer = trial.given, trial.answer()

        def record(way):
            a, b, c = way(given)
            return {"A": a, "B": b, "C": c, "mean": Fraction(a + b + c) / 3}

        expected = record(reference)
        if trial.same(answer, expected):
            return right()
        if trial.same(answer | {"mean": expected["mean"]}, expected):
            return partly(Fraction(1, 2), "mean-of-three")
        for misconception, way in wrong_ways.items():
            if trial.same(answer | {"mean": 0}, record(way) | {"mean": 0}):
                return wrong(misconception)
        if trial.same({name: 1000 * time for name, time in answer.items()}, expected):
            return wrong("seconds")
        return wrong()

    return check


def later(trial: Trial) -> Verdict:
    before, after = (of_given(way)(trial.given) for way in (static, continuous))
    named, expected = (
        sorted(trial.answer()),
        [n for n, x, y in zip("ABC", before, after, strict=True) if y > x],
    )
    if named == expected:
        return right()
    if not named:
        return wrong("not-slower")
    return wrong("later-is-earlier" if not set(named) & set(expected) else "")


def symbolic(way, **changes):
    return lambda g: way(g["remaining"], [T1, T2], **changes)


def gain(g):
    return (sum(symbolic(static)(g)) - sum(symbolic(continuous)(g))) / 3


def delay(g):
    return symbolic(continuous)(g)[0] - symbolic(static)(g)[0]


def root(difference):
    """The ratio t2/t1 where a difference that is linear in both vanishes."""
    ratio = -difference.coeff(T1) / difference.coeff(T2)
    return Fraction(int(ratio.p), int(ratio.q))


def break_even(g):
    return root(sp.expand(gain(g)))


def last_together(g):
    before, after = symbolic(static)(g), symbolic(continuous)(g)
    return root(sp.expand(before[2] - after[0]))


def with_numbers(expression):
    """A formula with the table's numbers put in: right at one point, blind elsewhere."""
    return lambda g: expression(g).subs({T1: g["round_ms"][0], T2: g["round_ms"][1]})


def three_with_numbers(way):
    return lambda g: [sp.Integer(time) for time in way(g["remaining"], g["round_ms"])]


def load(rng: random.Random):
    """Requests and a table in which one more sequence always costs more."""
    table, cost = [], 0
    for _ in range(rng.randint(2, 4)):
        cost += rng.randint(2, 9)
        table.append(cost)
    return [rng.randint(1, 9) for _ in range(rng.randint(1, 9))], table


def static_ms(trial: Trial) -> Verdict:
    verdict = function(
        static,
        lambda rng: (*load(rng), rng.choice(KERNELS)),
        always=tuple((*case, kernel) for kernel in KERNELS for case in CASES),
        wrong_ways={
            "computing-ignored": lambda left, table, kernel: static(left, table, "stop"),
            "fixed-round": lambda left, table, kernel: static(left, table, "seats"),
            "finished-still-counted": lambda left, table, kernel: static(left, table, "members"),
            "empty-seat-ignored": lambda left, table, kernel: static(
                left, table, "members" if kernel == "seats" else kernel
            ),
            "empty-seat-counted": lambda left, table, kernel: static(
                left, table, "seats" if kernel == "members" else kernel
            ),
            "held": lambda *args: static(*args, answers="held"),
            "from-start": lambda *args: static(*args, clock="start"),
            "refilled": lambda left, table, kernel: continuous(left, table),
        },
    )(trial)
    if verdict.misconception in ("computing-ignored", "empty-seat-ignored", "empty-seat-counted"):
        return partly(Fraction(1, 2), verdict.misconception)
    return verdict


# Each wrong way differs from the right one on at least one of these.
CASES = (([4, 1, 1], [6, 10]), ([2, 5, 3, 1, 4], [3, 4, 9]), ([3], [5, 9]))

CHECKS = {
    "static": times(
        of_given(static),
        {
            "fixed-round": of_given(static, kernel="seats"),
            "finished-still-counted": of_given(static, kernel="members"),
            "held": of_given(static, answers="held"),
            "from-start": of_given(static, clock="start"),
            "refilled": of_given(continuous),
        },
    ),
    "continuous": times(
        of_given(continuous),
        {
            "fixed-round": of_given(continuous, fixed=True),
            "no-refill": of_given(static),
            "late-join": of_given(continuous, join="late"),
            "from-start": of_given(continuous, clock="start"),
            "shortest-first": of_given(shortest_first),
        },
    ),
    "later": later,
    "members": times(
        of_given(static, kernel="members"),
        {
            "computing-ignored": of_given(static),
            "empty-seat-counted": of_given(static, kernel="seats"),
            "held": of_given(static, kernel="members", answers="held"),
            "from-start": of_given(static, kernel="members", clock="start"),
        },
    ),
    "seats": times(
        of_given(static, kernel="seats"),
        {
            "computing-ignored": of_given(static),
            "empty-seat-ignored": of_given(static, kernel="members"),
            "held": of_given(static, kernel="seats", answers="held"),
            "from-start": of_given(static, kernel="seats", clock="start"),
        },
    ),
    "static_formula": value(
        symbolic(static),
        {
            "fixed-round": symbolic(static, kernel="seats"),
            "finished-still-counted": symbolic(static, kernel="members"),
            "held": symbolic(static, answers="held"),
            "from-start": symbolic(static, clock="start"),
            "refilled": symbolic(continuous),
            "numbers-not-symbols": three_with_numbers(static),
        },
    ),
    "continuous_formula": value(
        symbolic(continuous),
        {
            "fixed-round": symbolic(continuous, fixed=True),
            "no-refill": symbolic(static),
            "late-join": symbolic(continuous, join="late"),
            "from-start": symbolic(continuous, clock="start"),
            "shortest-first": symbolic(shortest_first),
            "numbers-not-symbols": three_with_numbers(continuous),
        },
    ),
    "gain": value(
        gain,
        {
            "sign": lambda g: -gain(g),
            "sum-not-mean": lambda g: 3 * gain(g),
            "numbers-not-symbols": with_numbers(gain),
        },
    ),
    "delay_a": value(delay, {"sign": lambda g: -delay(g), "numbers-not-symbols": with_numbers(delay)}),
    "break_even": value(
        break_even,
        {
            "ratio-inverted": lambda g: 1 / break_even(g),
            "ratio-of-makespan": last_together,
            "numbers-not-symbols": lambda g: Fraction(g["round_ms"][1], g["round_ms"][0]),
        },
    ),
    "static_ms": static_ms,
    "continuous_ms": function(
        continuous,
        load,
        always=CASES,
        wrong_ways={
            "no-refill": static,
            "fixed-round": lambda *args: continuous(*args, fixed=True),
            "late-join": lambda *args: continuous(*args, join="late"),
            "from-start": lambda *args: continuous(*args, clock="start"),
            "shortest-first": shortest_first,
        },
    ),
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "e": (
        "1 分：固定轮时假设一条与两条同样快，于是看不到补入者拖慢同座的请求，有人因此变晚，"
        "也夸大了空座位的代价。1 分：连续策略改善本例的平均，"
        "但两条的一轮足够慢时（超过 c 的比值）静态反而占优，所以算例不是吞吐预测。1 分："
        "内核接着计算时轮时按实际计算的条数，属于另一个轮时模型，要重新计数；"
        "并说明 C 独自成批（members）还是补齐到两个座位（seats），两种读法结果不同。"
    ),
}
