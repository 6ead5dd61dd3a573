"""Frames against the result object and against the engine's own state, neither of which they are made from."""

import json
import random
from fractions import Fraction

import pytest

import labkit
from labkit.engine.journal import read, writer
from labkit.engine.loop import Engine
from labkit.executors.virtual import VirtualExecutor
from labkit.scenario.load import load, names
from labkit.show.replay.frame import Limits
from labkit.show.replay.frames import FrameFold, frames
from labkit.show.replay.pagemap import CELLS, PageMap, Prefix
from labkit.show.replay.roster import FIRST
from labkit.show.replay.sentences import Teller


def ns(seconds):
    return round(Fraction(seconds) * 10**9)


def check_against_result(run):
    """Compare every round, every request and every total with the result object."""
    limits, found = frames(run.journal)
    result = run.result
    told = [frame for frame in found if frame.kind == "round"]
    emitted, ended = {}, {}
    for frame in found:
        for told_end in (*frame.before, *frame.during, *frame.after):
            if told_end.kind in ("finish", "reject", "cancel", "expire", "fail"):
                ended[told_end.id] = told_end
        for id_, index in frame.tokens:
            emitted.setdefault(id_, []).append(frame.end)
            assert len(emitted[id_]) == index
        totals = frame.totals
        parts = ("waiting", "swapped", "active", "finish", "reject", "cancel", "expire", "fail")
        assert totals["submitted"] == sum(totals[part] for part in parts)
    assert len(told) == len(result["rounds"])
    for frame, row in zip(told, result["rounds"], strict=True):
        assert (frame.round, frame.start, frame.end) == (
            row["index"],
            ns(row["start"]),
            ns(row["start"]) + ns(row["seconds"]),
        )
        does = {
            (s.id, s.does, s.new, s.context) for s in frame.seats if s and s.does in ("prefill", "decode")
        }
        items = {(i["id"], i["phase"], i["new_tokens"], i["context"]) for i in row["items"]}
        assert does == {item for item in items if item[0] not in frame.wasted}
        assert set(frame.wasted) <= {item[0] for item in items}
        if frame.fixed is not None:
            number, planned = frame.fixed
            after = result["rounds"][number]["items"]
            assert planned == [[i["id"], i["new_tokens"], i["context"], i["phase"]] for i in after]
        if limits.overlaps:
            continue  # the result's are those of the instant at which the round was planned
        assert frame.waiting == row["waiting"]
        assert frame.pages.in_use == row["pages_in_use"]
        assert frame.pages.in_use + frame.pages.promised == row["pages_reserved"]
    for request in result["requests"]:
        assert [ns(t) for t in request["token_times"]] == emitted.get(request["id"], [])
        if request["outcome"] != "unfinished":
            assert ended[request["id"]].data["reason"] == request["reason"]
    for at, frame in enumerate(found[1:]):
        assert frame.start >= found[at].start
        assert frame.start == found[at].end, "time is told without a gap"
    assert found[-1].kind == "end"
    return found


@pytest.mark.parametrize("name", names())
def test_library(name):
    check_against_result(labkit.run(name))


def test_crowds_against_the_engine_itself(crowd):
    """Follow queue, seats, pages, sharing and caching at every round's start through the engine's own state."""
    scenario = load(crowd)
    events, truth = [], {}
    engine = Engine(
        scenario.setup,
        VirtualExecutor(scenario.cost),
        scenario.source(),
        estimate=scenario.estimate,
        sink=events.append,
        check_every=1,
    )
    launch, state = engine.executor.launch, engine.state

    def look(plan):
        pool = state.pool
        queue = [s.id for q in (state.swapped, state.waiting) for s in state.ordering.ranked(q)]
        shared = sum(count > 1 for count in pool.references)
        owners = {}
        for seq in state.active:
            for ref in seq.table:
                owners.setdefault(ref.id, set()).add(seq.id)
        truth[state.rounds - 1] = (queue, pool.owned, state.promised, shared, len(pool._cached), owners)
        launch(plan)

    engine.executor.launch = look
    engine.run()
    limits = Limits.of({"scenario": scenario.document()})
    fold = FrameFold(limits, 1, limits.pool)
    found = [frame for event in events for frame in fold.feed(event)] + list(fold.close())
    seen = 0
    for frame in found:
        if frame.kind == "round":
            queue, owned, promised, shared, cached, owners = truth[frame.round]
            assert [waiting.id for waiting in frame.queue] == queue[:FIRST]
            assert frame.waiting == len(queue)
            assert tuple(frame.pages) == (owned, promised, shared, cached, 0)
            cells = {at: cell for at, cell in enumerate(frame.cells) if cell.owners}
            assert {at: cell.owners for at, cell in cells.items()} == {
                at: len(who) for at, who in owners.items()
            }
            assert all(set(cell.top) <= owners[at] for at, cell in cells.items())
            assert sum(cell.cached for cell in frame.cells) == cached
            seen += 1
    assert seen == len(truth) > 10


