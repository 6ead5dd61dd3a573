"""The script for a GPU runs on a CPU from end to end; that its figures say nothing is said."""

import json

import pytest
import torch

from benchmarks import gpu_check
from labkit.engine import journal
from labkit.executors.model.decode_graphs import DecodeGraphs


def test_all_of_it_on_a_cpu(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu_check, "SEEDS", (1,))
    assert gpu_check.main(["--device", "cpu", "--out", str(tmp_path / "out")]) == 0
    result = json.loads((tmp_path / "out" / "gpu_check.json").read_text(encoding="utf-8"))
    assert result["measured_on_a_gpu"] is False
    same = result["tokens"]
    assert same["of"] == same["float64"] == same["float64, padded"] == 6
    assert 0 < same["float32"] <= 6
    sizes = gpu_check.MINUTE
    for name in ("packed", "graphs"):
        found = result["rounds"][name]
        # 96 positions of prompt in rounds of 32; the last round of each has decodes too, so full ones are 2 or 3
        assert found["prefill_rounds"] in (2, 3)
        assert sizes.output - sizes.batch <= found["decode_rounds"] < sizes.output
        assert 0 < found["scheduler"] < 1
        events = list(journal.read(tmp_path / "out" / f"rounds_{name}.jsonl"))
        assert sum(event["event"] == "finish" for event in events[1:]) == sizes.batch
    said = capsys.readouterr().out
    assert "no GPU was measured, the figures say nothing" in said
    assert said == (tmp_path / "out" / "gpu_check.txt").read_text(encoding="utf-8")


def test_bytes_and_operations_by_hand():
    """One decode round of two requests at contexts 10 and 20 in 1 ms, one prefill round of 8 positions in 2 ms."""
    from labkit.executors.model.config import ModelConfig
    from labkit.executors.model.load import Loaded

    sizes = gpu_check.Sizes("float32", 100, 8, 2, 2, 1, 16, 2, 8, 2, 8, 0, 0)
    config = ModelConfig(100, 8, 2, 2, 1, 4, 16)
    loaded = Loaded(config, None, None, {"parameters": 2 * 100 * 8 + 640})
    events = [
        {},
        {"event": "plan", "round": 0, "items": [["a", 8, 4, "prefill"]]},
        {"event": "round", "round": 0, "start": 0, "t": 2_000_000},
        {"event": "plan", "round": 1, "items": [["a", 1, 10, "decode"], ["b", 1, 20, "decode"]]},
        {"event": "round", "round": 1, "start": 2_000_000, "t": 3_000_000},
    ]
    found = gpu_check._rounds(events, sizes, loaded, weights=5000)
    # A position is 2 · 2 layers · 1 head · 4 · 4 bytes; 8 positions after 4 see 8·4 + 36 pairs.
    assert found["decode_bytes_per_second"] == pytest.approx((5000 + 30 * 64) / 1e-3)
    assert found["prefill_flops_per_second"] == pytest.approx((2 * 640 * 8 + 2 * 800 + 4 * 8 * 2 * 68) / 2e-3)
    assert (found["decode_rounds"], found["decode_seconds"]) == (1, pytest.approx(1e-3))


def test_other_tokens_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_check, "SEEDS", (1,))
    monkeypatch.setattr(gpu_check, "serve", lambda *given: {})
    right = DecodeGraphs.run
    monkeypatch.setattr(DecodeGraphs, "run", lambda *given: -right(*given))
    assert gpu_check.main(["--device", "cpu", "--out", str(tmp_path)]) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_in_a_line(tmp_path, capsys):
    assert gpu_check.main(["--out", str(tmp_path)]) == 2
    assert "sees 0 GPUs here" in capsys.readouterr().err
