"""Hidden checks of exercise 31.1 (Q31.1)."""

import itertools
import random

from labkit.grade.checks import Trial, Verdict, function, right, value, wrong


def ttft(g):
    return g["first"] - g["arrival"]


def wait(g):
    return g["start"] - g["arrival"]


def decoding(g):
    return g["last"] - g["first"]


def measures(arrival, start, times):
    return {
        "ttft": times[0] - arrival if times else None,
        "tpot": (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None,
        "wait": start - arrival,
        "itl": [late - early for early, late in itertools.pairwise(times)],
    }


def changed(**ways):
    """`measures` with some fields computed in a wrong way, which is given arrival, start and times."""

    def way(arrival, start, times):
        right_ones = measures(arrival, start, times)
        return right_ones | {
            key: wrong_one(right_ones, arrival, start, times) for key, wrong_one in ways.items()
        }

    return way


def unless(key, wrong_value):
    """Keep None where the quantity is undefined."""
    return lambda m, a, s, u: None if m[key] is None else wrong_value(m, a, s, u)


def request(rng: random.Random):
    """Times in sixty-fourths of a second: floats that add without rounding."""
    arrival = rng.randint(0, 900) / 64
    start = arrival + rng.randint(1, 200) / 64
    times, now = [], start
    for _ in range(rng.randint(2, 9)):
        now += rng.randint(1, 90) / 64
        times.append(now)
    return arrival, start, times


def stages(trial: Trial) -> Verdict:
    g = trial.given
    seconds = {
        "等待": wait(g),
        "首词元时延减等待": ttft(g) - wait(g),
        "首词元时延": ttft(g),
        "解码间隔之和": decoding(g),
    }
    listed = trial.answer()
    names = sorted(stage["name"] for stage in listed)
    form = trial.exercise.answer("ttft").form
    if any(not form.same(stage["seconds"], seconds[stage["name"]], trial.rng) for stage in listed):
        return wrong()
    if names in (
        sorted(["首词元时延", "解码间隔之和"]),
        sorted(["等待", "首词元时延减等待", "解码间隔之和"]),
    ):
        return right()
    total = sum(seconds[name] for name in names)
    return wrong("parts-overlap" if total > g["last"] - g["arrival"] else "parts-missing")


CHECKS = {
    "ttft": value(
        ttft,
        {
            "wait-twice": lambda g: ttft(g) + wait(g),
            "ttft-from-start": lambda g: g["first"] - g["start"],
            "ms": lambda g: 1000 * ttft(g),
        },
    ),
    "tpot": value(
        lambda g: decoding(g) / (g["count"] - 1),
        {
            "tpot-over-count": lambda g: decoding(g) / g["count"],
            "tpot-from-arrival": lambda g: (g["last"] - g["arrival"]) / (g["count"] - 1),
            "ms": lambda g: 1000 * decoding(g) / (g["count"] - 1),
        },
    ),
    "wait": value(wait, {"wait-to-first": ttft, "ms": lambda g: 1000 * wait(g)}),
    "stages": stages,
    "ttft_plus_wait_is_first_token": value(lambda g: False, {"wait-twice": lambda g: True}),
    "measures": function(
        measures,
        request,
        always=((1, 2, [3]), (1, 2, [])),
        wrong_ways={
            "wait-twice": changed(ttft=unless("ttft", lambda m, a, s, u: u[0] - a + (s - a))),
            "ttft-from-start": changed(ttft=unless("ttft", lambda m, a, s, u: u[0] - s)),
            "tpot-over-count": changed(tpot=unless("tpot", lambda m, a, s, u: (u[-1] - u[0]) / len(u))),
            "tpot-from-arrival": changed(tpot=unless("tpot", lambda m, a, s, u: (u[-1] - a) / (len(u) - 1))),
            "itl-from-arrival": changed(
                itl=lambda m, a, s, u: [y - x for x, y in zip([a, *u], u, strict=False)]
            ),
            "tpot-zero": changed(tpot=lambda m, a, s, u: m["tpot"] or 0),
            "no-token-zero": changed(ttft=lambda m, a, s, u: m["ttft"] or 0),
        },
    ),
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "d": (
        "1 分：等待是首词元时延的一部分，只算一次。1 分：相加的各段必须互不重叠，首词元时延与各间隔首尾相接。"
    ),
}
