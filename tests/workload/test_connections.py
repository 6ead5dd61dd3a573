"""A client with few connections: what waits in it is sent later, and remembers when it was meant to be (case 24)."""

from __future__ import annotations

import heapq
import random
from fractions import Fraction

import pytest

from labkit.measure.metrics import measure
from labkit.scenario import run
from labkit.workload.arrivals import Arrivals
from labkit.workload.connections import Connections
from labkit.workload.random_laws import Fixed


def client(count: int, requests: int = 6, rate: int = 10) -> Connections:
    even = Arrivals(
        process="fixed", rate=Fraction(rate), count=requests, seed=0, prompt=Fixed(1), output=Fixed(1)
    )
    return Connections(even, count)


def test_a_request_waits_until_a_connection_is_free():
    source = client(2)
    first, second = source.take(), source.take()
    assert [job.request.arrival_ns for job in (first, second)] == [0, 100_000_000]
    assert first.client.intended_ns is None
    assert source.peek() is None
    with pytest.raises(LookupError):
        source.take()
    source.notify_end("r1", 350_000_000)
    assert source.peek() == 350_000_000
    source.notify_end("r0", 330_000_000)  # told later, free earlier
    third = source.take()
    assert (third.request.id, third.request.arrival_ns, third.client.intended_ns) == (
        "r2",
        330_000_000,
        200_000_000,
    )
    fourth = source.take()
    assert (fourth.request.arrival_ns, fourth.client.intended_ns) == (350_000_000, 300_000_000)


def test_a_connection_that_is_free_in_time_delays_nothing():
    source = client(1)
    source.take()
    source.notify_end("r0", 20_000_000)
    job = source.take()
    assert (job.request.arrival_ns, job.client.intended_ns) == (100_000_000, None)


@pytest.mark.parametrize("connections", [1, 2, 5])
def test_sending_times_are_those_of_a_queue_of_so_many_servers(connections):
    """Against the first-come-first-served recursion of a queue with `connections` servers."""
    luck = random.Random(connections)
    holds = [luck.randrange(1, 600_000_000) for _ in range(200)]
    source = client(connections, 200, rate=10)
    free = [0] * connections
    now_free: list[tuple[int, str]] = []
    for place, hold in enumerate(holds):
        while source.peek() is None:
            at, name = heapq.heappop(now_free)
            source.notify_end(name, at)
        while now_free and now_free[0][0] <= source.peek():
            at, name = heapq.heappop(now_free)
            source.notify_end(name, at)
        job = source.take()
        meant = place * 100_000_000
        sent = max(meant, heapq.heappop(free))
        heapq.heappush(free, sent + hold)
        assert job.request.arrival_ns == sent
        assert job.client.intended_ns == (None if sent == meant else meant)
        heapq.heappush(now_free, (sent + hold, job.request.id))
    assert source.peek() is None


def test_case_24():
    """Eight at 10/s, 500 ms, one connection: mean (Σ 0.5(i + 1) − 0.1 i)/8 = 1.9 s from intended, 0.5 from sent."""
    values = measure(run("case24_connections").journal)
    assert values["intended_sojourn_mean"] == Fraction(19, 10)
    assert values["sojourn_mean"] == Fraction(1, 2)


def test_a_deadline_does_not_move_with_the_sending():
    """Meant at 100 ms with 150 ms of patience, sent at 500 ms: too late at the door."""
    one = {"kind": "fixed", "value": 1}
    fields = {
        "process": "fixed",
        "rate": 10,
        "count": 2,
        "prompt": one,
        "output": one,
        "deadline_seconds": 0.6,
    }
    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 1, "seats": 1},
        "cost": {"kind": "table", "seconds": {"1": 0.5}},
        "connections": 1,
        "arrivals": fields,
    }
    rows = run(document).result["requests"]
    assert [(row["outcome"], row["reason"], row["arrival"]) for row in rows] == [
        ("finished", None, 0.0),
        ("rejected", "deadline", 0.5),
    ]
