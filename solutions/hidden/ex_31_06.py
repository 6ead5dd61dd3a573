"""Hidden checks of exercise 31.6 (Q31.6)."""

import itertools
import operator
import random
from fractions import Fraction

import sympy as sp

from labkit.grade import expressions
from labkit.grade.checks import Trial, Verdict, right, value, wrong
from labkit.grade.exercise import CONSTANT
from labkit.grade.forms import near
from labkit.grade.values import Expr


def within(residences, start, end):
    return [max(Fraction(0), min(c, end) - max(a, start)) for a, c in residences]


def length(window):
    return Fraction(window[1]) - window[0]


def area(g):
    return sum(within(g["residences"], *g["window"]))


def leaving(g, counts):
    start, end = g["window"]
    return sum(counts(start, c, end) for _, c in g["residences"]) / length(g["window"])


def rate(g):
    return leaving(g, lambda start, c, end: start < c <= end)


def half_open(g):
    return leaving(g, lambda start, c, end: start <= c < end)


def longest(g):
    """The step function's pieces between all arrivals and departures."""
    start, end = g["window"]
    marks = sorted({start, end, *(t for pair in g["residences"] for t in pair if start < t < end)})
    return [
        (early, late, sum(a <= early < c for a, c in g["residences"]))
        for early, late in itertools.pairwise(marks)
    ]


def closed(g):
    """The area if a request counted until the next event after it has left."""
    return sum(
        (late - early) * sum(a <= early <= c for a, c in g["residences"]) for early, late, _ in longest(g)
    )


def steps(trial: Trial) -> Verdict:
    """Any division into pieces that has the right number at every moment inside the window."""
    given, g = trial.answer(), trial.given
    starts, ends = [piece["start"] for piece in given], [piece["end"] for piece in given]
    if [g["window"][0], *ends] != [*starts, g["window"][1]] or any(map(operator.ge, starts, ends)):
        return wrong("steps-gap")

    def constant(piece):
        """Whether the number is what the piece says from its start and after every event inside it."""
        events = [t for pair in g["residences"] for t in pair if piece["start"] < t < piece["end"]]
        return all(
            piece["count"] == sum(a <= t < c for a, c in g["residences"]) for t in (piece["start"], *events)
        )

    if all(map(constant, given)):
        return right()
    if all(p["count"] == sum(a <= p["start"] <= c for a, c in g["residences"]) for p in given):
        return wrong("closed-end")
    return wrong(
        "closed-end"
        if all(p["count"] == sum(a <= p["start"] for a, _ in g["residences"]) for p in given)
        else ""
    )


def expression(reference, wrong_ways):
    """A check at points with H ≥ d, where alone the formulas have to hold: H is written as d + r, r = 0, 1, 2, …"""
    domains = {"d": "count", "r": "whole"}

    def shifted(tree):
        if tree == Expr("Symbol", ("H",)):
            return Expr("Add", (Expr("Symbol", ("d",)), Expr("Symbol", ("r",))))
        return Expr(tree.head, tuple(shifted(a) if isinstance(a, Expr) else a for a in tree.args))

    def check(trial: Trial) -> Verdict:
        answer = shifted(trial.answer())

        def same(expected):
            tree = shifted(expressions.from_sympy(expected))
            return expressions.equal(answer, tree, domains, trial.rng)

        if same(reference):
            return right()
        return next((wrong(key) for key, way in wrong_ways.items() if same(way)), wrong())

    return check


H, d = sp.symbols("H d", positive=True)
CUT = d * (d - 1) / 2
OFF = {"boundary-off-by-one": d * (d + 1) / 2, "residual-grows": H * d / 2}


def reference(residences, start, end):
    inside = within([(a, end if c is None else c) for a, c in residences], start, end)
    done = sum(c is not None and start < c <= end for _, c in residences)
    return {
        "clipped": inside,
        "area": sum(inside),
        "mean_number": sum(inside) / (end - start),
        "completions": done,
        "rate": done / (end - start),
    }


