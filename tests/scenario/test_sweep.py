"""`sweep`: figures against the recursion of a queue, files that go on where they end, and every refusal in one line."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from labkit.core.errors import InputError
from labkit.scenario import command, workers
from labkit.scenario.sheet import Sheet
from tests.scenario.test_repeats import MM1

ROOT = Path(__file__).parents[2]
ONE = {"kind": "fixed", "value": 1}
EVEN = {  # 50 requests, evenly; 10 ms each, one at a time
    "schema": "labkit.scenario/1",
    "budget": {"tokens": 1, "seats": 1},
    "cost": {"kind": "table", "seconds": {"1": 0.01}},
    "arrivals": {"process": "fixed", "rate": 50, "count": 50, "prompt": ONE, "output": ONE},
}


@pytest.fixture
def call(capsys):
    def called(*argv: object):
        status = command.main(["sweep", *(str(arg) for arg in argv)])
        out, err = capsys.readouterr()
        return status, out, err

    return called


@pytest.fixture
def files(tmp_path):
    for name, document in (("even", EVEN), ("mm1", MM1)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8", newline="\n")
    return tmp_path


@pytest.fixture
def performed(monkeypatch):
    """The tasks that were really run, in this process."""
    done = []
    real = workers.perform

    def noted(task):
        done.append((task.label, task.run))
        return real(task)

    monkeypatch.setattr(workers, "perform", noted)
    return done


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def longest(rate: Fraction) -> Fraction:
    """The last of 50 requests at this rate waits 49·(10 ms − 1/rate) where they come faster than they are served."""
    return Fraction(1, 100) + max(Fraction(0), 49 * (Fraction(1, 100) - 1 / rate))


def test_every_point_in_order_with_the_figures_of_the_recursion(call, files):
    out = files / "o.csv"
    status, text, err = call(
        files / "even.json", "--over", "arrivals.rate=50:200:50", "--over", "policy.order=fcfs,sjf",
        "--metric", "sojourn_max", "--metric", "tpot_mean", "--jobs", 1, "--out", out,
    )  # fmt: skip
    assert (status, err) == (0, "")
    got = rows(out)
    assert list(got[0]) == [
        "scenario_hash", "arrivals.rate", "policy.order", "run", "run_seed", "sojourn_max", "tpot_mean",
    ]  # fmt: skip
    points = [(r, o) for r in (50, 100, 150, 200) for o in ("fcfs", "sjf")]
    assert [(int(row["arrivals.rate"]), row["policy.order"]) for row in got] == points
    for row in got:
        assert float(row["sojourn_max"]) == pytest.approx(
            float(longest(Fraction(row["arrivals.rate"]))), abs=2e-9
        )
        assert row["tpot_mean"] == ""  # undefined is empty, not 0
    assert len({row["scenario_hash"] for row in got}) == 1
    assert len(text.splitlines()) == 1 + 8 + 1
    assert "one run a point; sojourn_max s, tpot_mean s" in text


def test_jsonl_has_the_same_rows_with_types(call, files):
    common = [files / "even.json", "--over", "arrivals.rate=50,200", "--over", "policy.prefix_sharing=true,false",
              "--metric", "sojourn_max", "--metric", "tpot_mean", "--jobs", 1, "--out"]  # fmt: skip
    assert call(*common, files / "o.csv")[0] == call(*common, files / "o.jsonl")[0] == 0
    objects = [json.loads(line) for line in (files / "o.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [o["policy.prefix_sharing"] for o in objects] == [True, False, True, False]
    assert [o["tpot_mean"] for o in objects] == [None] * 4
    table = rows(files / "o.csv")
    assert [o["sojourn_max"] for o in objects] == [float(row["sojourn_max"]) for row in table]
    assert call(*common, files / "o.jsonl")[0] == 0  # its own file is read back


def test_a_stopped_sweep_goes_on_and_runs_nothing_twice(call, files, performed):
    out = files / "o.csv"
    argv = [files / "mm1.json", "--over", "arrivals.rate=50,60,70", "--repeat", 2, "--metric", "ttft_mean",
            "--jobs", 1, "--out", out]  # fmt: skip
    assert call(*argv)[0] == 0
    whole = out.read_bytes()
    assert len(performed) == 6
    lines = whole.splitlines(keepends=True)
    torn = (b"", whole[:5], lines[0], b"".join(lines[:3]), b"".join(lines[:4]) + lines[4][:9])
    for kept in (*torn, b"".join(lines[:6]) + b"x" * 5000):
        out.write_bytes(kept)
        performed.clear()
        status, text, _ = call(*argv)
        assert (status, out.read_bytes()) == (0, whole)
        assert len(performed) == 6 - max(0, kept.count(b"\n") - 1)
    performed.clear()
    assert call(*argv) == (0, text, "")
    assert performed == []


def test_more_values_at_the_end_are_added_to_the_file(call, files, performed):
    out = files / "o.csv"
    for values, fresh in (("50,60", 2), ("50,60,70", 1)):
        performed.clear()
        argv = ["--over", f"arrivals.rate={values}", "--metric", "ttft_mean", "--jobs", 1, "--out", out]
        assert call(files / "mm1.json", *argv)[0] == 0
        assert len(performed) == fresh


def test_a_changed_scenario_and_another_sweep_are_refused_and_nothing_is_lost(call, files):
    out = files / "o.csv"
    argv = ["--over", "arrivals.rate=50,60", "--metric", "ttft_mean", "--jobs", 1, "--out", out]
    assert call(files / "mm1.json", *argv)[0] == 0
    whole = out.read_bytes()
    (files / "mm1.json").write_text(json.dumps({**MM1, "title": "new"}), encoding="utf-8", newline="\n")
    for other in (argv, [*argv[:1], "arrivals.rate=55,60", *argv[2:]], [*argv, "--metric", "ttft_p99"]):
        status, text, err = call(files / "mm1.json", *other)
        assert (status, text, len(err.splitlines())) == (2, "", 1)
        assert "expected" in err
        assert out.read_bytes() == whole
    assert "given a changed scenario" in call(files / "mm1.json", *argv)[2]


@pytest.mark.parametrize("text", ["my notes", "a,b\n1,2\n", "scenario_hash,x\n", "\x00\xff", '{"a":1}\n'])
@pytest.mark.parametrize("name", ["o.csv", "o.jsonl"])
def test_a_file_that_is_no_sweep_is_left_alone(call, files, text, name):
    out = files / name
    out.write_bytes(text.encode("latin-1"))
    status, _, err = call(
        files / "even.json", "--over", "arrivals.rate=50", "--metric", "ttft_mean", "--jobs", 1, "--out", out
    )
    assert (status, len(err.splitlines())) == (2, 1)
    assert out.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize("cell", ["abc", "NaN", "1e999", " "])
def test_a_figure_that_is_no_number_is_refused(call, files, cell):
    """The file may have been edited: what is read back has to be a finite number, or nothing."""
    out = files / "o.csv"
    argv = [
        files / "even.json",
        "--over",
        "arrivals.rate=50",
        "--metric",
        "ttft_mean",
        "--jobs",
        1,
        "--out",
        out,
    ]
    assert call(*argv)[0] == 0
    whole = out.read_text(encoding="utf-8")
    out.write_text(whole[: whole.rindex(",") + 1] + cell + "\n", encoding="utf-8", newline="\n")
    status, text, err = call(*argv)
    assert (status, text, len(err.splitlines())) == (2, "", 1)
    assert "rows do not fit its columns" in err


def test_two_sweeps_do_not_write_one_file(call, files):
    out = files / "o.csv"
    argv = [
        files / "even.json",
        "--over",
        "arrivals.rate=50",
        "--metric",
        "ttft_mean",
        "--jobs",
        1,
        "--out",
        out,
    ]
    other = Sheet(str(out), ["scenario_hash", "arrivals.rate", "run", "run_seed", "ttft_mean"], 4)
    other.open()
    held = out.read_bytes()
    status, text, err = call(*argv)
    assert (status, text, len(err.splitlines())) == (2, "", 1)
    assert "another sweep is writing" in err
    assert out.read_bytes() == held
    other.close()
    assert call(*argv)[0] == 0


def test_values_cannot_drive_the_terminal(call, files):
    """A text may turn the direction of a line: it is shown escaped, and kept as it is in the file."""
    out = files / "o.csv"
    argv = ["--over", 'title="a,b","\u202ex"', "--metric", "ttft_mean", "--jobs", 1, "--out", out]
    status, text, _ = call(files / "even.json", *argv)
    assert (status, [row["title"] for row in rows(out)]) == (0, ["a,b", "\u202ex"])
    assert "\u202e" not in text and r"\u202ex" in text


def test_a_trace_belongs_to_the_hash(call, files):
    (files / "t.csv").write_text(
        "arrival,prompt_tokens,output_tokens\n0,1,1\n", encoding="utf-8", newline="\n"
    )
    plain = {key: value for key, value in EVEN.items() if key != "arrivals"}
    document = {**plain, "trace": {"path": "t.csv", "format": "csv"}}
    (files / "t.json").write_text(json.dumps(document), encoding="utf-8", newline="\n")
    argv = [files / "t.json", "--over", "trace.scale=1,2", "--metric", "ttft_mean", "--jobs", 1,
            "--out", files / "o.csv"]  # fmt: skip
    assert call(*argv)[0] == 0
    with open(files / "t.csv", "a", encoding="utf-8", newline="\n") as trace:
        trace.write("1,1,1\n")
    assert "a changed scenario" in call(*argv)[2]


def test_several_processes_write_the_same_bytes(call, files):
    common = [files / "mm1.json", "--over", "arrivals.rate=50:80:10", "--repeat", 3, "--metric", "ttft_p99"]
    one = call(*common, "--jobs", 1, "--out", files / "one.csv")
    two = call(*common, "--jobs", 2, "--out", files / "two.csv")
    assert one == two
    assert one[0] == 0
    assert (files / "one.csv").read_bytes() == (files / "two.csv").read_bytes()


def test_ctrl_c_leaves_what_is_done(call, files, monkeypatch):
    out = files / "o.csv"
    real, count = workers.perform, 0

    def stopping(task):
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return real(task)

    monkeypatch.setattr(workers, "perform", stopping)
    argv = [files / "mm1.json", "--over", "arrivals.rate=50:80:10", "--metric", "ttft_mean", "--jobs", 1,
            "--out", out]  # fmt: skip
    status, text, err = call(*argv)
    assert (status, text) == (130, "")
    assert err == "labkit sweep: stopped after 2 of 4 runs; the same command goes on from there\n"
    assert len(rows(out)) == 2
    assert call(*argv)[0] == 0
    assert len(rows(out)) == 4


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to another process there")
@pytest.mark.parametrize(
    "send", [os.killpg, os.kill], ids=["to all of a terminal", "to the first process alone"]
)
def test_ctrl_c_ends_every_process(files, send):
    document = {**MM1, "arrivals": {**MM1["arrivals"], "count": 8000}}
    (files / "mm1.json").write_text(json.dumps(document), encoding="utf-8", newline="\n")
    out = files / "o.csv"
    argv = ["sweep", files / "mm1.json", "--over", "arrivals.rate=50:90:1", "--jobs", 2, "--out", out]
    child = subprocess.Popen(
        [sys.executable, "-m", "labkit", *map(str, argv)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not out.exists() or len(rows(out)) < 2):
        time.sleep(0.1)
    begun = time.monotonic()
    send(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert time.monotonic() - begun < 10
    assert child.returncode == 130
    assert b"Traceback" not in err
    assert err.startswith(b"labkit sweep: stopped after")
    assert 2 <= len(rows(out)) < 41
    deadline = time.monotonic() + 10  # the helper that multiprocessing starts of its own goes a moment later
    while time.monotonic() < deadline and _group_lives(child.pid):
        time.sleep(0.05)
    assert not _group_lives(child.pid)


@pytest.mark.skipif(os.name == "nt", reason="processes are found there in another way")
def test_no_process_outlives_a_killed_first_one(files):
    document = {**MM1, "arrivals": {**MM1["arrivals"], "count": 4000}}
    (files / "mm1.json").write_text(json.dumps(document), encoding="utf-8", newline="\n")
    out = files / "o.csv"
    argv = ["sweep", files / "mm1.json", "--over", "arrivals.rate=50:90:1", "--jobs", 2, "--out", out]
    child = subprocess.Popen(
        [sys.executable, "-m", "labkit", *map(str, argv)], cwd=ROOT, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not out.exists() or not rows(out)):
        time.sleep(0.1)
    child.kill()
    child.wait()
    assert rows(out)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _group_lives(child.pid):
        time.sleep(0.05)
    lives = _group_lives(child.pid)
    if lives:
        os.killpg(child.pid, signal.SIGKILL)
    assert not lives


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


BASE = ["--over", "arrivals.rate=50", "--out", "o.csv", "--jobs", "1"]
REFUSED = {
    "nothing": ([], "expected --over FIELD=…, or --target"),
    "no out": (["--over", "arrivals.rate=50"], "given no --out"),
    "both": ([*BASE, "--target", "ttft_p99<=1", "--largest", "arrivals.rate=1:2"], "expected --over FIELD=…, or"),
    "target alone": (["--target", "ttft_p99<=1"], "expected --over FIELD=…, or"),
    "largest alone": (["--largest", "arrivals.rate=1:2"], "expected --over FIELD=…, or"),
    "step": ([*BASE, "--step", "1"], "expected it with --largest alone"),
    "no field": (["--over", "arrivals.rat=1", *BASE[2:]], 'with arrivals.rat=1: arrivals.rat: given an unknown field'),
    "a value out of range": (["--over", "arrivals.rate=-1", *BASE[2:]], "with arrivals.rate=-1: arrivals.rate: given"),
    "a word": (["--over", "arrivals.rate=fast", *BASE[2:]], "with arrivals.rate=fast: arrivals.rate: given"),
    "field twice": ([*BASE, "--over", "arrivals.rate=60"], "given a field twice"),
    "through a number": (["--over", "arrivals.rate.x=1", *BASE[2:]], "arrivals.rate.x: given a field that"),
    "metric": ([*BASE, "--metric", "ttft_p98"], "did you mean ttft_p9"),
    "jobs": ([*BASE, "--jobs", "0"], "expected an integer from 1 to 1000"),
    "repeat": ([*BASE, "--repeat", "0"], "expected an integer from 1 to 10000"),
    "too many": (
        ["--over", "arrivals.rate=1:1000:1", "--over", "arrivals.count=1:1000:1", *BASE[2:]],
        "given 1000000 points, expected at most 100000",
    ),
    "a folder": ([*BASE[:2], "--out", ".", "--jobs", "1"], "expected a file to write"),
    "no folder": ([*BASE[:2], "--out", "no/o.csv", "--jobs", "1"], "expected a file to write"),
    "target's metric": (["--target", "nonsense<=1", "--largest", "arrivals.rate=1:2"], 'given the metric "nonsense"'),
    "span": (["--target", "ttft_p99<=1", "--largest", "arrivals.rate=2:1"], "LOW below HIGH"),
    "range's field": (["--target", "ttft_p99<=1", "--largest", "arrivals.rte=1:2"], "an unknown field"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_anything_runs(call, files, performed, monkeypatch, name):
    monkeypatch.chdir(files)
    argv, words = REFUSED[name]
    status, out, err = call("even.json", *argv)
    assert (status, out, performed) == (2, "", [])
    lines = err.splitlines()
    assert all(line.isprintable() and len(line) < 500 for line in lines)
    assert words in lines[0]
    assert len(lines) == 1
    assert not (files / "o.csv").exists()


def test_every_wrong_point_is_named_before_anything_runs(call, files, performed):
    status, _, err = call(files / "even.json", "--over", "budget.tokens=0,1,-1", "--out", files / "o.csv")
    assert (status, performed) == (2, [])
    assert [line.partition(" with ")[2].partition(":")[0] for line in err.splitlines()] == [
        "budget.tokens=0",
        "budget.tokens=-1",
    ]


def test_nothing_random_is_run_once(call, files, performed):
    argv = ["--over", "arrivals.rate=50,60", "--repeat", 5, "--metric", "ttft_mean", "--jobs", 1]
    status, _, err = call(files / "even.json", *argv, "--out", files / "o.csv")
    assert (status, err) == (0, "labkit sweep: nothing in this scenario is random: each point is run once\n")
    assert len(performed) == 2


# ------------------------------------------------------------------------------------------------ the largest


def test_the_largest_rate_of_an_even_load(call, files, performed):
    """Latest at rate r: 10 ms + 49·(10 − 1000/r) ms ≤ 100 ms up to r = 1000/(10 − 90/49) = 122.5: 122 of whole ones."""
    status, out, err = call(
        files / "even.json", "--target", "sojourn_max<=0.1", "--largest", "arrivals.rate=50:300", "--step", 1,
        "--jobs", 1, "--out", files / "o.csv",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "largest arrivals.rate with sojourn_max <= 0.1 s: 122"
    assert "the next value tried, 123: sojourn_max" in out
    assert "up to it meet the target, all above miss it" in out
    assert "one run a value: no interval" in out
    assert (
        len(performed)
        == len(rows(files / "o.csv"))
        == len({row["arrivals.rate"] for row in rows(files / "o.csv")})
    )
    performed.clear()
    again = call(
        files / "even.json", "--target", "sojourn_max<=0.1", "--largest", "arrivals.rate=50:300", "--step", 1,
        "--jobs", 1, "--out", files / "o.csv",
    )  # fmt: skip
    assert again == (0, out, "")
    assert performed == []


def test_the_largest_with_chance_says_its_doubt(call, files):
    status, out, _ = call(
        files / "mm1.json", "--target", "sojourn_mean<=0.04", "--largest", "arrivals.rate=40:100", "--step", 5,
        "--repeat", 4, "--jobs", 1,
    )  # fmt: skip
    assert status == 0
    assert "surely met up to" in out
    assert "95 % by Student's t, each value by itself; 4 runs, the same seeds at every value" in out
    assert "±" in out


def test_a_target_that_nothing_meets(call, files):
    argv = ["--target", "sojourn_max<=0.001", "--largest", "arrivals.rate=50:300", "--jobs", 1]
    out = call(files / "even.json", *argv)[1]
    assert out.startswith("largest arrivals.rate with sojourn_max <= 0.001 s: none\n")


def test_the_end_of_the_range_is_said_to_be_one(call, files):
    argv = ["--target", "sojourn_max<=10", "--largest", "arrivals.rate=50:300", "--jobs", 1]
    out = call(files / "even.json", *argv)[1]
    assert "sojourn_max <= 10 s: 300\n" in out
    assert "the whole range meets it: the largest may lie above" in out


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no device without an end")
def test_a_special_file_is_no_sheet(call, files):
    argv = ["--over", "arrivals.rate=50", "--metric", "ttft_mean", "--jobs", 1, "--out", "/dev/zero"]
    status, out, err = call(files / "even.json", *argv)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "a special file" in err


def test_a_disk_that_is_full_is_one_line(files):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    sheet = Sheet(str(files / "o.csv"), ["scenario_hash", "x"], 1)
    sheet.open()
    sheet.close()
    sheet._out = Full()
    with pytest.raises(InputError, match="cannot be written any further"):
        sheet.add(["a", 1])


@pytest.mark.parametrize(
    ("asked", "undefined"), [("sojourn_max<=0.001", False), ("chunk_interval_mean<=1", True)]
)
def test_where_no_value_will_do_none_is_said_to(call, files, asked, undefined):
    """A round takes 10 ms, so nobody is done in 1 ms; where no chunks come, their interval is undefined."""
    status, out, _ = call(
        files / "even.json", "--target", asked, "--largest", "arrivals.rate=50:52", "--jobs", 1
    )
    assert status == 0
    assert out.splitlines()[0].endswith(": none")
    assert "all values tried miss the target" in out and "up to it meet" not in out
    assert ("undefined in a run, which counts as missed" in out) == undefined
