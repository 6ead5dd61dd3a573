"""The fold against a slow recomputation from the raw events, on random runs; Little's law on random windows."""

import itertools
import tracemalloc
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labkit
from labkit.bootstrap import ROOT
from labkit.measure.fold import Measures
from labkit.measure.little import REGIONS
from labkit.measure.metrics import METRICS, measure
from labkit.measure.result import FoldError
from tests.measure import brute
from tests.measure.lines import end as end_of
from tests.measure.lines import submit, token
from tests.measure.scenarios import scenarios, windows

FEW = settings(max_examples=60)


def observed_until(events, ones):
    """Return the end of the observation: `until`, else the last end, or the last event if somebody is left."""
    for event in events:
        if event["event"] == "until":
            return event["t"]
    ends = [one.gone for one in ones if one.gone is not None]
    ends += [event["t"] for event in events if event["event"] == "round"]
    if any(one.gone is None for one in ones):
        ends.append(events[-1]["t"])
    return max(ends, default=0)


@FEW
@given(scenarios())
def test_every_request_has_the_clocks_that_its_events_tell(document):
    """E31.1, E31.2, C01, C02, C05."""
    run = labkit.run(document)
    events = run.journal[1:]
    ones = {one.name: one for one in brute.read(events)}
    stop = observed_until(events, ones.values())
    fold = Measures().feed_all(run.journal).close()
    assert fold.header == run.journal[0]
    seen = fold.requests
    assert sorted(row.id for row in seen) == sorted(ones)
    for row in seen:
        one = ones[row.id]
        assert (row.outcome.value, row.sent, row.output) == (one.outcome, one.sent, len(one.emitted))
        until = stop if one.gone is None else one.gone
        if one.emitted:
            assert row.ttft() == (one.emitted[0] - one.sent, True)
        else:
            assert row.ttft() == (until - one.sent, False)
        if one.delivered:
            assert row.ttft("client") == (one.delivered[0] - one.sent, True)
        else:
            assert row.ttft("client") == (until - one.sent, False)
        if one.first_run is not None:
            assert row.wait() == (one.first_run - one.sent, True)
            assert not one.emitted or row.ttft().ns >= row.wait().ns
        if one.whole:
            assert row.sojourn() == (one.delivered[-1] - one.sent, True)
            # E31.2's identity at the worker
            last = one.emitted[-1] - one.sent
            gaps = len(one.emitted) - 1
            assert last == row.ttft().ns + (row.tpot().ns * gaps if gaps else 0)
            assert (row.tpot() is None) == (gaps == 0)
        else:
            assert row.sojourn() == (until - one.sent, False)
        assert row.waited == one.spent("queue", 0, until)
        assert row.chunked == (len(set(one.delivered)) < len(one.delivered))


@FEW
@given(scenarios(), windows)
def test_littles_law_holds_on_every_window_of_every_run(document, window):
    """E31.6–8, C16, N05: to the nanosecond, for the system, the queue and each stage, with any window."""
    low, length = window
    high = None if length is None else low + length
    run = labkit.run(document)
    events = run.journal[1:]
    ones = brute.read(events)
    fold = Measures(start=low, end=high).feed_all(run.journal).close()
    end = max(low, observed_until(events, ones)) if high is None else high
    stages = 0
    for region in REGIONS:
        little = fold.residence.little(region)
        assert (little.start, little.end) == (low, end)
        assert little.area == brute.area(ones, region, low, end)
        assert little.residence == sum(one.spent(region, low, end) for one in ones)
        assert little.exact
        assert little.peak == brute.peak(ones, region, low, end)
        left = [one for one in ones if one.gone is not None and low <= one.gone <= end]
        left = [one for one in left if one.gone > low or one.sent == low]
        assert little.departures == len(left)
        assert little.departed_time == sum(one.spent(region, 0, end) for one in left)
        assert little.arrivals == sum(low <= one.sent and (high is None or one.sent < high) for one in ones)
        if left and end > low:
            assert little.mean_number == little.rate * little.mean_time + little.boundary
        accepted = fold.residence.little(region, accepted_only=True)
        assert accepted.exact
        assert accepted.departures == sum(one.outcome != "rejected" for one in left)
        stages += little.area if region not in ("system", "queue") else 0
    assert stages == fold.residence.little("system").area
    queue = fold.residence.little("queue").area
    assert queue == sum(fold.residence.little(stage).area for stage in ("queued", "swapped"))


@FEW
@given(scenarios(), windows)
def test_work_of_a_window_is_what_its_rounds_did(document, window):
    """C06, C28, N16: counts from rounds and tokens; two bills, each of them the busy time exactly."""
    low, length = window
    high = None if length is None else low + length
    run = labkit.run(document)
    events = run.journal[1:]
    ones = brute.read(events)
    fold = Measures(start=low, end=high).feed_all(run.journal).close()
    end = max(low, observed_until(events, ones)) if high is None else high
    plans = {e["round"]: e["items"] for e in events if e["event"] == "plan" and e["items"]}
    rounds = [e for e in events if e["event"] == "round"]
    work = fold.work
    assert work.busy == sum(max(0, min(e["t"], end) - max(e["start"], low)) for e in rounds)
    inside = [e for e in rounds if low < e["t"] <= end]
    assert work.rounds == len(inside)
    assert work.executed == sum(item[1] for e in inside for item in plans[e["round"]])
    assert work.generated == sum(low < t <= end for one in ones for t in one.emitted)
    assert work.finished == sum(one.whole and low < one.gone <= end for one in ones)
    for rule in ("positions", "seats"):
        assert sum(work.bill(rule).values(), Fraction(0)) == Fraction(work.busy, 10**9)
    # the backlog: what is emitted and not yet with the client, or dropped with its request
    changes = Counter()
    for one in ones:
        if one.submit["direct"]:
            continue
        for t in one.emitted:
            changes[t] += 1
        for t in one.delivered:
            changes[t] -= 1
        if one.gone is not None:
            changes[one.terminal] -= len(one.emitted) - len(one.delivered)
    total = area = 0
    marks = sorted({*changes, low, end})
    for a, b in itertools.pairwise(marks):
        total += changes[a]
        area += total * max(0, min(b, end) - max(a, low))
    assert work.backlog.area == area


