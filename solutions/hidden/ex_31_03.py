"""Hidden checks of exercise 31.3 (Q31.3)."""

import random
from fractions import Fraction

from labkit.grade.checks import Trial, Verdict, function, value, wrong


def linear(lengths):
    return Fraction(sum(lengths), len(lengths) * max(lengths))


def attention(lengths):
    return Fraction(sum(p**2 for p in lengths), len(lengths) * max(lengths) ** 2)


def visible_part(lengths):
    """What a reader of causal pairs would put over the whole square."""
    return Fraction(sum(p * (p + 1) // 2 for p in lengths), len(lengths) * max(lengths) ** 2)


def both(first, second):
    return {"linear": first, "attention": second}


def applies(lengths, executed):
    return set(executed) == {max(lengths)}


def utilisation(lengths, executed):
    return both(linear(lengths), attention(lengths)) if applies(lengths, executed) else None


def where_it_applies(way):
    return lambda lengths, executed: way(lengths) if applies(lengths, executed) else None


def executed_ratio(lengths, executed):
    return both(
        Fraction(sum(lengths), sum(executed)),
        Fraction(sum(p**2 for p in lengths), sum(e**2 for e in executed)),
    )


def same_shape(lengths, executed):
    return executed_ratio(lengths, executed) if len(set(executed)) == 1 else None


def or_else(substitute):
    return lambda lengths, executed: utilisation(lengths, executed) or both(substitute, substitute)


def prompts(rng: random.Random):
    """Lengths with what a kernel executes: padded, exact, aligned to blocks, a longer shape, or one stopped early."""
    lengths = [rng.randint(1, 400) for _ in range(rng.randint(2, 6))]
    longest = max(lengths)
    executed = rng.choice(
        [
            [longest] * len(lengths),
            [longest] * len(lengths),
            list(lengths),
            [-(-p // 64) * 64 for p in lengths],
            [longest + rng.randint(1, 64)] * len(lengths),
            [longest] * (len(lengths) - 1) + [longest + 1],
        ]
    )
    return lengths, executed


def work(lengths, block, tiles=lambda n: n * (n + 1) // 2, blocks=lambda p, b: -(-p // b)):
    counts = [blocks(p, block) for p in lengths]
    return {
        "positions": block * sum(counts),
        "pairs": block**2 * sum(tiles(n) for n in counts),
    }


def whole_squares(lengths, block):
    return work(lengths, block, tiles=lambda n: n * n)


def halved_diagonal(lengths, block):
    aligned = [-(-p // block) * block for p in lengths]
    return {"positions": sum(aligned), "pairs": sum(p * (p + 1) // 2 for p in aligned)}


def unaligned(lengths, block):
    return {"positions": sum(lengths), "pairs": sum(p * (p + 1) // 2 for p in lengths)}


def unaligned_squares(lengths, block):
    return {"positions": sum(lengths), "pairs": sum(p * p for p in lengths)}


def padded_square(lengths, block):
    return {"positions": len(lengths) * max(lengths), "pairs": len(lengths) * max(lengths) ** 2}


def variable(rng: random.Random):
    return [rng.randint(1, 300) for _ in range(rng.randint(1, 5))], rng.choice([8, 16, 32, 64])


def time(g, done, launches=1):
    return launches * g["launch_us"] + g["position_us"] * done["positions"] + g["pair_us"] * done["pairs"]


def padded_us(g):
    return time(g, padded_square(g["lengths"], None))


def varlen_us(g, way=work):
    return g["setup_us"] + time(g, way(g["lengths"], g["block"]))


VARLEN_WAYS = {
    "setup-forgotten": lambda g: varlen_us(g) - g["setup_us"],
    "ideal-work": lambda g: varlen_us(g, unaligned),
    "no-alignment": lambda g: varlen_us(g, unaligned_squares),
    "no-mask": lambda g: varlen_us(g, whole_squares),
    "padded-lengths": lambda g: varlen_us(g, padded_square),
    "launch-per-sequence": lambda g: varlen_us(g) + (len(g["lengths"]) - 1) * g["launch_us"],
}


def speedup(trial: Trial) -> Verdict:
    answer, lengths = trial.answer(), trial.given["lengths"]
    if trial.same(answer, 1 / linear(lengths)) or trial.same(answer, 1 / attention(lengths)):
        return wrong("reciprocal")
    return value(
        lambda g: padded_us(g) / varlen_us(g),
        {
            "speedup-inverted": lambda g: varlen_us(g) / padded_us(g),
            **{key: (lambda g, way=way: padded_us(g) / way(g)) for key, way in VARLEN_WAYS.items()},
        },
    )(trial)


CHECKS = {
    "linear": value(
        lambda g: linear(g["lengths"]),
        {
            "inverse": lambda g: 1 / linear(g["lengths"]),
            "waste": lambda g: 1 - linear(g["lengths"]),
            "percent": lambda g: 100 * linear(g["lengths"]),
        },
    ),
    "attention": value(
        lambda g: attention(g["lengths"]),
        {
            "inverse": lambda g: 1 / attention(g["lengths"]),
            "waste": lambda g: 1 - attention(g["lengths"]),
            "square-of-linear": lambda g: linear(g["lengths"]) ** 2,
            "count-squared": lambda g: attention(g["lengths"]) / len(g["lengths"]),
            "same-for-both": lambda g: linear(g["lengths"]),
            "causal": lambda g: visible_part(g["lengths"]),
            "percent": lambda g: 100 * attention(g["lengths"]),
        },
    ),
    "utilisation": function(
        utilisation,
        prompts,
        always=(
            ([3, 5, 8], [8, 8, 8]),
            ([3, 5, 8], [3, 5, 8]),
            ([5, 7], [8, 8]),
            ([6, 6], [6, 6]),
            ([3, 5, 8], [8, 5, 8]),
        ),
        wrong_ways={
            "always-applies": lambda lengths, executed: both(linear(lengths), attention(lengths)),
            "executed-ratio": executed_ratio,
            "longer-shape": same_shape,
            "zero-not-none": or_else(0),
            "square-of-linear": where_it_applies(lambda ps: both(linear(ps), linear(ps) ** 2)),
            "count-squared": where_it_applies(lambda ps: both(linear(ps), attention(ps) / len(ps))),
            "same-for-both": where_it_applies(lambda ps: both(linear(ps), linear(ps))),
            "causal": where_it_applies(lambda ps: both(linear(ps), visible_part(ps))),
            "waste": where_it_applies(lambda ps: both(1 - linear(ps), 1 - attention(ps))),
            "inverse": where_it_applies(lambda ps: both(1 / linear(ps), 1 / attention(ps))),
        },
    ),
    "varlen_work": function(
        work,
        variable,
        always=(([5, 9, 20], 4), ([64, 64, 256], 128), ([17], 16), ([1, 1], 8)),
        wrong_ways={
            "padded-lengths": padded_square,
            "no-alignment": unaligned,
            "no-mask": whole_squares,
            "diagonal-skipped": lambda ps, b: work(ps, b, tiles=lambda n: n * (n - 1) // 2),
            "diagonal-halved": halved_diagonal,
            "floor-blocks": lambda ps, b: work(ps, b, blocks=lambda p, size: p // size),
            "one-sequence": lambda ps, b: work([sum(ps)], b),
        },
    ),
    "padded_us": value(
        padded_us,
        {
            "setup-in-both": lambda g: padded_us(g) + g["setup_us"],
            "launch-per-sequence": lambda g: time(
                g, padded_square(g["lengths"], None), launches=len(g["lengths"])
            ),
        },
    ),
    "varlen_us": value(
        varlen_us,
        VARLEN_WAYS,
    ),
    "speedup": speedup,
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "e": (
        "1 分：式 31.3 只在每条序列都真实执行到同一填充长度（本批最大长度）时成立。1 分："
        "变长内核跳过一部分无效位置，另有块对齐、掩码（格内看不见的配对照算）和工作区（偏移表），"
        "这三项都要提到。1 分：所以利用率或其倒数都推不出加速比，"
        "加速比要由时间（最好是测得的时间）得出。"
    ),
}
