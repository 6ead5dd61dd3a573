"""`run --repeat`: seeds derived from the scenario's, means and Student's intervals, a word where nothing is random."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from statistics import fmean, stdev

import pytest

from labkit.scenario import command, load, repeats

LOAD = {
    "process": "poisson", "rate": 80, "count": 300, "seed": 4,
    "prompt": {"kind": "geometric", "mean": 1000}, "output": {"kind": "fixed", "value": 1},
}  # fmt: skip
MM1 = {
    "schema": "labkit.scenario/1",
    "title": "one server",
    "budget": {"tokens": 1000000, "seats": 1},
    "cost": {"kind": "linear", "per_token": 0.00001},
    "arrivals": LOAD,
}
T_975 = {2: 4.30265, 3: 3.18245, 4: 2.77645}  # Student's t, 97.5 %, by degrees of freedom: any table


@pytest.fixture
def call(capsys):
    def called(*argv: object):
        status = command.main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        return status, out, err

    return called


@pytest.fixture
def mm1(tmp_path):
    path = tmp_path / "mm1.json"
    path.write_text(json.dumps(MM1), encoding="utf-8", newline="\n")
    return path


def fifo_mean(seed: int) -> Fraction:
    """Mean sojourn in s of the load under this seed, by the recursion of a first-come-first-served server."""
    source = load({**MM1, "arrivals": {**LOAD, "seed": seed}}).source()
    free, total, count = 0, 0, 0
    while source.peek() is not None:
        request = source.take().request
        free = max(free, request.arrival_ns) + request.prompt_tokens * 10_000
        total += free - request.arrival_ns
        count += 1
    return Fraction(total, count * 10**9)


def test_the_mean_and_its_interval_are_those_of_the_runs(call, mm1):
    status, out, err = call("run", mm1, "--repeat", 4, "--json")
    told = json.loads(out)
    assert (status, err, told["schema"], told["random"]) == (0, "", "labkit.repeat/1", True)
    assert told["seeds"][0] == 4
    assert len(set(told["seeds"])) == 4
    means = [float(fifo_mean(seed)) for seed in told["seeds"]]
    one = told["metrics"]["sojourn_mean"]
    assert one["mean"] == pytest.approx(fmean(means), rel=1e-12)
    assert one["half_width"] == pytest.approx(T_975[3] * stdev(means) / math.sqrt(4), rel=1e-5)
    assert (one["unit"], one["defined"]) == ("s", 4)
    assert told["metrics"]["tpot_mean"] == {"unit": "s", "mean": None, "half_width": None, "defined": 0}


def test_the_table_says_the_same(call, mm1):
    table = call("run", mm1, "--repeat", 2)[1]
    told = json.loads(call("run", mm1, "--repeat", 2, "--json")[1])
    assert table.startswith("one server: mean ± 95 % of 2 runs, Student's t\n")
    (line,) = [line for line in table.splitlines() if line.split()[0] == "sojourn_mean"]
    mean, _, half, unit = line.split()[1:]
    assert float(mean) == pytest.approx(told["metrics"]["sojourn_mean"]["mean"], rel=0.1)
    assert float(half) == pytest.approx(told["metrics"]["sojourn_mean"]["half_width"], rel=0.1)
    assert unit == "s"


def test_the_same_scenario_has_the_same_seeds_and_another_seed_others(call, mm1):
    first = json.loads(call("run", mm1, "--repeat", 3, "--json")[1])
    assert json.loads(call("run", mm1, "--repeat", 3, "--json")[1]) == first
    other = json.loads(call("run", mm1, "--repeat", 3, "--seed", 5, "--json")[1])
    assert other["seeds"][0] == 5
    assert not set(other["seeds"]) & set(first["seeds"])


def test_a_run_without_randomness_is_told_so(call):
    status, out, err = call("run", "x1_static", "--repeat", 5)
    assert status == 0
    assert out.startswith("X1, static batching: 40, 10, 50 ms: nothing in it is random, one run\n")
    assert err == "x1_static: nothing in it is random: 5 runs would be one\n"
    assert "0.0333333" in out  # 100/3 ms, no ±
    assert "±" not in out


@pytest.mark.parametrize("argv", [["--journal", "x.jsonl"], ["--executor", "torch"]])
def test_what_does_not_go_with_it(call, mm1, argv):
    status, out, err = call("run", mm1, "--repeat", 2, *argv)
    assert (status, out) == (2, "")
    assert err.startswith("labkit run: given --repeat with")


@pytest.mark.parametrize("count", ["1", "0", "-1", "x", "10001", "1.5", "9" * 50])
def test_a_number_of_runs_out_of_range(call, mm1, count):
    status, out, err = call("run", mm1, "--repeat", count)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "expected an integer from 2 to 10000" in err


def test_what_is_random():
    even = {**MM1, "arrivals": {**LOAD, "process": "fixed"}}
    fixed = {"kind": "fixed", "value": 3}
    loop = {"users": 2, "count": 3, "prompt": fixed, "output": fixed}
    bare = {key: value for key, value in MM1.items() if key != "arrivals"}
    assert repeats.is_random(load(MM1))
    assert repeats.is_random(load(even))  # its lengths are
    assert not repeats.is_random(load({**MM1, "arrivals": {**even["arrivals"], "prompt": fixed}}))
    assert not repeats.is_random(load({**bare, "closed_loop": loop}))
    assert repeats.is_random(load({**bare, "closed_loop": {**loop, "output": LOAD["prompt"]}}))
    assert not repeats.is_random(load("small_trace"))


def test_an_undefined_run_leaves_no_mean():
    one = repeats.summary([Fraction(1), None, Fraction(3)])
    assert (one.mean, one.half, one.defined, one.runs) == (None, None, 2, 3)
    assert repeats.said(one) == "- (2 of 3 defined)"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1, 2, 3, 4, 5], "3.0 ± 2.0"),  # t = 2.77645, s = 1.58114: 1.96
        ([10.01, 10.02, 10.03, 10.04, 10.05], "10.030 ± 0.020"),
        ([1000, 2000, 3000, 4000, 5000], "3000 ± 1963"),
        ([7, 7, 7], "7"),
        ([0.125], "0.125"),
    ],
)
def test_two_digits_of_doubt(values, text):
    assert repeats.said(repeats.summary([Fraction(str(value)) for value in values])) == text


def test_columns_stand_below_each_other_on_a_terminal():
    """A Chinese character takes two columns there."""
    assert repeats.columns([["\u4e2d\u6587", "1"], ["abcde", "22"]], 1) == ["\u4e2d\u6587    1", "abcde  22"]
