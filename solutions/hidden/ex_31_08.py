"""Hidden checks of exercise 31.8 (Q31.8). Joint laws that a student builds are judged by exact computation."""

import itertools
import random
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

from labkit.grade.checks import Trial, Verdict, right, value, wrong
from labkit.grade.exercise import CONSTANT

SLACK = Fraction(1, 10**9)
CLAIMS = {"A": False, "B": True, "C": False, "D": False, "E": True, "F": True}
MISTAKES = {
    "A": "percentile-sum",
    "B": "bound-not-true",
    "C": "independent-adds",
    "D": "independence-assumed",
    "E": "never-adds",
    "F": "sum-not-measured",
}


def tail(g):
    return 1 - Fraction(g["level"])


def claims(trial: Trial) -> Verdict:
    given = trial.answer()
    return next((wrong(MISTAKES[key]) for key in CLAIMS if given[key] != CLAIMS[key]), right())


# ------------------------------------------------------------------------------------------------------ joint laws


def margin(rows, read):
    """The law of one number of a row: its values and their probabilities."""
    law = defaultdict(Fraction)
    for row in rows:
        law[read(row)] += row["p"]
    return law


def quantile(law, level):
    """The smallest value at which the distribution function reaches the level."""
    reached = Fraction(0)
    for v in sorted(law):
        reached += law[v]
        if reached >= level - SLACK:
            return v
    raise AssertionError("probabilities that sum to less than the level")


def of_x(row):
    return row["x"]


def of_y(row):
    return row["y"]


def of_sum(row):
    return row["x"] + row["y"]


def like(first, second):
    return abs(first - second) <= SLACK * max(1, abs(second))


def lawful(rows, x_high, y_high, level):
    """What is wrong with a law whatever it is to show, or nothing."""
    if any(min(row.values()) < 0 for row in rows) or abs(sum(row["p"] for row in rows) - 1) > SLACK:
        return "not-a-law"
    if not (
        like(quantile(margin(rows, of_x), level), x_high)
        and like(quantile(margin(rows, of_y), level), y_high)
    ):
        return "margins"
    return ""


def attains(rows, x_high, y_high, level):
    # The bound holds for these tails, exactly: a quantile within the tolerance may hide a larger one.
    tails = (sum(row["p"] for row in rows if row[z] > high) for z, high in (("x", x_high), ("y", y_high)))
    if any(tail > 1 - level + SLACK for tail in tails):
        return "margins"
    over = sum(row["p"] for row in rows if of_sum(row) > x_high + y_high)
    if abs(over - 2 * (1 - level)) <= SLACK:
        return ""
    if any(row["x"] > x_high and row["y"] > y_high for row in rows):
        return "same-requests"
    slow = [row for row in rows if row["x"] > x_high or row["y"] > y_high]
    return "slow-but-not-over" if any(of_sum(row) <= x_high + y_high for row in slow) else "other"


def several(rows):
    return len(margin(rows, of_x)) > 1 and len(margin(rows, of_y)) > 1


def comonotone(rows, x_high, y_high, level):
    if not several(rows):
        return "one-value"
    slower = sorted((row["x"], row["y"]) for row in rows)
    if any(y > next_y for (_, y), (_, next_y) in itertools.pairwise(slower)):
        return "not-comonotone"
    return "" if like(quantile(margin(rows, of_sum), level), x_high + y_high) else "other"


def independent(rows, x_high, y_high, level):
    if not several(rows):
        return "one-value"
    xs, ys, joint = margin(rows, of_x), margin(rows, of_y), margin(rows, lambda row: (row["x"], row["y"]))
    if len(joint) < len(xs) * len(ys) or any(
        abs(joint[x, y] - xs[x] * ys[y]) > SLACK for x in xs for y in ys
    ):
        return "not-independent"
    return "still-adds" if like(quantile(margin(rows, of_sum), level), x_high + y_high) else ""


def asked(rng: random.Random):
    level = rng.choice(
        [Fraction(3, 5), Fraction(9, 10), Fraction(24, 25), Fraction(99, 100), Fraction(299, 300)]
    )
    return Fraction(rng.randint(20, 900)), Fraction(rng.randint(20, 900)), level


# A short first stage, a short second one, and the same for both.
STAGES = (
    (Fraction(100), Fraction(200), Fraction(99, 100)),
    (Fraction(1, 2), Fraction(900), Fraction(19, 20)),
    (Fraction(700), Fraction(3, 4), Fraction(199, 200)),
    (Fraction(50), Fraction(50), Fraction(3, 5)),
)


def law(shows):
    """A check of a function that builds joint laws: for every pair of quantiles and level, `shows` what it has to."""

    def check(trial: Trial) -> Verdict:
        problems, seen = [], []
        for args in (*STAGES, *(asked(trial.rng) for _ in range(4))):
            rows = [row for row in trial.call(*args) if row["p"] != 0]
            seen.append(rows)
            problems.append(lawful(rows, *args) or shows(rows, *args))
        if not any(problems):
            return right()
        if all(rows == seen[0] for rows in seen):
            return wrong(CONSTANT)
        first = next(filter(None, problems))
        return wrong("" if first == "other" else first)

    return check