@FEW
@given(scenarios())
def test_a_run_measured_whole_agrees_with_its_result(document):
    run = labkit.run(document)
    summary = run.result["summary"]
    metrics = measure(run.journal)
    assert metrics.keys() == METRICS.keys()
    for name in ("submitted", "finished", "rejected", "cancelled", "expired", "failed", "unfinished"):
        assert metrics[name] == summary[name]
    assert float(metrics["seconds"]) == summary["seconds"]
    ratio = metrics["recompute_ratio"]
    assert (None if ratio is None else float(ratio)) == summary["recompute_ratio"]
    assert all(value is None or isinstance(value, Fraction) for value in metrics.values())
    ttft = [row["ttft"] for row in run.result["requests"] if row["ttft"] is not None]
    if ttft:
        assert (
            float(metrics["ttft_mean"]) == float(sum(map(Fraction, ttft)) / len(ttft))
            or abs(float(metrics["ttft_mean"]) - sum(ttft) / len(ttft)) < 1e-9
        )


@FEW
@given(scenarios(), st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)]))
def test_percentiles_keep_everyone_who_was_accepted(document, share):
    """C31: who was cut off counts as at least so long, between its least and infinity; nobody is dropped."""
    run = labkit.run(document)
    events = run.journal[1:]
    ones = [one for one in brute.read(events) if one.outcome != "rejected"]
    stop = observed_until(events, brute.read(events))
    sample = Measures().feed_all(run.journal).close().sample("sojourn")
    assert sample.size == len(ones)
    if not ones:
        assert sample.percentile(share) == (None, None)
        return
    least = [(stop if one.gone is None else one.gone) - one.sent for one in ones]
    most = [one.gone - one.sent if one.whole else float("inf") for one in ones]
    low, high = brute.nearest_rank(least, share), brute.nearest_rank(most, share)
    bounds = sample.percentile(share)
    assert bounds.low == brute.seconds(low)
    assert bounds.high == (None if high == float("inf") else brute.seconds(high))


@FEW
@given(scenarios())
def test_pooled_gaps_are_all_gaps(document):
    """C04, C29: every gap once at the worker; at the client gaps or chunk intervals, never both for one request."""
    run = labkit.run(document)
    events = run.journal[1:]
    ones = list(brute.read(events))
    fold = Measures().feed_all(run.journal).close()
    worker, client, chunks = Counter(), Counter(), Counter()
    for one in ones:
        worker.update(b - a for a, b in zip(one.emitted, one.emitted[1:], strict=False))
        at = sorted(set(one.delivered))
        target = chunks if len(at) < len(one.delivered) else client
        target.update(b - a for a, b in itertools.pairwise(at))
    assert fold.gaps["itl"].exact == worker
    assert fold.gaps["client_itl"].exact == client
    assert fold.gaps["chunk_interval"].exact == chunks


LIBRARY = sorted(
    path.stem
    for path in (ROOT / "labkit" / "scenario" / "library").glob("*.json")
    if path.stem != "small_trace"
)


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("window", [(0, None), (15 * 10**6, 30 * 10**6)], ids=["all", "part"])
def test_littles_law_holds_for_every_scenario_of_the_library(name, window):
    """E31.6–8: with every preemption, swap, pause and refusal that the library holds."""
    low, high = window
    run = labkit.run(name)
    ones = brute.read(run.journal[1:])
    fold = Measures(start=low, end=high).feed_all(run.journal).close()
    end = observed_until(run.journal[1:], ones) if high is None else high
    for region in REGIONS:
        little = fold.residence.little(region)
        assert little.exact
        assert little.residence == sum(one.spent(region, low, end) for one in ones)


def test_events_that_no_run_could_have_written_are_refused():
    run = labkit.run("x1_continuous")
    with pytest.raises(FoldError, match="not in the system"):
        Measures().feed_all(event for event in run.journal if event.get("event") != "submit")


def test_memory_does_not_grow_with_tokens():
    """What is kept is a row a request and how often each gap was seen: ten times the tokens cost a few kB more."""

    def lines(tokens):
        t = 0
        for k in range(60):
            yield submit(f"r{k}", t)
            for index in range(1, tokens + 1):
                t += 1
                yield token(f"r{k}", t, index)
            yield end_of("finish", f"r{k}", t)

    def peak(tokens):
        tracemalloc.start()
        try:
            fold = Measures(thin=True).feed_all(lines(tokens)).close()
            assert fold.gaps["itl"].size == 60 * (tokens - 1)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(30)
    # Token times and gaps of the one request in the system: two lists of 32-byte integers, an eighth to spare each.
    # Keeping a mere reference to every token would be 130 kB.
    assert peak(300) - peak(30) < 270 * 2 * 40 * 9 / 8 + 5_000