def area_ways(inside):
    """What follows when the time inside the window is taken by another rule for each residence."""

    def times(residences, start, end):
        return [inside(a, end if c is None else c, start, end) for a, c in residences]

    return {
        "clipped": times,
        "area": lambda *args: sum(times(*args)),
        "mean_number": lambda residences, start, end: sum(times(residences, start, end)) / (end - start),
    }


def rate_ways(counts):
    """What follows when completions are counted by another rule."""

    def done(residences, start, end):
        return sum(counts(a, c, start, end) for a, c in residences)

    return {
        "completions": done,
        "rate": lambda residences, start, end: done(residences, start, end) / (end - start),
    }


WAYS = (
    ("full-residence", area_ways(lambda a, c, start, end: c - a)),
    ("full-residence", area_ways(lambda a, c, start, end: c - a if a < end and c > start else Fraction(0))),
    ("clip-one-end", area_ways(lambda a, c, start, end: max(Fraction(0), min(c, end) - a))),
    ("clip-one-end", area_ways(lambda a, c, start, end: max(Fraction(0), c - max(a, start)))),
    ("negative", area_ways(lambda a, c, start, end: min(c, end) - max(a, start))),
    ("only-inside", area_ways(lambda a, c, start, end: c - a if start <= a and c <= end else Fraction(0))),
    ("half-open", rate_ways(lambda a, c, start, end: c is not None and start <= c < end)),
    ("half-open", rate_ways(lambda a, c, start, end: c is not None and start < c < end)),
    ("half-open", rate_ways(lambda a, c, start, end: c is not None and start <= c <= end)),
    ("rate-of-arrivals", rate_ways(lambda a, c, start, end: start <= a < end)),
    ("rate-of-arrivals", rate_ways(lambda a, c, start, end: start < a <= end)),
    ("never-left", rate_ways(lambda a, c, start, end: start < (end if c is None else c) <= end)),
    (
        "divided-by-end",
        {
            "mean_number": lambda residences, start, end: reference(residences, start, end)["area"] / end,
            "rate": lambda residences, start, end: reference(residences, start, end)["completions"] / end,
        },
    ),
    (
        "not-per-second",
        {
            "mean_number": lambda *args: reference(*args)["area"],
            "rate": lambda *args: reference(*args)["completions"],
        },
    ),
)

# Both ends crossed; ends exactly at the window's; before, after and around it; never left; a residence of no length.
THIRDS = tuple(Fraction(n, 3) for n in range(40))
ALWAYS = (
    (
        [
            [THIRDS[2], THIRDS[7]],
            [THIRDS[9], THIRDS[25]],
            [THIRDS[1], THIRDS[5]],
            [THIRDS[8], THIRDS[20]],
            [THIRDS[10], THIRDS[20]],
            [THIRDS[0], THIRDS[2]],
            [THIRDS[21], THIRDS[30]],
            [THIRDS[0], THIRDS[35]],
            [THIRDS[11], None],
            [THIRDS[12], THIRDS[12]],
            [THIRDS[6], THIRDS[13]],
        ],
        THIRDS[5],
        THIRDS[20],
    ),
    ([[THIRDS[20], THIRDS[23]], [THIRDS[22], None]], THIRDS[3], THIRDS[10]),
    ([], THIRDS[1], THIRDS[2]),
)


def window(rng: random.Random):
    start = Fraction(rng.randint(1, 60), 7)
    end = start + Fraction(rng.randint(10, 60), 7)
    residences = []
    for _ in range(rng.randint(3, 8)):
        begin = Fraction(rng.randint(0, 130), rng.choice([7, 12]))
        stay = Fraction(rng.randint(1, 80), rng.choice([7, 12]))
        residences.append([begin, rng.choice([begin + stay, begin + stay, begin + stay, None])])
    return residences, start, end