def test_crowds_against_the_result(crowd):
    found = check_against_result(labkit.run(crowd))
    kinds = {told.kind for frame in found for told in (*frame.before, *frame.during, *frame.after)}
    assert {"submit", "admit", "finish", "pause", "resume", "cancel", "read"} <= kinds


def test_a_round_that_overlaps_is_told_with_what_is_fixed_and_what_is_wasted():
    """Case 12: round 1 is fixed at 0; A ends at 10, so that round runs for nothing and holds its 3 pages to 20."""
    first, second, third, end = frames(labkit.run("case12_pages_held_back").journal)[1]
    assert first.fixed == (1, [["A", 1, 8, "decode"]])
    assert (first.wasted, [told.kind for told in first.after]) == ([], ["finish"])
    assert (second.fixed, second.wasted, second.pages.in_use, second.pages.held) == (None, ["A"], 0, 3)
    assert [waiting.id for waiting in second.queue] == ["B"]
    assert (third.pages.in_use, third.pages.held, third.tokens) == (2, 0, [("B", 1)])
    assert (end.kind, end.start) == ("end", 30_000_000)


def test_late_and_lost_rounds_are_told():
    """Round 0 is due at 10 and signals at 15; round 2 never does: given up 50 ms after 30, A is computed again."""
    document = labkit.load("x1_continuous").document()
    document["policy"] |= {"pipeline_depth": 2, "lease_seconds": 0.05}
    document["faults"] = [{"round": 0, "late_seconds": 0.005}, {"round": 2, "lost": True}]
    found = frames(labkit.run(document).journal)[1]
    late, lost = found[0], found[2]
    assert (late.end, late.after[0][:2]) == (10_000_000, (15_000_000, "late"))
    assert [told for told in lost.after if told.kind == "lost"]
    assert lost.tokens == []
    assert {told.kind for told in lost.during} >= {"preempt"}
    assert found[-1].totals["finish"] == 3


def test_reasons_are_the_notes_carried_on():
    """Carry the result's notes from round to round: each frame says the same of everyone who waits."""
    run = labkit.run("case16_no_ping_pong")
    said = {}
    for frame, row in zip(frames(run.journal)[1], run.result["rounds"], strict=False):
        said |= {note["id"]: note["reason"] for note in row["notes"]}
        gave_way = {told.id: "preempted" for told in frame.before if told.kind == "preempt"}
        said |= {
            id_: reason for id_, reason in gave_way.items() if id_ not in {n["id"] for n in row["notes"]}
        }
        assert {w.id: w.reason for w in frame.queue} == {w.id: said[w.id] for w in frame.queue}


def test_an_arrival_during_a_round_is_told_in_it():
    found = frames(labkit.run("case05_swap_full").journal)[1]
    assert [(told.t, told.id) for told in found[1].during] == [(20_000_000, "D")]
    assert found[1].waiting == 1, "the queue is that of the round's start"
    assert found[1].totals["waiting"] + found[1].totals["swapped"] == 2, "totals are those of its end"


def test_time_without_rounds_is_a_frame_of_its_own():
    kinds = [frame.kind for frame in frames(labkit.run("case20_slow_reader").journal)[1]]
    assert kinds.count("idle") == 2
    found = frames(labkit.run("case06_whole_prompt_cached").journal)[1]
    [gap] = [frame for frame in found if frame.kind == "idle"]
    assert (gap.start, gap.end, gap.pages.in_use, gap.pages.cached) == (20_000_000, 30_000_000, 0, 2)
    assert gap.totals["submitted"] == 1


