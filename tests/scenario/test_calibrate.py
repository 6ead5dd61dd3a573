"""`python -m labkit calibrate`: what it writes a scenario can use; what it refuses is one line."""

import json

import pytest

pytest.importorskip("torch")

from labkit.measure.result import ResultFold
from labkit.scenario.calibrate import calibrate, main
from labkit.scenario.load import load
from labkit.scenario.real import torch_executor
from labkit.scenario.run import stream

SMALL = ["--tokens", "32", "--seats", "4", "--positions", "64", "--repeats", "1"]


def test_c13_the_command_writes_a_cost_model_that_a_real_run_plans_by(tmp_path, capsys):
    out = tmp_path / "cost.json"
    assert main(["calibrate", "--out", str(out), *SMALL]) == 0
    said = capsys.readouterr()
    document = json.loads(out.read_text(encoding="utf-8"))
    fitted = document["fitted"]
    assert fitted["held_out"] == 40 and fitted["limits"] == {"tokens": 32, "seats": 4, "positions": 64}
    assert f"median {fitted['median_error']:.1%}" in said.out and "aim 10%" in said.out
    assert said.err == ""
    # A round of one decode costs more than nothing, and the rounds of a real run are chosen by it.
    scenario = load(
        {
            "schema": "labkit.scenario/1",
            "budget": {"tokens": 32, "seats": 4, "round_seconds": 0.004},
            "policy": {"prefill_chunk": 32},
            "cost": {"kind": "calibrated", "path": "cost.json"},
            "requests": [
                {"id": name, "arrival": 0.0, "prompt_tokens": 40, "output_tokens": 6} for name in "ABCDEF"
            ],
        },
        base=tmp_path,
    )
    joined, executor = torch_executor(scenario)
    plans = []
    fold = ResultFold()

    def sink(event):
        fold.feed(event)
        if event["event"] == "plan" and event["items"]:
            plans.append(event["items"])

    stream(joined, sink, executor=executor)
    assert fold.result()["summary"]["finished"] == 6
    for items in plans:
        cost = joined.cost.begin()
        for _, new_tokens, context, phase in items:
            cost.add(new_tokens, context, phase == "prefill")
        # Within the limit by the estimate, or a lone smallest step, which may not be refused (E31.5).
        assert cost.ns() <= 4_000_000 or (len(items) == 1 and items[0][1] == 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "nowhere"], "nowhere"),
        (["--positions", "99999"], "the model's context"),
        (["--seats", "9", "--tokens", "8"], "1 <= seats <= tokens"),
        (["--repeats", "0"], "expected 1 or more"),
        (["--device", "cuda"], "cuda"),
    ],
)
def test_bad_input_is_one_line_and_no_file(tmp_path, capsys, options, said):
    out = tmp_path / "cost.json"
    assert main(["calibrate", "--out", str(out), *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and said in shown.err
    assert not out.exists()


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, capsys):
    assert main(["calibrate", "--out", str(tmp_path / "no folder" / "cost.json")]) == 2
    assert "expected a file that can be written" in capsys.readouterr().err


@pytest.mark.long
def test_c13_equal_new_tokens_after_more_context_take_longer():
    """C13: the same 32 new positions after 0 and after 900 cached ones; the fit must charge the pairs or the reads."""
    found = calibrate(tokens=64, seats=8, positions=1000, repeats=5)
    document = found.document
    assert document["per_pair"] + document["per_context"] > 0


def test_rounds_that_do_not_fit_in_memory_are_not_measured(capsys, tmp_path):
    """Nobody waits for a machine that swaps itself to death: 999,999 rows of logits alone are over 10 GB."""
    out = tmp_path / "cost.json"
    argv = ["calibrate", "--out", str(out), "--tokens", "999999", "--seats", "999999", "--positions", "100"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labkit.executors.model.memory.available_memory", lambda: 16 << 30)
        assert main(argv) == 2
    said, err = capsys.readouterr()
    assert (said, err.count("\n"), out.exists()) == ("", 1, False)
    assert "999999 tokens in 999999 seats" in err and "fits" in err
