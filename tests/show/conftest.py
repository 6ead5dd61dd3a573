"""Results made by hand, so that what a figure says can be checked without the engine that made it."""

import random

import pytest


def make_result(rounds, ends):
    """Build a result object: `rounds` as (ms, ids that run), `ends` as id to whole ms or None (unfinished)."""
    first = {}
    for index, (_, ids) in enumerate(rounds):
        for id_ in ids:
            first.setdefault(id_, index)
    now, told = 0, []
    for index, (ms, ids) in enumerate(rounds):
        items = [{"id": id_, "phase": "decode", "new_tokens": 1, "context": 16} for id_ in ids]
        waiting = sum(1 for id_ in ends if first.get(id_, len(rounds)) > index)
        told.append(
            {"index": index, "start": now / 1000, "seconds": ms / 1000, "waiting": waiting, "items": items}
        )
        now += ms
    requests = [
        {
            "id": id_,
            "outcome": "unfinished" if end is None else "finished",
            "arrival": 0.0,
            "end": None if end is None else end / 1000,
        }
        for id_, end in ends.items()
    ]
    return {"schema": "labkit.result/1", "requests": requests, "rounds": told}


def make_random(seats, requests, most_rounds, seed):
    """Build a run with `seats` seats, random lengths and unequal round times, cut off after `most_rounds`."""
    luck = random.Random(seed)
    left = {f"r{i}": luck.randint(1, 24) for i in range(requests)}
    waiting, active, rounds, now = list(left), [], [], 0
    ends = dict.fromkeys(left)
    while (waiting or active) and len(rounds) < most_rounds:
        while waiting and len(active) < seats:
            active.append(waiting.pop(0))
        ms = 3 + len(active) + luck.randint(0, 2)
        rounds.append((ms, list(active)))
        now += ms
        for id_ in list(active):
            left[id_] -= 1
            if left[id_] == 0:
                active.remove(id_)
                ends[id_] = now
    return make_result(rounds, ends)


@pytest.fixture
def x1():
    """X1 as the book computes it: two seats, 10 ms a round."""
    return {
        "静态": make_result(
            [(10, "AB"), (10, "A"), (10, "A"), (10, "A"), (10, "C")], {"A": 40, "B": 10, "C": 50}
        ),
        "连续": make_result([(10, "AB"), (10, "AC"), (10, "A"), (10, "A")], {"A": 40, "B": 10, "C": 20}),
    }


@pytest.fixture
def q31_2():
    """Q31.2 as the book computes it: 6 ms for one, 10 ms for two."""
    return {
        "静态": make_result(
            [(10, "AB"), (6, "A"), (6, "A"), (6, "A"), (6, "C")], {"A": 28, "B": 10, "C": 34}
        ),
        "连续": make_result([(10, "AB"), (10, "AC"), (6, "A"), (6, "A")], {"A": 32, "B": 10, "C": 20}),
    }


@pytest.fixture
def result():
    """Return the maker of results."""
    return make_result


@pytest.fixture
def random_result():
    """Return the maker of random results."""
    return make_random
