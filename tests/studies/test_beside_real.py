"""C13, N08: what is set side by side is one scenario, one shape, one cost model."""

import pytest

pytest.importorskip("torch")

from labkit.show.figures.beside_real import beside_real as figure
from labkit.studies.beside_real import beside_real

FITTED = {
    "schema": "labkit.cost/1",
    "kind": "linear",
    "fixed": 0.001,
    "per_token": 0.00001,
    "per_pair": 1e-7,
    "swap_bytes_per_second": 1e9,
    "swap_fixed": 0.0001,
    "fitted": {"device": "made up"},
}
SCENARIO = {
    "schema": "labkit.scenario/1",
    "budget": {"tokens": 16, "seats": 3},
    "policy": {"prefill_chunk": 8},
    "cost": {"kind": "table", "seconds": {"1": 1.0, "2": 1.0, "3": 1.0}},
    "requests": [
        {"id": "A", "arrival": 0.0, "prompt_tokens": 20, "output_tokens": 5},
        {"id": "B", "arrival": 0.0, "prompt_tokens": 7, "max_output_tokens": 9},
        {"id": "C", "arrival": 0.001, "prompt_tokens": 3, "output_tokens": 2},
    ],
}


@pytest.mark.parametrize("depth", [1, 2])
def test_c13_each_real_round_is_priced_by_its_shape_and_the_twin_has_the_same_lengths(depth: int):
    """At depth 2 a round is planned, and so in the journal, before the one ahead of it has ended."""
    policy = {**SCENARIO["policy"], "pipeline_depth": depth}
    found = beside_real(SCENARIO | {"policy": policy}, FITTED, dtype="float64")
    rounds = found.real.result["rounds"]
    assert len(found.rounds) == len(rounds)
    for (measured, predicted), one in zip(found.rounds, rounds, strict=True):
        assert measured == one["seconds"]
        q = sum(item["new_tokens"] for item in one["items"])
        pairs = sum(item["context"] + r for item in one["items"] for r in range(1, item["new_tokens"] + 1))
        assert predicted == pytest.approx(0.001 + 0.00001 * q + 1e-7 * pairs, abs=1e-9)
    for real, virtual in zip(found.real.result["requests"], found.virtual.result["requests"], strict=True):
        assert len(real["tokens"]) == len(virtual["token_times"]) > 0
        assert found.ends[real["id"]] == (real["end"], virtual["end"])
    assert found.round_error >= 0
    seconds = [run.result["summary"]["seconds"] for run in (found.real, found.virtual)]
    assert found.makespan_error == pytest.approx(seconds[1] / seconds[0] - 1)


def test_the_figure_says_its_counts_and_errors():
    picture = figure([(0.001, 0.001), (0.002, 0.003), (0.004, 0.006)], {"A": (1.0, 1.1), "B": (2.0, 2.0)})
    assert "3 轮" in picture.alt and "50%" in picture.alt  # 0, 50 and 50 %
    assert "2 个请求" in picture.alt and "5%" in picture.alt
    assert picture.png().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="at least one"):
        figure([], {})
