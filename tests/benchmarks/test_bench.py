"""The benches run, their results have the promised form, and what they compare does the same work."""

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.plain import plain
from benchmarks.population import make_case
from benchmarks.scheduler import STEPS, core, engine_count

TRACE = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2023-11-16 18:15:{second:02d}.5000000,{300 * second + 40},{second % 7 + 1}\n" for second in range(12)
)


def spread(found):
    """Return whether it is a spread of positive figures."""
    return set(found) == {"median", "min", "max"} and 0 < found["min"] <= found["median"] <= found["max"]


@pytest.mark.parametrize(("seats", "slots"), [(1, 700), (5, 3_000), (48, 20_000)])
def test_the_plain_loop_does_the_work_of_core_and_engine(seats, slots):
    load = make_case(seats, slots)
    expected = plain(load)
    assert expected.slots >= slots
    assert expected.ends
    assert core(load) == expected
    assert engine_count(load, expected.end_ns) == expected


def test_the_plain_loop_by_hand():
    """Count one request whose prompt is computed, alone: a slot a round, the context growing by one."""
    load = make_case(1, 64)
    first = load.members[0]
    found = plain(load)
    contexts = range(first.prompt, first.prompt + found.rounds)
    assert found.slots == found.rounds == 64
    assert found.end_ns == sum(1_000_000 + 20_000 + 10 * context for context in contexts)


def test_smoke(tmp_path, capsys):
    trace, out = tmp_path / "azure.csv", tmp_path / "out.json"
    trace.write_text(TRACE, encoding="utf-8", newline="\n")
    names = ["scheduler", "trace", "startup"]
    assert main([*names, "--repeats", "1", "--slots", "600", "--trace", str(trace), "--json", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert set(found) == {"machine", "repeats", "results"}
    assert list(found["results"]) == ["scheduler", "trace", "startup"]

    for row, running in zip(found["results"]["scheduler"]["rows"], (8, 32, 128, 256), strict=True):
        assert row["running"] == running
        assert 600 <= row["slots"] < 600 + running
        assert list(row["steps"]) == list(STEPS)
        assert all(spread(part) for step in row["steps"].values() for part in step.values())
        assert row["steps"]["plain loop"]["of_plain"] == {"median": 1, "min": 1, "max": 1}
        assert {"decide", "commit", "finish_round", "executor", "fold"} < set(row["microseconds_per_slot"])

    replay = found["results"]["trace"]
    assert replay["requests"] == 12
    assert replay["quarter_requests"] == 3
    assert replay["slots"] >= replay["rounds"] >= 12
    assert all(spread(replay[name]) for name in ("seconds", "requests_per_second", "slots_per_second"))
    assert replay["memory"] is None or all(map(spread, replay["memory"].values()))

    startup = found["results"]["startup"]
    assert all(spread(part) for row in startup["commands"].values() for part in row.values())
    dear = startup["imports"]
    assert dear
    assert all(0 < module["own_ms"] <= module["with_its_imports_ms"] for module in dear)

    printed = capsys.readouterr().out
    assert all(f"== {name}" in printed for name in found["results"])
    assert "aim: 200,000 slots/s" in printed


def test_a_trace_is_asked_for_in_one_line(capsys):
    assert main(["trace"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("left out: it needs a trace: --trace FILE")


def test_a_wrong_trace_is_one_line(tmp_path, capsys):
    trace = tmp_path / "azure.csv"
    trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\nnow,1,1\n", encoding="utf-8", newline="\n")
    assert main(["trace", "--trace", str(trace)]) == 2
    assert "line 2: given" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["speed"], "there is no bench 'speed'"),
        (["--repeats", "0"], "expected a whole number of at least 1"),
        (["trace", "--trace", "no_such_file.csv"], "no_such_file.csv is not a file"),
        (["trace", "--json", "no_such_folder/out.json"], "no_such_folder is not a folder"),
    ],
)
def test_wrong_arguments(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