# ------------------------------------------------------------------------------------------------------- the sample


def ranked(values, level):
    """The smallest value with at least this share of the sample at or below it."""
    return sorted(values)[-(-level.numerator * len(values) // level.denominator) - 1]


def above(values, level):
    """One rank too far where the share is met exactly."""
    return sorted(values)[min(len(values) - 1, level.numerator * len(values) // level.denominator)]


def below(values, level):
    """One rank short where the share is not met exactly."""
    return sorted(values)[max(0, level.numerator * len(values) // level.denominator - 1)]


def interpolated(values, level):
    """The usual interpolation between neighbours (numpy's default)."""
    ordered, place = sorted(values), level * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def both(pairs, level, take=ranked):
    xs, ys = zip(*pairs, strict=True)
    return take(xs, level) + take(ys, level)


def stage(level):
    return 1 - (1 - level) / 2


def measures(take=ranked):
    return {
        "measured": lambda pairs, level: take([x + y for x, y in pairs], level),
        "added": lambda pairs, level: both(pairs, level, take),
        "safe": lambda pairs, level: both(pairs, stage(level), take),
    }


REFERENCE = measures()
WAYS = (
    ("percentile-sum", {"measured": REFERENCE["added"]}),
    ("same-level", {"safe": REFERENCE["added"]}),
    (
        "level-lowered",
        {"safe": lambda pairs, level: both(pairs, max(1 - 2 * (1 - level), Fraction(1, 10**6)))},
    ),
    ("rank", measures(above)),
    ("rank", measures(below)),
    ("interpolated", measures(interpolated)),
)
# Shares that are met exactly (6 and 7 of 8), shares that are not; one request; equal times.
PAIRS = (
    ([[1, 80], [2, 10], [3, 70], [4, 20], [50, 30], [60, 1], [70, 2], [90, 40]], Fraction(3, 4)),
    ([[1, 80], [2, 10], [3, 70], [4, 20], [50, 30], [60, 1], [70, 2], [90, 40]], Fraction(1, 2)),
    ([[9 * k, (23 * k) % 101] for k in range(30)], Fraction(19, 20)),
    ([[5, 7]], Fraction(99, 100)),
    ([[3, 3]] * 5 + [[1, 9], [9, 1], [40, 2], [2, 60]], Fraction(4, 7)),
)


def sample(rng: random.Random):
    """Pairs and a level whose ranks are far from a whole number, so that rounding decides nothing."""
    count = rng.choice([37, 59, 83, 149])
    level = rng.choice([Fraction(9, 10), Fraction(24, 25), Fraction(49, 50), Fraction(3, 5)])
    return [[rng.randint(1, 5000), rng.randint(1, 5000)] for _ in range(count)], level


def measure(trial: Trial) -> Verdict:
    """Field by field, so that a mistake in one is named even where others are right."""
    inputs = [*PAIRS, *(sample(trial.rng) for _ in range(6))]
    results = [trial.call(*args) for args in inputs]
    if all(result == results[0] for result in results):
        return wrong(CONSTANT)
    for name, reference in REFERENCE.items():

        def agree(way, name=name):
            return all(like(result[name], way(*args)) for result, args in zip(results, inputs, strict=True))

        if not agree(reference):
            return next((wrong(key) for key, way in WAYS if name in way and agree(way[name])), wrong())
    return right()


CHECKS = {
    "tail_bound": value(
        lambda g: 2 * tail(g),
        {
            "same-tail": tail,
            "independence-assumed": lambda g: 1 - (1 - tail(g)) ** 2,
            "both-slow": lambda g: tail(g) ** 2,
            "tail-for-level": lambda g: 1 - 2 * tail(g),
        },
    ),
    "coverage": value(
        lambda g: 1 - 2 * tail(g),
        {
            "percentile-sum": lambda g: 1 - tail(g),
            "independence-assumed": lambda g: (1 - tail(g)) ** 2,
            "tail-for-level": lambda g: 2 * tail(g),
        },
    ),
    "stage_level": value(
        lambda g: 1 - tail(g) / 2,
        {
            "same-level": lambda g: g["level"],
            "level-lowered": lambda g: 1 - 2 * tail(g),
            "tail-for-level": lambda g: tail(g) / 2,
            # (1 − u)² = level, to 25 digits
            "independence-assumed": lambda g: Fraction(
                str((Decimal(g["level"].numerator) / g["level"].denominator).sqrt())
            ),
        },
    ),
    "claims": claims,
    "attaining": law(attains),
    "together": law(comonotone),
    "apart": law(independent),
    "measure": measure,
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "d": (
        "1 分：一个成立的陈述，附概率（s 的覆盖概率，或提高水平后的和，或直接测同一请求的和），"
        "并说明只用并集界、不需独立。1 分：说明独立时和的分布由什么决定，分位数为什么一般不相加，"
        "哪种相依关系下才相加。"
    ),
}
