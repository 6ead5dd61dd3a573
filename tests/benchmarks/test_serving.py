"""The serving bench: its load, its arithmetic, and the path of `--quick` with the peers that are here."""

import importlib.util
import sys

import pytest

from benchmarks import serving
from benchmarks.serving import NotMeasured, agreement, lines, measure
from benchmarks.serving_load import FULL, Load, make_load, read


def test_the_load_is_the_one_that_was_asked_for():
    load = make_load()
    assert load == make_load()
    assert len(load.requests) == 32
    assert all(64 <= len(prompt) <= 512 and 16 <= length <= 128 for prompt, length in load.requests)
    assert all(1 <= token < 8192 for prompt, _ in load.requests for token in prompt)
    # embedding and head; q and o; k and v; gate, up, down; two norms; 8 layers; the last norm
    layer = 2 * 512 * 512 + 2 * 256 * 512 + 3 * 1376 * 512 + 2 * 512
    assert load.parameters == 2 * 8192 * 512 + 8 * layer + 512
    assert round(load.parameters / 1e6, 1) == 31.6


def test_the_floor_counts_by_hand():
    """Two requests: 3 + 2 − 1 and 5 + 1 − 1 positions; pairs 1+2+3+4 and 1+2+3+4+5 (E31.4)."""
    load = Load(FULL, (([1, 2, 3], 2), ([1, 2, 3, 4, 5], 1)))
    layer = 2 * 512 * 512 + 2 * 256 * 512 + 3 * 1376 * 512
    assert load.flops() == {
        "linear": 2 * 8 * layer * (4 + 5) + 2 * 8192 * 512 * 3,
        "attention": 2
        * 2
        * 512
        * 8
        * (10 + 15),  # scores and weighted sum, a multiplication and an addition each
    }


def test_a_folder_holds_the_model_and_the_load(tmp_path):
    load = make_load(quick=True)
    load.write(tmp_path)
    assert read(tmp_path) == load
    from labkit.scenario.real import open_model

    assert open_model(str(tmp_path), "cpu", "float64").about["parameters"] == load.parameters


def test_agreement_counts_up_to_the_first_difference():
    assert agreement([[1, 2, 3], [4, 5]], [[1, 9, 3], [4, 5]]) == {
        "requests": 1,
        "tokens_before_a_difference": 3,
    }


def test_shorter_answers_are_no_speed_up():
    """C31: a peer that does not give what was asked is not measured."""
    load = Load(FULL, (([1], 2),))
    good = {"seconds": 1.0, "outputs": [[3, 4]]}
    assert serving._checked(good, load) == good
    with pytest.raises(NotMeasured, match="other lengths"):
        serving._checked({"seconds": 0.5, "outputs": [[3]]}, load)


def spread(found):
    return set(found) == {"median", "min", "max"} and 0 < found["min"] <= found["median"] <= found["max"]


def check(result, dtype, measured, missing):
    """The form of what was measured, and that it was said."""
    found = result["dtypes"][dtype]
    assert set(found["peers"]) == set(measured)
    assert set(found["not_measured"]) == set(missing)
    for peer, row in found["peers"].items():
        assert spread(row["tokens_per_second"]) and spread(row["of_floor"])
        assert row["of"][peer] == {"median": 1, "min": 1, "max": 1}
        assert row["same_as"][peer] == {"requests": 6, "tokens_before_a_difference": result["output_tokens"]}
        assert row["same_every_time"]
        assert row["versions"]["torch"]
    said = "\n".join(lines(result))
    assert "quick: its figures say nothing" in said
    assert serving.AIMS in said
    assert all(
        f"{serving.PEERS[peer]}: not measured: {why}" in said for peer, why in found["not_measured"].items()
    )


def test_quick_without_the_peers_that_are_missing(monkeypatch):
    """Two processes: the rate of products and labkit itself; a Python without vLLM is said in one line."""
    monkeypatch.setattr(serving, "DTYPES", ("float32",))
    result = measure(1, quick=True, peers={"labkit": "", "vllm": ""})
    check(result, "float32", ["labkit"], ["vllm"])
    assert result["dtypes"]["float32"]["not_measured"] == {"vllm": "no --vllm PYTHON"}


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is here")
def test_a_peer_that_fails_is_said_in_a_line(tmp_path):
    make_load(quick=True).write(tmp_path)
    with pytest.raises(NotMeasured, match="No module named 'vllm'"):
        serving.Worker("vllm", sys.executable, tmp_path, "float32", 0)


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not installed")
def test_every_way_of_serving_gives_the_same_tokens():
    """Float32: the engine, `generate` alone and in static batches, and the continuous batching of transformers."""
    result = measure(1, quick=True)
    check(result, "float32", ["sequential", "static", "continuous", "labkit"], ["vllm"])
    for row in result["dtypes"]["float32"]["peers"].values():
        assert all(same["requests"] == 6 for same in row["same_as"].values())
    check(result, "bfloat16", ["sequential", "static", "continuous", "labkit"], ["vllm"])