def test_a_killed_run_ends_where_it_was_cut(tmp_path):
    journal = labkit.run("x1_static").journal
    for length in range(1, len(journal)):
        _, found = frames(journal[:length])
        assert found[-1].kind == "end"
        assert [f.round for f in found if f.kind == "round"] == list(
            range(sum(f.kind == "round" for f in found))
        )
    path = tmp_path / "j.jsonl"
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps(journal[0]) + "\n")
        for event in journal[1:]:
            writer(stream)(event)
    assert frames(read(path))[1] == frames(journal)[1]


def test_events_that_no_run_could_have_written_are_refused():
    journal = labkit.run("x1_static").journal
    for kind in ("token", "admit", "finish"):
        stranger = next(e for e in journal if e.get("event") == kind) | {"id": "nobody"}
        with pytest.raises(ValueError, match="nobody"):
            frames([*journal, stranger])
    with pytest.raises(ValueError, match="twice"):
        frames([*journal[:2], journal[1]])
    unplanned = next(e for e in journal if e.get("event") == "round") | {"round": 99}
    with pytest.raises(ValueError, match="round 99"):
        frames([*journal[:2], unplanned])


@pytest.mark.parametrize("seed", range(60))
def test_a_journal_out_of_order_is_refused_or_told_but_never_breaks_it(seed):
    """Drop, double, swap and rename events: all that may come of it is a ValueError."""
    luck = random.Random(seed)
    journal = list(labkit.run("case05_swap_full" if seed % 2 else "case06_whole_prompt_cached").journal)
    for _ in range(luck.randint(1, 6)):
        at, other = luck.randrange(1, len(journal)), luck.randrange(1, len(journal))
        change = luck.randrange(5)
        if change == 0:
            del journal[at]
        elif change == 1:
            journal.insert(other, journal[at])
        elif change == 2:
            journal[at], journal[other] = journal[other], journal[at]
        elif "id" in journal[at]:
            journal[at] = journal[at] | {"id": luck.choice("ABCDZ")}
    try:
        limits, found = frames(journal)
    except ValueError:
        return
    for frame in found:
        Teller(limits, "en").sentence(frame)


def test_a_big_pool_is_folded():
    pages = PageMap(16, fold=4)
    pages.take("a", range(6))
    pages.take("b", [6, 7, 8])
    first, second, third, fourth = pages.cells(4)
    assert (first.top, first.owners, first.used) == (("a",), 1, 4)
    assert (second.top, second.owners, second.used) == (("a", "b"), 2, 4)
    assert (third.top, third.used) == (("b",), 1)
    assert fourth.used == 0
    pages.release("a")
    assert [cell.used for cell in pages.cells(4)] == [0, 2, 1, 0]
    scenario = load("x1_static").document()
    scenario["budget"] |= {"kv_bytes": 16 * 65536 * 10_000}
    found = frames(labkit.run(scenario).journal)[1]
    assert all(len(frame.cells) <= CELLS for frame in found)


def test_prefixes_are_compared_position_by_position():
    assert Prefix("t", [("s", 48)]).key(48) == Prefix("t", [("s", 64)]).key(48)
    assert Prefix("t", [("s", 24), ("u", 24)]).key(16) == Prefix("t", [("s", 20)]).key(16)
    assert Prefix("t", [("s", 24), ("u", 24)]).key(32) != Prefix("t", [("s", 48)]).key(32)
    assert Prefix("t", [("s", 16)]).key(16) != Prefix("u", [("s", 16)]).key(16)


def test_memory_holds_what_lives():
    fold = FrameFold(Limits.of(labkit.run("small_trace").journal[0]))
    for event in labkit.run("small_trace").journal[1:]:
        for _ in fold.feed(event):
            assert len(fold._reading) + len(fold._ended) + len(fold._settled) <= 64
    list(fold.close())
    assert not fold.roster.live
    assert not fold.map.tables
