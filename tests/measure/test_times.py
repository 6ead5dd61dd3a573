"""One request on its clocks: E31.1, E31.2, C01–C05, C30, Q31.1."""

from fractions import Fraction

import pytest

from labkit.measure.fold import Measures
from labkit.measure.metrics import measure
from tests.measure.lines import MS, admit, deliver, end, in_order, plan, ran, submit, token, tokens


def one(*events, **window):
    [times] = Measures(**window).feed_all(in_order(*events)).close().requests
    return times


def test_q31_1_one_request():
    """Q31.1, C01: TTFT 0.3, W 0.1, TPOT 0.02 of 30 gaps, the last token at 0.9 s; W is inside TTFT."""
    at = [300 + 20 * j for j in range(31)]
    metrics = measure(
        in_order(
            submit("A", 0), plan(0, 100, ("A", 4, 0, "prefill")), admit("A", 100), tokens("A", *at[:1]),
            ran(0, 100, 300), [token("A", t, i) for i, t in enumerate(at[1:], start=2)], end("finish", "A", 900),
        )
    )  # fmt: skip
    assert metrics["ttft_mean"] == Fraction(3, 10)
    assert metrics["wait_mean"] == Fraction(1, 10)
    assert metrics["tpot_mean"] == Fraction(2, 100)
    assert metrics["sojourn_mean"] == Fraction(9, 10) == metrics["ttft_mean"] + 30 * metrics["tpot_mean"]
    # C01: whoever adds the wait again overshoots by exactly the wait
    again = metrics["wait_mean"] + metrics["ttft_mean"] + 30 * metrics["tpot_mean"]
    assert again - metrics["sojourn_mean"] == metrics["wait_mean"]


def test_c02_one_token_has_no_tpot():
    """C02: undefined, never 0; the request still counts in TTFT, and means are of those that have one."""
    events = in_order(
        submit("A", 0), tokens("A", 10), end("finish", "A", 10),
        submit("B", 0), tokens("B", 10, 16), end("finish", "B", 16),
    )  # fmt: skip
    fold = Measures().feed_all(events).close()
    a, b = fold.requests
    assert a.tpot() is None and a.itl_max is None
    assert b.tpot() == (6 * MS, True)
    assert (fold.sample("tpot").size, fold.sample("ttft").size) == (1, 2)
    assert fold.sample("tpot").mean() == Fraction(6, 1000)


def test_c03_a_failure_without_output_is_no_latency_of_zero():
    """C03: it goes to the failure count; no mean holds it, and in a percentile it is 'at least so long'."""
    done = [submit("A", 0), *tokens("A", 10), end("finish", "A", 10)]
    events = in_order(done, submit("B", 0), end("fail", "B", 7, "fault"))
    metrics = measure(events)
    assert (metrics["failed"], metrics["finished"]) == (1, 1)
    assert metrics["ttft_mean"] == Fraction(1, 100)
    assert metrics["ttft_p50"] == Fraction(1, 100)
    assert metrics["ttft_p99"] is None
    fold = Measures().feed_all(events).close()
    assert fold.sample("ttft").measured == 1 and fold.sample("ttft").censored == 1


def test_c04_chunks_have_intervals_and_no_itl():
    """C04, case 23: three tokens at a time; the worker's gaps are 10 ms, the client sees 30 ms between chunks."""
    first, second = tokens("A", 10, 20, 30, 40, 50, 60)[:3], tokens("A", 10, 20, 30, 40, 50, 60)[3:]
    read = [[deliver("A", at, index) for index in three] for at, three in ((30, (1, 2, 3)), (60, (4, 5, 6)))]
    events = [submit("A", 0, direct=False), *first, *read[0], *second, end("finish", "A", 60), *read[1]]
    metrics = measure(events)
    assert metrics["itl_mean"] == Fraction(10, 1000) == metrics["itl_max"]
    assert metrics["client_itl_mean"] is None and metrics["client_tpot_mean"] is None
    assert metrics["chunk_interval_mean"] == Fraction(30, 1000)
    assert metrics["client_ttft_mean"] == Fraction(30, 1000) and metrics["ttft_mean"] == Fraction(10, 1000)


def test_c05_the_two_points_differ_by_the_network():
    """C05: the same run, each token 7 ms later at the client; gaps are the same, the end is the last delivery."""
    events = in_order(
        submit("A", 0, direct=False),
        [token("A", 10, 1), deliver("A", 10, 1, at=17), token("A", 20, 2)],
        [end("finish", "A", 20), deliver("A", 20, 2, at=27)],
    )
    times = one(events)
    assert (times.ttft("worker").ns, times.ttft("client").ns) == (10 * MS, 17 * MS)
    assert times.tpot("worker") == times.tpot("client") == (10 * MS, True)
    assert (times.sojourn("worker").ns, times.sojourn("client").ns) == (20 * MS, 27 * MS)
    assert times.end == 27 * MS


def test_c30_from_the_intended_start():
    """C30: meant for 2 ms, sent at 12 ms since the client was stuck; from the intended start it took 10 ms more."""
    times = one(submit("A", 12, intended=2), tokens("A", 15), end("finish", "A", 15))
    assert times.ttft("client").ns == 3 * MS
    assert times.ttft("intended").ns == 13 * MS
    assert times.sojourn("intended").ns == 13 * MS
    plain = one(submit("A", 12), tokens("A", 15), end("finish", "A", 15))
    assert plain.ttft("intended") == plain.ttft("client")


def test_a_request_cut_off_says_at_least():
    """Two tokens at 10 and 14 ms, cancelled at 30: at most 5 were asked, so TPOT ≥ (30 − 10)/4 ms; a gap of ≥ 16 ms."""
    fold = (
        Measures()
        .feed_all(in_order(submit("A", 0, bound=5), tokens("A", 10, 14), end("cancel", "A", 30)))
        .close()
    )
    [times] = fold.requests
    assert times.ttft() == (10 * MS, True)
    assert times.tpot() == (Fraction(20 * MS, 4), False)
    assert times.sojourn() == (30 * MS, False)
    assert dict(fold.gaps["itl"].exact) == {4 * MS: 1} and dict(fold.gaps["itl"].least) == {16 * MS: 1}


def test_a_journal_that_breaks_off_leaves_everyone_unfinished():
    fold = Measures().feed_all(in_order(submit("A", 0), submit("B", 3), tokens("A", 10))).close()
    assert fold.counts["unfinished"] == 2
    a, b = fold.requests
    assert a.ttft() == (10 * MS, True) and b.ttft() == (7 * MS, False)
    assert fold.close() is fold


@pytest.mark.parametrize(("point", "low"), [("worker", 20), ("client", 27)])
def test_delivery_that_never_completes_is_seen_at_the_worker_alone(point, low):
    out = [token("A", 10, 1), deliver("A", 10, 1, at=17), token("A", 20, 2), end("finish", "A", 20)]
    events = in_order(submit("A", 0, direct=False), out, submit("B", 27))
    times = Measures().feed_all(events).close().requests
    [a] = [t for t in times if t.id == "A"]
    assert a.sojourn(point) == (low * MS, point == "worker")
