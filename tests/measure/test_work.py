"""Rounds, recomputation, backlog and the age of the queue, by hand: C06, C20, C28, Q31.13."""

import itertools
from fractions import Fraction

import labkit
from labkit.measure.fold import Measures
from labkit.measure.metrics import METRICS, measure
from labkit.measure.steps import MOST, Steps, Thin
from labkit.measure.work import Age
from tests.measure.lines import MS, admit, deliver, end, in_order, plan, ran, submit, token, tokens


def test_c06_four_rates_and_hits_that_cost_no_computing():
    """C06: two requests of 12 prompt tokens in 40 ms, the second finds 8 of its 12 in the cache."""
    events = in_order(
        submit("A", 0, prompt=12), plan(0, 0, ("A", 12, 0, "prefill")), admit("A", 0), tokens("A", 10), ran(0, 0, 10),
        end("finish", "A", 10),
        submit("B", 10, prompt=12), plan(1, 10, ("B", 4, 8, "prefill")), admit("B", 10, context=8, cached=8),
        token("B", 20, 1), ran(1, 10, 20), plan(2, 20, ("B", 1, 12, "decode")), token("B", 40, 2), ran(2, 20, 40),
        end("finish", "B", 40),
    )  # fmt: skip
    metrics = measure(events)
    assert metrics["throughput_requests"] == 50
    assert metrics["throughput_input"] == 600
    assert metrics["throughput_input_computed"] == 400 < metrics["throughput_input"]
    assert metrics["throughput_output"] == 75
    assert metrics["token_flow"] == 675 != metrics["throughput_input_computed"] + metrics["throughput_output"]
    assert metrics["round_tokens_mean"] == Fraction(17, 3)
    assert metrics["busy_share"] == 1 and metrics["seats_mean"] == 1


def test_c28_two_ratios_that_are_called_recomputation():
    """C28: case 5 recomputes 12 of 51 positions: 12/39 of those computed first; newly generated per executed 15/51."""
    run = labkit.run("case05_swap_full")
    metrics = measure(run.journal)
    executed = sum(r["computed_tokens"] for r in run.result["requests"])
    again = sum(r["recomputed_tokens"] for r in run.result["requests"])
    out = sum(len(r["token_times"]) for r in run.result["requests"])
    assert (executed, again, out) == (51, 12, 15)
    assert metrics["recompute_ratio"] == Fraction(12, 39)
    assert metrics["generated_per_executed"] == Fraction(15, 51)
    assert metrics["preemptions"] == 2 and metrics["preempted_share"] == Fraction(1, 2)


def test_c20_backlog_is_what_is_emitted_and_not_delivered():
    """C20: tokens at 10, 20, 30 ms, read at 20, 40 ms; the client leaves at 50 and one token is lost.
    Backlog 1 on [10, 30), 2 on [30, 40), 1 on [40, 50): area 50 ms over 50 ms."""
    events = in_order(
        submit("A", 0, direct=False),
        [token("A", 10, 1), deliver("A", 20, 1), token("A", 20, 2), token("A", 30, 3), deliver("A", 40, 2)],
        end("cancel", "A", 50, "slow_reader"),
    )
    metrics = measure(events)
    assert metrics["backlog_mean"] == 1
    assert metrics["backlog_peak"] == 2 == metrics["buffer_peak"]
    assert metrics["tokens_lost"] == 1
    assert measure(in_order(submit("A", 0), tokens("A", 10), end("finish", "A", 10)))["backlog_peak"] == 0


def test_what_is_under_way_in_the_network_is_backlog_but_not_in_the_buffer():
    events = in_order(
        submit("A", 0, direct=False),
        [token("A", 10, 1), deliver("A", 10, 1, at=30), token("A", 20, 2)],
        [end("finish", "A", 20), deliver("A", 20, 2, at=40)],
    )
    metrics = measure(events)
    assert metrics["backlog_peak"] == 2 and metrics["buffer_peak"] == 1
    assert metrics["backlog_mean"] == Fraction(40, 40)
    assert metrics["system_mean"] == 1


