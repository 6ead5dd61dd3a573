"""C20, C21: the buffer by hand and by a recursion, and what grows where each link is cut."""

from __future__ import annotations

from fractions import Fraction

import pytest

from labkit.scenario import run
from labkit.studies import backpressure


def test_c21_the_chapter_s_buffer():
    """64 KiB, 12 and 4 KiB/s: full after 8 s, drained in 16 s; a quarter of a second under way is 3 KiB."""
    kib = 1024
    assert backpressure.fill_seconds(64 * kib, 12 * kib, 4 * kib) == 8
    assert backpressure.drain_seconds(64 * kib, 4 * kib) == 16
    assert backpressure.fill_seconds(64 * kib, 4 * kib, 4 * kib) is None
    assert backpressure.high_water(64 * kib, 12 * kib, Fraction(1, 4)) == 61 * kib
    assert backpressure.high_water(10, 3, Fraction(1, 2)) == 8  # 1.5 made: two must still fit


MADE, READ = 83_333_333, 250_000_000  # ns a token, as the engine rounds a twelfth and a quarter of a second


def levels(tokens: int, pausing: bool, buffer: int = 64) -> list[tuple[int, int]]:
    """The buffer after each change, in ns: a token every twelfth while it has room, one read every quarter."""
    left, level, reading = tokens, 0, None
    ready: int | None = MADE
    path = []
    while left or level:
        made = ready if left else None
        now = min(at for at in (made, reading) if at is not None)
        if now == made:
            level, left = level + 1, left - 1
            reading = now + READ if reading is None else reading
            ready = now + MADE
        else:
            level -= 1
            reading = now + READ if level else None
            ready = now + MADE if ready is None else ready
        if pausing and level >= buffer:
            ready = None
        path.append((now, level))
    return path


@pytest.mark.parametrize("pausing", [True, False])
@pytest.mark.parametrize("tokens", [10, 95, 120])
def test_the_engine_s_buffer_is_that_of_the_recursion(tokens, pausing):
    told = backpressure.one_reader(tokens=tokens, pausing=pausing)
    assert [(at * 10**9, level) for at, level in told.path] == levels(tokens, pausing)
    assert told.peak == max(level for _, level in told.path)
    full = [at for at, level in told.path if level >= 64]
    assert (told.full_at, told.empty_at) == (full[0] if full else None, told.path[-1][0])


def test_c21_the_engine_fills_it_in_8_s_and_drains_it_in_16():
    """Within one token made and one read of the fluid: 1/12 + 1/4 s."""
    told = backpressure.one_reader(tokens=95)  # as many as fill it and no more
    assert abs(told.full_at - 8) <= Fraction(1, 3)
    assert abs(told.empty_at - told.full_at - 16) <= Fraction(1, 3)
    assert told.peak == 64


def test_without_the_link_the_buffer_is_the_server_s_memory():
    """(12 − 4) a second for as long as it lasts: 300 tokens in 25 s leave 200 unread."""
    told = backpressure.one_reader(tokens=300, pausing=False)
    assert abs(told.peak - 200) <= 2
    assert backpressure.one_reader(tokens=300).peak == 64


def test_c21_a_pause_at_the_very_top_overflows_by_the_round_in_flight():
    """At depth 2 one round of a twelfth of a second is under way: 65 of 64. The high-water mark, 63, keeps it at 64."""
    assert backpressure.one_reader(tokens=200, depth=2).peak == 65
    mark = backpressure.high_water(64, 12, Fraction(1, 12))
    assert mark == 63
    assert backpressure.one_reader(tokens=200, depth=2, buffer=mark).peak == 64


@pytest.fixture(scope="module")
def chains():
    return {chain.cut: chain for chain in backpressure.chains()}


def test_c20_whole_every_tank_keeps_its_bound(chains):
    """Four seats, eight in the queue; at most 8 unread for each of four, and for those who have their last tokens."""
    whole = chains[None]
    assert whole.peak("active") == 4
    assert whole.peak("queue") == 8
    assert whole.peak("buffers") <= 8 * 4 + 16
    assert whole.finished + whole.refused + whole.expired == 160


@pytest.mark.parametrize(
    ("link", "tank"), [("output", "buffers"), ("active", "active"), ("queue", "queue"), ("entry", "doomed")]
)
def test_c20_a_link_that_is_cut_lets_its_own_tank_grow(chains, link, tank):
    assert chains[link].peak(tank) > 2 * chains[None].peak(tank)


def test_what_a_cancelled_client_did_not_read_is_thrown_away():
    """Case 20, impatient: the buffer is full when patience is over; it is nobody's memory then."""
    tanks = backpressure.Tanks()
    for event in run("case20_impatient").journal[1:]:
        tanks.feed(event)
    assert max(level for _, level in tanks.paths["buffers"]) == 4
    assert tanks.paths["buffers"][-1][1] == 0


def test_the_tanks_are_those_of_the_result():
    """Counted another way: from the result's rounds and rows."""
    document = backpressure.chain_document("active")
    done = run(document)
    tanks = backpressure.Tanks()
    for event in done.journal[1:]:
        tanks.feed(event)
    rows = done.result["requests"]
    assert tanks.ends["finished"] == done.result["summary"]["finished"]
    assert tanks.ends["refused"] == done.result["summary"]["rejected"]
    assert tanks.ends["expired"] == done.result["summary"]["expired"]
    assert max(level for _, level in tanks.paths["queue"]) >= max(r["waiting"] for r in done.result["rounds"])
    unread = [
        sum(
            sum(t <= at for t in row["token_times"]) - sum(t <= at for t in row["delivered_times"])
            for row in rows
        )
        for at in (20.0, 40.0, 60.0)
    ]
    at_time = {at: [level for when, level in tanks.paths["buffers"] if when <= at][-1] for at in (20, 40, 60)}
    assert list(at_time.values()) == unread
    assert tanks.paths["buffers"][-1][1] == 0
