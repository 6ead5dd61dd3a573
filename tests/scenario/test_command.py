"""The commands: what goes to which stream, exit statuses, and equality to the byte."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tracemalloc
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

from labkit.core.invariants import InvariantError
from labkit.scenario import command, load
from labkit.scenario.explain import schema
from labkit.scenario.run import stream
from labkit.scenario.table import Histogram, Table

ROOT = Path(__file__).parents[2]
# The scenario and the result of the contract, character by character.
ONE = """{"schema": "labkit.scenario/1", "title": "one request",
 "budget": {"tokens": 512, "seats": 2, "kv_bytes": 67108864, "page_tokens": 16, "bytes_per_token": 65536},
 "policy": {"batching": "continuous", "admission": "reserve"},
 "cost": {"kind": "table", "seconds": {"1": 0.006, "2": 0.010}},
 "requests": [{"id": "A", "arrival": 0.0, "prompt_tokens": 64, "output_tokens": 2, "max_output_tokens": 4}]}
"""
RESULT = (
    '{"schema":"labkit.result/1","requests":[{"id":"A","outcome":"finished","reason":null,"arrival":0.0,'
    '"first_execution":0.0,"token_times":[0.006,0.012],"delivered_times":[0.006,0.012],"end":0.012,"ttft":0.006,'
    '"wait":0.0,"waits_total":0.0,"tpot":0.006,"itl_max":0.006,"computed_tokens":65,"cached_tokens":0,'
    '"recomputed_tokens":0,"preemptions":0}],"rounds":[{"index":0,"start":0.0,"seconds":0.006,"waiting":0,'
    '"pages_in_use":4,"pages_reserved":5,"items":[{"id":"A","phase":"prefill","new_tokens":64,"context":0}],'
    '"notes":[]},{"index":1,"start":0.006,"seconds":0.006,"waiting":0,"pages_in_use":5,"pages_reserved":5,'
    '"items":[{"id":"A","phase":"decode","new_tokens":1,"context":64}],"notes":[]}],"summary":{"submitted":1,'
    '"finished":1,"rejected":0,"cancelled":0,"expired":0,"failed":0,"unfinished":0,"seconds":0.012,'
    '"busy_seconds":0.012,"recompute_ratio":0.0}}\n'
)


@pytest.fixture
def one(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(ONE, encoding="utf-8", newline="\n")
    return path


@pytest.fixture
def call(capsys):
    def called(*argv: object):
        status = command.main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        return status, out, err

    return called


def labkit(*argv: object, **options):
    """A process of its own."""
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "labkit", *map(str, argv)],
        capture_output=True, cwd=ROOT, env=environment, timeout=120, check=False, **options,
    )  # fmt: skip


def refused(outcome, *words: str) -> list[str]:
    """Exit 2, nothing on standard output, one printable line a problem."""
    status, out, err = outcome
    assert (status, out) == (2, "")
    assert "Traceback" not in err
    lines = err.splitlines()
    assert lines
    assert err.endswith("\n")
    assert all(line.isprintable() for line in lines), lines
    for word in words:
        assert word in err, err
    return lines


def test_the_contract_to_the_byte(call, one):
    assert call("run", one, "--json") == (0, RESULT, "")


def test_results_fit_their_schema(call):
    check = jsonschema.Draft202012Validator(schema("result"))
    for name in ("x1_static", "case01_too_big_in_front", "case05_swap_full", "case20_slow_reader"):
        check.validate(json.loads(call("run", name, "--json")[1]))


def test_schemas_are_schemas():
    for name in ("scenario", "result", "cost"):
        jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", ["x1_static", "case05_swap_full", "case20_slow_reader", "small_trace"])
def test_replay_is_equal_to_run(call, tmp_path, name):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    ran = call("run", name, "--json", "--journal", first)
    assert ran[0] == 0
    assert call("run", name, "--json", "--journal", second) == ran
    assert first.read_bytes() == second.read_bytes()
    assert call("replay", first, "--json") == ran
    table = call("run", name)[1]
    assert call("replay", first)[1] == table
    text = call("replay", first, "--text")[1]
    assert text.count("Round ") == len(json.loads(ran[1])["rounds"])
    header = json.loads(first.read_bytes().splitlines()[0])
    assert load(header["scenario"], base=load(name).base).raw == load(name).raw


def test_several_scenarios_are_one_line_each(call, one, tmp_path):
    status, out, _ = call("run", one, "x1_static", one, "--json")
    assert status == 0
    lines = out.splitlines(keepends=True)
    assert len(lines) == 3
    assert lines[0] == lines[2] == RESULT
    refused(call("run", one, one, "--json", "--journal", tmp_path / "j"), "--journal with several")
    assert not (tmp_path / "j").exists()
    # One wrong file and nothing of the others is printed.
    refused(call("run", one, "nowhere.json", "--json"), "nowhere.json")


def test_standard_input(one):
    with open(one, "rb") as stdin:
        done = labkit("run", "-", "--json", stdin=stdin)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, RESULT, b"")
    done = labkit("check", "-", "-", input=b"{}")
    assert done.returncode == 2
    assert done.stdout == b""


def test_an_existing_file_wins_over_the_library(call, one, monkeypatch):
    monkeypatch.chdir(one.parent)
    Path("x1_static").write_text(ONE, encoding="utf-8", newline="\n")
    assert call("run", "x1_static", "--json")[1] == RESULT
    refused(call("run", "x1_statik"), 'did you mean "x1_static"')


def test_check(call, one):
    assert call("check", one, "x1_static") == (0, f"{one}: ok\nx1_static: ok\n", "")
    one.write_text(ONE.replace("512", "0"), encoding="utf-8", newline="\n")
    refused(call("check", one, "x1_static"), "one.json: budget.tokens: given 0, expected an integer from 1")


def test_table(call):
    status, out, err = call("run", "q31_2_continuous", "case01_too_big_in_front")
    assert (status, err) == (0, "")
    assert "A 0 0.01 0.032 0.01 0.00733333 4 finished" in " ".join(out.split())  # TPOT (32 − 10)/3 ms
    assert "requests         3 submitted, 3 finished\n" in out
    assert "rejected (capacity)" in out
    assert "of 1 request with two tokens or more" in out
    out = call("run", "small_trace")[1]
    assert "r0 " not in out  # over 20 requests: the summary alone
    assert "200 submitted, 200 finished" in out


def test_seed_replaces_every_seed(call, tmp_path):
    length = {"kind": "geometric", "mean": 5}
    document = json.loads(ONE)
    del document["requests"]
    document["arrivals"] = {
        "process": "poisson",
        "rate": 5,
        "count": 9,
        "seed": 4,
        "prompt": length,
        "output": length,
    }
    paths = []
    for seed in (4, 5):
        document["arrivals"]["seed"] = document["seed"] = seed
        paths.append(tmp_path / f"{seed}.json")
        paths[-1].write_text(json.dumps(document), encoding="utf-8", newline="\n")
    own, other = (call("run", path, "--json")[1] for path in paths)
    assert own != other
    assert call("run", paths[0], "--json", "--seed", 5)[1] == other
    for wrong in ("-1", "x", "1.5", "9007199254740992", "9" * 5000):
        refused(call("run", paths[0], f"--seed={wrong}"), "--seed")


def test_one_line_for_a_wrong_command_line(call, one):
    for argv in (
        ["run"],
        ["run", one, "--jsn"],
        ["run", one, "--executor", "gpu"],
        ["run", one, "--device", "cpu"],
        ["replay"],
        ["replay", one, "--json", "--text"],
        ["check"],
        [],
        ["\x1b[31m"],
    ):
        assert len(refused(call(*argv))) == 1


def test_journal_that_cannot_be_written(call, one, tmp_path):
    refused(call("run", one, "--journal", tmp_path), "--journal")
    refused(call("run", one, "--journal", tmp_path / "no" / "j"), "--journal")
    refused(call("run", one, "--journal", one), "which is read")
    assert one.read_text(encoding="utf-8") == ONE


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(call):
    refused(call("run", "small_trace", "--journal", "/dev/full"), "--journal")


def test_a_broken_trace_runs_nothing(call, tmp_path):
    (tmp_path / "t.csv").write_text(
        "arrival,prompt_tokens,output_tokens\n" + "0,4,2\n" * 50 + "0,4,0\n", encoding="utf-8", newline="\n"
    )
    document = json.loads(ONE)
    del document["requests"]
    document["trace"] = {"path": "t.csv", "format": "csv"}
    path = tmp_path / "s.json"
    path.write_text(json.dumps(document), encoding="utf-8", newline="\n")
    for argv in (["run", path], ["run", path, "--json", "--journal", tmp_path / "j"], ["check", path]):
        refused(call(*argv), 't.csv: line 52: given output_tokens "0"')
    assert not (tmp_path / "j").exists()


def test_a_journal_cut_short_is_used_with_a_warning(call, tmp_path):
    path = tmp_path / "j.jsonl"
    call("run", "x1_static", "--journal", path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    status, out, err = call("replay", path, "--json")
    assert status == 0
    assert json.loads(out)["summary"]["submitted"] == 3
    assert "warning" in err
    assert "cut short" in err
    path.write_bytes(whole.replace(b'"event":"round"', b'"event":"tea"', 1))
    for form in ("--json", "--text"):
        refused(call("replay", path, form), f"{path}:")
    path.write_bytes(b"")
    refused(call("replay", path), "empty file")
    refused(call("replay", tmp_path / "none"), "none")


def test_a_broken_invariant_is_exit_3(call, one, monkeypatch):
    def broken(*args, **kwargs):
        raise InvariantError(7, "a page too many")

    monkeypatch.setattr(command, "stream", broken)
    status, out, err = call("run", one)
    assert (status, out) == (3, "")
    assert "law 7: a page too many" in err
    assert err.count("\n") == 1


def test_the_worst_of_files(tmp_path):
    """Each in a process of its own: quick, exit 2, a line, no traceback."""
    big = tmp_path / "big.json"
    with open(big, "wb") as out:
        out.truncate(100 << 20)
    garbage = tmp_path / "garbage.json"
    garbage.write_bytes(os.urandom(1000) + b"\xff")
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 200_000, encoding="utf-8", newline="\n")
    for path, words in ((big, "16 MiB"), (garbage, "UTF-8"), (deep, "32 deep"), (tmp_path, "folder")):
        done = labkit("run", path, "--json")
        refused((done.returncode, done.stdout.decode(), done.stderr.decode()), words)


@pytest.mark.skipif(os.name != "posix", reason="names and devices of POSIX")
def test_odd_names_and_endless_input(tmp_path):
    nasty = tmp_path / "nasty\x1b[31m\n.json"
    nasty.write_text("{}", encoding="utf-8", newline="\n")
    done = labkit("run", nasty)
    refused((done.returncode, done.stdout.decode(), done.stderr.decode()), "\\x1b")
    done = labkit("run", "\udcff\udcfe")
    refused((done.returncode, done.stdout.decode(), done.stderr.decode()), "no file is")
    with open("/dev/zero", "rb") as endless:
        done = labkit("run", "-", stdin=endless)
    refused((done.returncode, done.stdout.decode(), done.stderr.decode()), "16 MiB")


def test_any_terminal_encoding(tmp_path):
    document = json.loads(ONE)
    document["title"] = "批处理 \U0001f600"
    document["requests"][0]["id"] = "请求 \U0001f600"
    path = tmp_path / "s.json"
    path.write_text(json.dumps(document), encoding="utf-8", newline="\n")
    for encoding in ("gbk", "ascii", "utf-8"):
        for argv in (["run", path], ["run", path, "--json"], ["check", path]):
            done = labkit(*argv, env={"PYTHONIOENCODING": encoding})
            assert done.returncode == 0, done.stderr
            assert done.stderr == b""
            done.stdout.decode(encoding)
            assert b"\r" not in done.stdout


def test_output_that_nobody_reads(tmp_path):
    path = tmp_path / "j.jsonl"
    command.main(["run", "small_trace", "--json", "--journal", str(path)])
    with subprocess.Popen(
        [sys.executable, "-m", "labkit", "replay", str(path), "--text"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_memory_is_flat_without_json():
    def peak(count: int) -> int:
        length = {"kind": "fixed", "value": 3}
        document = json.loads(ONE)
        del document["requests"]
        document["arrivals"] = {
            "process": "fixed",
            "rate": 10,
            "count": count,
            "prompt": length,
            "output": length,
        }
        scenario = load(document)
        tracemalloc.start()
        try:
            table = Table("")
            stream(scenario, table.feed)
            assert f"{count} finished" in table.text()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(50)
    assert peak(1500) < peak(150) + 60_000


def test_quantiles_of_the_table():
    histogram = Histogram()
    assert histogram.quantile(Fraction(1, 2)) is None
    for n in range(1, 1001):
        histogram.add(n * 1_000_003)
    assert histogram.quantile(Fraction(99, 100)) == 990 * 1_000_003
    assert histogram.resolution == "exact"
    for n in range(1001, 20_001):
        histogram.add(n * 1_000_003)
    for share in (Fraction(1, 2), Fraction(99, 100)):
        true = int(share * 20_000) * 1_000_003
        assert true <= histogram.quantile(share) <= true * (1 + 1 / 64)
    histogram.add(0)
    assert histogram.total == 20_001


def test_a_bar_on_a_terminal_alone(monkeypatch, one):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    assert command._progress(load(one), ExitStack()) is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    with ExitStack() as stack:
        tick = command._progress(load(one), stack)
        assert tick is not None
        tick()
    assert sys.stderr.getvalue() == ""  # it is over before two seconds have passed


def test_standard_input_that_is_no_scenario(call, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b""), encoding="utf-8", newline="\n"))
    refused(call("run", "-"), "standard input: line 1 column 1")


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@FULL
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", [["run", "x1_static"], ["run", "x1_static", "--json"], ["check", "x1_static"]]
)
def test_a_full_disk_is_one_line_and_no_success(words, unbuffered):
    """What could not be written is never called done, whether Python buffers its output or not."""
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "labkit", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr.count(b"\n") == 1
    assert b"cannot be written" in ended.stderr