def test_q31_13_the_age_of_an_overloaded_queue_climbs():
    """Q31.13: one waits from 0 and one from 5 ms on, rounds end at 10, 20, 30 ms: age 10, 20, 30, slope 1. Then the
    first runs and the second has waited 35 at 40."""
    events = in_order(
        submit("A", 0), submit("B", 5), submit("C", 0, prefilled=True),
        plan(0, 0, ("C", 1, 4, "decode")), admit("C", 0, context=4), token("C", 10, 1), ran(0, 0, 10),
        plan(1, 10, ("C", 1, 5, "decode")), token("C", 20, 2), ran(1, 10, 20),
        plan(2, 20, ("C", 1, 6, "decode")), token("C", 30, 3), ran(2, 20, 30), end("finish", "C", 30),
    )  # fmt: skip
    metrics = measure(events)
    assert metrics["queue_age_slope"] == 1
    assert metrics["queue_age_max"] == Fraction(30, 1000) and metrics["queue_age_mean"] == Fraction(20, 1000)
    more = [plan(3, 30, ("A", 4, 0, "prefill")), admit("A", 30), token("A", 40, 1), ran(3, 30, 40)]
    assert measure([*events, *more])["queue_age_max"] == Fraction(35, 1000)


def test_the_slope_is_that_of_least_squares():
    """Points (0, 1), (1, 2), (2, 2), (3, 5): slope (4·21 − 6·10)/(4·14 − 36) = 24/20."""
    age = Age()
    for t, a in ((0, 1), (1, 2), (2, 2), (3, 5)):
        age.add(t, a)
    assert age.slope == Fraction(6, 5)
    lone = Age()
    lone.add(5, 1)
    assert lone.slope is None and Age().mean is None


def test_a_round_over_the_edge_of_a_window_counts_with_its_part():
    """A round from 0 to 10 ms and a window that ends at 4 ms: busy 4 of 4 ms, no round ended, no position counted."""
    out = [
        plan(0, 0, ("A", 4, 0, "prefill")),
        admit("A", 0),
        token("A", 10, 1),
        ran(0, 0, 10),
        end("finish", "A", 10),
    ]
    events = in_order(submit("A", 0), out)
    metrics = measure(events, end=4 * MS)
    assert metrics["busy_share"] == 1
    assert metrics["rounds"] == 0 and metrics["throughput_output"] == 0
    assert metrics["finished"] == 1  # of those sent in the window, whenever they ended
    assert measure(events, start=4 * MS)["submitted"] == 0


def test_steps_take_changes_that_lie_ahead():
    steps = Steps(start=5)
    steps.change(0, 2)
    steps.change(10, -1)
    steps.advance(8)
    assert (steps.value, steps.area) == (2, 6)
    steps.advance(20)
    assert (steps.value, steps.area, steps.peak) == (1, 6 + 4 + 10, 2)


def test_a_thin_copy_of_few_pieces_is_the_function_itself():
    """A hole is a zero; what touches and is equal is one piece; the end may come later."""
    thin = Thin()
    thin.add(5, 7, 2)
    thin.add(7, 9, 2)
    thin.add(9, 10, 1)
    thin.reach(12)
    assert thin.bins() == [(0, 5, 0, 0), (5, 9, 8, 2), (9, 10, 1, 1), (10, 12, 0, 0)]


def test_a_thin_copy_keeps_the_area_and_the_peak():
    """512 bins hold any span: the area is exact, the peak is kept, and so is the end."""
    thin, whole = Thin(), 0
    for k in range(3000):
        thin.add(k * 7, k * 7 + 7, k % 5)
        whole += 7 * (k % 5)
    bins = thin.bins()
    assert len(bins) <= MOST
    assert sum(area for _, _, area, _ in bins) == whole
    assert max(peak for *_, peak in bins) == 4
    assert bins[-1][1] == 21000
    assert all(end == start for (_, end, _, _), (start, *_) in itertools.pairwise(bins))


def test_every_metric_says_what_it_is():
    assert len(METRICS) > 80
    for name, metric in METRICS.items():
        assert metric.name == name and metric.unit and len(metric.doc) > 8
        assert metric.better in ("low", "high", None)
    empty = Measures()
    assert measure([]).keys() == METRICS.keys()
    assert empty.close().counts["submitted"] == 0
