"""C13, N08: the fit finds what is there to be found, and what it is fitted to is what a run costs."""

import json
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from labkit.executors import calibrate as c  # noqa: E402
from labkit.executors.torch_model import TorchExecutor  # noqa: E402
from labkit.scenario.real import open_model  # noqa: E402

LIMITS = c.Limits(tokens=64, seats=8, positions=100)


def pairs_one_by_one(q, s):
    """E31.4 counted: the r-th new position sees s + r keys."""
    return sum(s + r for r in range(1, q + 1))


def test_e31_4_features_are_counted_sums():
    steps = (c.Step(5, 7), c.Step(1, 30), c.Step(3, 0))
    assert c.features(steps) == (1, 9, sum(pairs_one_by_one(q, s) for q, s in steps), 37, 3)


def test_designed_rounds_keep_to_the_limits_and_tell_all_coefficients_apart():
    rounds = c.designed(LIMITS)
    for steps in rounds:
        assert 0 < len(steps) <= 8 and sum(q for q, _ in steps) <= 64
        assert all(q >= 1 and s >= 0 and q + s <= 100 for q, s in steps)
    assert len(set(rounds)) == len(rounds)
    table = np.array([c.features(steps) for steps in rounds], dtype=float)
    assert np.linalg.matrix_rank(table / np.abs(table).max(axis=0)) == len(c.COEFFICIENTS)
    kinds = {(any(q > 1 for q, _ in steps), any(q == 1 and s for q, s in steps)) for steps in rounds}
    assert {(True, False), (False, True), (True, True)} <= kinds  # chunks, decodes, both


def test_held_out_mixes_are_others():
    rounds = c.mixes(LIMITS, 30, seed=3)
    assert len(rounds) == 30 and all(c.fits(LIMITS, steps) for steps in rounds)
    assert not set(rounds) & set(c.designed(LIMITS))
    assert rounds == c.mixes(LIMITS, 30, seed=3) != c.mixes(LIMITS, 30, seed=4)


def made_up(truth, rounds, noise=0.0, seed=1):
    """Samples of a machine whose coefficients are known."""
    rng = random.Random(seed)
    for steps in rounds:
        q, s = sum(q for q, _ in steps), sum(s for _, s in steps)
        pairs = sum(pairs_one_by_one(*step) for step in steps)
        ns = truth[0] + truth[1] * q + truth[2] * pairs + truth[3] * s + truth[4] * len(steps)
        ns *= 1 + rng.uniform(-noise, noise)
        yield c.Sample(steps, ns, round(ns), round(ns))


@pytest.mark.parametrize(
    "truth",
    [(9e5, 1e4, 47.0, 370.0, 2.8e4), (1e6, 0, 12.0, 0, 0), (0, 5e3, 0, 100.0, 0), (3e5, 0, 0, 0, 9e4)],
)
def test_c13_the_fit_finds_the_coefficients_of_a_made_up_machine(truth):
    found = c.fit(made_up(truth, c.designed(LIMITS)), made_up(truth, c.mixes(LIMITS, 20, 1)))
    assert found.coefficients == pytest.approx(truth, rel=1e-6, abs=1e-3)
    assert max(found.errors) < 1e-6


def test_c13_with_noise_of_five_percent_the_held_out_error_is_about_that():
    truth = (9e5, 1e4, 47.0, 370.0, 2.8e4)
    found = c.fit(made_up(truth, c.designed(LIMITS), 0.05), made_up(truth, c.mixes(LIMITS, 40, 1), 0.05, 2))
    # The noise is uniform in ±5 %, so its median size is 2.5 %, and no error is above 5 % but for the fit's own.
    assert 0.01 < found.median_error < 0.04 and max(found.errors) < 0.08


def test_no_coefficient_is_below_zero_and_none_can_be_moved_to_advantage():
    """The conditions of Karush, Kuhn and Tucker: gradient 0 where a coefficient is > 0, not below 0 where it is 0."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        rows, wanted = rng.normal(size=(12, 4)), rng.normal(size=12)
        found = np.array(c._least_squares(rows, wanted))
        gradient = rows.T @ (rows @ found - wanted)
        assert (found >= 0).all()
        assert np.abs(gradient[found > 0]).max(initial=0) < 1e-9
        assert (gradient[found == 0] > -1e-9).all()


@pytest.fixture(scope="module")
def executor():
    return TorchExecutor(open_model("tiny", "cpu", "float32"), pages=8, page_tokens=16)


def test_measured_rounds_run_through_the_executor_and_leave_nothing(executor):
    ran = []
    launch = executor.launch
    executor.launch = lambda plan: (
        ran.append(tuple((i.new_tokens, i.context) for i in plan.items)),
        launch(plan),
    )
    rounds = [(c.Step(1, 99), c.Step(4, 10)), (c.Step(32, 0),)]
    samples = c.measure(executor, rounds, repeats=3)
    executor.launch = launch
    assert [sample.round for sample in samples] == rounds
    assert sorted(ran) == sorted(rounds * 4)  # one round of each to warm up
    assert all(0 < sample.least <= sample.ns <= sample.most for sample in samples)
    assert not executor._requests and not executor.pages.tables


def test_a_round_beyond_the_cache_is_refused(executor):
    with pytest.raises(ValueError, match="8 pages of 16 are too few for 129 positions"):
        c.measure(executor, [(c.Step(1, 128),)])


def test_c27_transfers_are_a_line_in_bytes(executor):
    moved = c.measure_transfers(executor, repeats=3)
    assert moved.fixed >= 0 and moved.bytes_per_ns > 0


def test_the_cost_file_says_what_was_fitted_and_loads(tmp_path):
    from labkit.scenario.load import load

    found = c.Fit((123_456.7, 89.0, 0.5, 0.0, 1000.0), (0.1, 0.2, 0.4))
    assert found.median_error == 0.2
    document = c.cost_file(found, c.Transfers(2_000.0, 8.0), {"device": "made up"})
    path = tmp_path / "cost.json"
    path.write_text(json.dumps(document), encoding="utf-8", newline="\n")
    scenario = load(
        {
            "schema": "labkit.scenario/1",
            "budget": {"tokens": 8, "seats": 2},
            "cost": {"kind": "calibrated", "path": "cost.json"},
            "requests": [{"id": "A", "arrival": 0.0, "prompt_tokens": 4, "output_tokens": 2}],
        },
        base=tmp_path,
    )
    load_of_round = scenario.cost.begin()
    load_of_round.add(4, 10, True)
    # fixed + 4 tokens + (4·10 + 10) pairs + one seat, and 8 GB/s beside 2 µs, by hand
    assert load_of_round.ns() == round(123_457 + 4 * 89 + 50 * 0.5 + 1000)
    assert scenario.cost.transfer(80_000) == 2_000 + 10_000
