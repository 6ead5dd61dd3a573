"""Hidden checks of exercise 31.5 (Q31.5)."""

import random
from fractions import Fraction

from labkit.grade.checks import Trial, Verdict, right, value, wrong
from labkit.grade.exercise import CONSTANT


def pages(length, page):
    return -(-length // page)


def before(g):
    return [pages(n, g["page_tokens"]) for n in g["lengths"]]


def after(g, more=None):
    return [pages(n + (g["more"] if more is None else more), g["page_tokens"]) for n in g["lengths"]]


def places(g, first=1):
    """The page of each new position; `first` is 1 for positions counted from 1."""
    return [[pages(n + j, g["page_tokens"]) for j in range(first, first + g["more"])] for n in g["lengths"]]


def floored(counts, page):
    return [n // page for n in counts]


def grown(g):
    return [n + g["more"] for n in g["lengths"]]


def pooled(g):
    """New pages if all requests together filled pages."""
    page = g["page_tokens"]
    return pages(sum(grown(g)), page) - pages(sum(g["lengths"]), page)


def mib(g, count):
    return Fraction(count * g["page_tokens"] * g["token_kib"], 1024)


def new(g):
    return sum(after(g)) - sum(before(g))


def payload(g):
    return len(g["lengths"]) * g["more"] * g["token_kib"]


def reference(lengths, more, page, kib):
    now = [n + m for n, m in zip(lengths, more, strict=True)]
    added = sum(pages(n, page) for n in now) - sum(pages(n, page) for n in lengths)
    return {
        "pages": [pages(n, page) for n in now],
        "room": [pages(n, page) * page - n for n in now],
        "new_pages": added,
        "allocated_kib": added * page * kib,
        "payload_kib": sum(more) * kib,
    }


def both(lengths, more):
    return list(zip(lengths, more, strict=True))


def fresh(count):
    """A way to count new pages, and the kibibytes that follow from it."""
    return {
        "new_pages": count,
        "allocated_kib": lambda lengths, more, page, kib: count(lengths, more, page, kib) * page * kib,
    }


WAYS = {
    "plus-one": {
        "pages": lambda lengths, more, page, kib: [(n + m) // page + 1 for n, m in both(lengths, more)],
        **fresh(
            lambda lengths, more, page, kib: sum((n + m) // page - n // page for n, m in both(lengths, more))
        ),
    },
    "floor": {
        "pages": lambda lengths, more, page, kib: [(n + m) // page for n, m in both(lengths, more)],
        **fresh(
            lambda lengths, more, page, kib: sum((n + m) // page - n // page for n, m in both(lengths, more))
        ),
    },
    "last-not-cached": {
        "pages": lambda lengths, more, page, kib: [pages(n + m - 1, page) for n, m in both(lengths, more)],
    },
    "always-new": {
        "pages": lambda lengths, more, page, kib: [
            pages(n, page) + pages(m, page) for n, m in both(lengths, more)
        ],
        **fresh(lambda lengths, more, page, kib: sum(pages(m, page) for m in more)),
    },
    "pooled": fresh(
        lambda lengths, more, page, kib: pages(sum(lengths) + sum(more), page) - pages(sum(lengths), page)
    ),
    "total": fresh(lambda lengths, more, page, kib: sum(pages(n + m, page) for n, m in both(lengths, more))),
    "pages-by-bytes": {
        "new_pages": lambda lengths, more, page, kib: pages(sum(more), page),
        "allocated_kib": lambda lengths, more, page, kib: sum(more) * kib,
    },
    "room-full": {
        "room": lambda lengths, more, page, kib: [page - (n + m) % page for n, m in both(lengths, more)],
    },
}


def growth(rng: random.Random):
    page = rng.choice([3, 8, 12, 16, 32])
    count = rng.randint(3, 7)
    lengths = [rng.choice([0, page * rng.randint(1, 9), rng.randint(1, 400)]) for _ in range(count)]
    return lengths, [rng.randint(0, 2 * page) for _ in range(count)], page, rng.choice([2, 24, 64, 160])


# A full page that grows, one that does not, a request without positions, one that fills its page; nobody at all.
ALWAYS = (
    ([32, 32, 0, 0, 17, 257], [1, 0, 0, 3, 15, 2], 16, 64),
    ([], [], 16, 64),
    ([5, 7, 9, 11], [1] * 4, 4, 3),
)


def grow(trial: Trial) -> Verdict:
    """Field by field, so that a mistake in one is named even where others are right."""
    inputs = [*ALWAYS, *(growth(trial.rng) for _ in range(6))]
    results = [trial.call(*args) for args in inputs]
    if all(result == results[0] for result in results):
        return wrong(CONSTANT)
    fields = trial.exercise.answer("grow").form.returns.fields

    def agree(name, way):
        return all(
            fields[name].same(result[name], way(*args), trial.rng)
            for result, args in zip(results, inputs, strict=True)
        )

    for name in fields:
        if agree(name, lambda *args, name=name: reference(*args)[name]):
            continue
        return next(
            (wrong(key) for key, ways in WAYS.items() if name in ways and agree(name, ways[name])), wrong()
        )
    return right()


CHECKS = {
    "lengths_after": value(
        grown, {"one-step": lambda g: [n + 1 for n in g["lengths"]], "total": lambda g: [g["more"]] * 2}
    ),
    "pages_before": value(
        before,
        {
            "floor": lambda g: floored(g["lengths"], g["page_tokens"]),
            "last-not-cached": lambda g: after(g, -1),
        },
    ),
    "pages_after": value(
        after,
        {
            "floor": lambda g: floored(grown(g), g["page_tokens"]),
            "one-step": lambda g: after(g, 1),
            "never-new": before,
            "always-new": lambda g: [n + 1 for n in before(g)],
        },
    ),
    "page_of_new": value(
        places,
        {
            "last-not-cached": lambda g: places(g, 0),
            "floor": lambda g: [
                [(n + j) // g["page_tokens"] for j in range(1, g["more"] + 1)] for n in g["lengths"]
            ],
            "always-new": lambda g: [[n + 1] * g["more"] for n in before(g)],
            "never-new": lambda g: [[n] * g["more"] for n in before(g)],
        },
    ),
    "new_pages": value(
        new,
        {
            "always-new": lambda g: len(g["lengths"]),
            "never-new": lambda g: 0,
            "total": lambda g: sum(after(g)),
            "pooled": pooled,
        },
    ),
    "allocated_mib": value(
        lambda g: mib(g, new(g)),
        {
            "pages-by-bytes": lambda g: mib(g, 1) * payload(g) / (g["page_tokens"] * g["token_kib"]),
            "unit": lambda g: 1024 * mib(g, new(g)),
            "total": lambda g: mib(g, sum(after(g))),
            "always-new": lambda g: mib(g, len(g["lengths"])),
            "never-new": lambda g: 0,
        },
    ),
    "payload_kib": value(
        payload,
        {
            "one-step": lambda g: len(g["lengths"]) * g["token_kib"],
            "pages-by-bytes": lambda g: 1024 * mib(g, new(g)),
        },
    ),
    "grow": grow,
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "c": (
        "1 分：边际成本取决于最后一页的空位：有空位时为零，跨过页边界时是一整页，"
        "并用本题的两个请求说明。1 分：接纳判断须按整页计，不能按字节或平均数只预留新数据那么多；"
        "没有空闲页时，字节上似乎够也放不下。"
    ),
}