def observe(trial: Trial) -> Verdict:
    """Field by field, so that a mistake in one is named even where others are right."""
    inputs = [*ALWAYS, *(window(trial.rng) for _ in range(6))]
    results = [trial.call(*args) for args in inputs]
    if all(result == results[0] for result in results):
        return wrong(CONSTANT)
    rounded = False
    for name in reference(*ALWAYS[0]):
        given = [result[name] for result in results]
        expected = [reference(*args)[name] for args in inputs]
        if given == expected:
            continue
        if alike(given, expected):
            rounded = True
            continue
        ways = ((key, way[name]) for key, way in WAYS if name in way)
        return next(
            (wrong(key) for key, way in ways if alike(given, [way(*args) for args in inputs])), wrong()
        )
    return wrong("float") if rounded else right()


def alike(given, expected):
    if isinstance(expected, list):
        return len(given) == len(expected) and all(map(alike, given, expected))
    return near(given, expected)


CHECKS = {
    "steps": steps,
    "area": value(
        area,
        {
            "unweighted": lambda g: sum(count for _, _, count in longest(g)),
            "closed-end": closed,
            "mean-over-window": lambda g: area(g) / length(g["window"]),
        },
    ),
    "mean_number": value(
        lambda g: area(g) / length(g["window"]),
        {
            "closed-end": lambda g: closed(g) / length(g["window"]),
            "unweighted": lambda g: Fraction(sum(n for _, _, n in longest(g)), len(longest(g))),
            "mean-over-requests": lambda g: area(g) / len(g["residences"]),
            "not-per-second": area,
        },
    ),
    "rate": value(rate, {"half-open": half_open, "not-per-second": lambda g: rate(g) * length(g["window"])}),
    "mean_residence": value(
        lambda g: area(g) / len(g["residences"]),
        {"mean-over-window": lambda g: area(g) / length(g["window"])},
    ),
    "rate_half_open": value(half_open, {"half-open": rate}),
    "clipped": value(
        lambda g: within(g["residences"], *g["cut"]),
        {
            "full-residence": lambda g: [c - a for a, c in g["residences"]],
            "clip-one-end": lambda g: [min(c, g["cut"][1]) - a for a, c in g["residences"]],
            "only-inside": lambda g: [
                c - a if g["cut"][0] <= a and c <= g["cut"][1] else 0 for a, c in g["residences"]
            ],
        },
    ),
    "cut_area": value(
        lambda g: sum(within(g["residences"], *g["cut"])),
        {
            "full-residence": area,
            "clip-one-end": lambda g: sum(min(c, g["cut"][1]) - a for a, c in g["residences"]),
            "only-inside": lambda g: sum(
                c - a for a, c in g["residences"] if g["cut"][0] <= a and c <= g["cut"][1]
            ),
            "mean-over-window": lambda g: sum(within(g["residences"], *g["cut"])) / length(g["cut"]),
        },
    ),
    "excess": value(
        lambda g: area(g) - sum(within(g["residences"], *g["cut"])),
        {
            "full-residence": lambda g: 0,
            "clip-one-end": lambda g: sum(max(0, c - g["cut"][1]) for _, c in g["residences"]),
        },
    ),
    "full": expression(H * d, {"full-residence": H * d + CUT, "boundary-off-by-one": (H + 1) * d}),
    "inside": expression(
        H * d - CUT, {"full-residence": H * d, **{key: H * d - way for key, way in OFF.items()}}
    ),
    "residual": expression(CUT, OFF),
    "residual_rate": expression(
        CUT / H, {"not-per-second": CUT, **{key: way / H for key, way in OFF.items()}}
    ),
    "residual_limit": expression(0, {"not-per-second": CUT, "residual-grows": d / 2}),
    "mean_limit": expression(d, {"mean-over-requests": 1, "residual-grows": d / 2}),
    "observe": observe,
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "e": (
        "1 分：平均人数等于每秒完成数乘平均逗留时间，三者须来自同一批请求、同一约定，"
        "换成另一种计数就对不上。1 分：人数面积只含窗内部分，等式右边也必须取交集长度；"
        "完整逗留时间会多算窗外部分，两边不是同一个量。1 分：长期式里把窗内部分换成完整逗留时间，"
        "差的是边界残余；只有残余除以窗长趋于零，两者的平均才相同（例如逗留时间不随窗长一起增长）。"
    ),
}
