from itertools import pairwise

import pytest

from labkit.show.figures.lanes import cells, stretches


def seating(result, seats):
    return {(c.round, c.id): c.lane for c in cells(result, seats)}


def test_newcomer_takes_the_lowest_free_lane(x1):
    assert seating(x1["静态"], 2) == {
        (0, "A"): 0, (0, "B"): 1, (1, "A"): 0, (2, "A"): 0, (3, "A"): 0, (4, "C"): 0,
    }  # fmt: skip
    assert {lane for (_, id_), lane in seating(x1["连续"], 2).items() if id_ == "C"} == {1}


def test_a_request_that_skips_a_round_keeps_its_lane(result):
    run = result([(5, "AB"), (5, "A"), (5, "AB")], {"A": 15, "B": 15})
    assert seating(run, 2)[2, "B"] == 1


def test_a_request_whose_lane_was_needed_comes_back_to_another(result):
    run = result([(5, "AB"), (5, "AC"), (5, "BC")], {"A": 10, "B": 15, "C": 15})
    sits = seating(run, 2)
    assert sits[0, "B"] == sits[1, "C"] == sits[2, "C"] == 1
    assert sits[2, "B"] == 0


@pytest.mark.parametrize("seed", range(20))
def test_nobody_shares_a_seat_and_nobody_moves(random_result, seed):
    run = random_result(1 + seed % 8, 30, 60, seed)
    seats = 1 + seed % 8
    found = cells(run, seats)
    assert (
        len({(c.round, c.lane) for c in found}) == len(found) == sum(len(r["items"]) for r in run["rounds"])
    )
    assert all(c.lane < seats for c in found)
    assert len({(c.id, c.lane) for c in found}) == len({c.id for c in found})


@pytest.mark.parametrize("seed", range(10))
def test_stretches_fill_every_lane_without_gap(random_result, seed):
    run = random_result(4, 12, 60, seed)
    span = run["rounds"][-1]["start"] + run["rounds"][-1]["seconds"]
    for lane in range(4):
        own = [s for s in stretches(run, 4) if s.lane == lane]
        assert own[0].start == 0
        assert float(own[-1].end) == pytest.approx(1000 * span)
        assert all(a.end == b.start and (a.id, a.waited) != (b.id, b.waited) for a, b in pairwise(own))
        assert sum(s.rounds for s in own) == len(run["rounds"])


def test_an_empty_seat_tells_whether_somebody_waits(x1):
    empty = [s for s in stretches(x1["静态"], 2) if s.id is None]
    assert [(s.start, s.end, s.waited) for s in empty] == [(10, 40, True), (40, 50, False)]


def test_seats_that_were_never_used_are_there(x1):
    assert {s.lane for s in stretches(x1["连续"], 4)} == {0, 1, 2, 3}
