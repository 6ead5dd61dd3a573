"""A scenario joined to the real model: prompts, budgets, the command, and journals that replay like any other."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from labkit.scenario import InputError, command, load, run
from labkit.scenario.explain import schema
from labkit.scenario.real import Joined, torch_executor
from tests.executors.plain_decoder import PlainDecoder, small
from tests.executors.torch_runs import outputs, scenario, torch_run

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
TINY = 512  # bytes of one position of tiny in float32: 2 · 2 layers · 2 heads · 16 · 4 bytes
REQUESTS = [
    {"id": "A", "arrival": 0, "prompt_tokens": 9, "output_tokens": 5},
    {"id": "B", "arrival": 0, "prompt": [5, 6, 7], "max_output_tokens": 4},
    # more than a round's 64 tokens: rejected
    {"id": "C", "arrival": 0, "prompt_tokens": 600, "output_tokens": 5},
]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def call(capsys):
    def called(*argv: object):
        status = command.main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        return status, out, err

    return called


@pytest.fixture
def file(tmp_path):
    def written(document, name="s.json"):
        path = tmp_path / name
        path.write_text(json.dumps(document), encoding="utf-8", newline="\n")
        return path

    return written


def refused(outcome, *words: str) -> list[str]:
    """Exit 2, nothing on standard output, one printable line a problem, none of them a traceback."""
    status, out, err = outcome
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert lines and all(line.isprintable() for line in lines), err
    assert "Traceback" not in err
    for word in words:
        assert word in err, err
    return lines


@pytest.fixture(scope="module")
def tokenizer():
    """One token a byte, as byte-level vocabularies end; ids 0..255."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


@pytest.fixture(scope="module")
def speaking(tokenizer):
    import dataclasses

    from tests.executors.plain_decoder import SMALL

    loaded = small(config=dataclasses.replace(SMALL, vocab=256))
    return dataclasses.replace(loaded, tokenizer=tokenizer)


# ------------------------------------------------------------------------------------------------ the command


def test_run_and_replay_are_equal(call, file, tmp_path):
    journal = tmp_path / "j.jsonl"
    ran = call("run", file(scenario(REQUESTS, {})), "--executor", "torch", "--json", "--journal", journal)
    assert ran[0] == 0, ran
    assert call("replay", journal, "--json") == ran
    result = json.loads(ran[1])
    jsonschema.Draft202012Validator(schema("result")).validate(result)
    a, b, c = result["requests"]
    assert [len(row["tokens"]) for row in (a, b, c)] == [5, 4, 0]
    assert (c["outcome"], c["reason"]) == ("rejected", "capacity")
    assert "text" not in a
    status, text, _ = call("replay", journal, "--text")
    assert status == 0 and text.count("Round ") == len(result["rounds"])
    header = json.loads(journal.read_text(encoding="utf-8").splitlines()[0])
    about = header["executor"]
    assert (about["kind"], about["dtype"], about["model"]["name"]) == ("torch", "float32", "tiny")
    assert about["bytes_per_token"] == TINY == header["scenario"]["budget"]["bytes_per_token"]
    assert about["versions"]["torch"] == torch.__version__
    assert about["pages"] * TINY * 4 == header["scenario"]["budget"]["kv_bytes"]
    # embedding and head; in each of 2 layers q, k, v, out, three of SwiGLU, two norms and two of a head; the last norm
    layer = 64 * (4 + 2 * 2) * 16 + 4 * 16 * 64 + 3 * 64 * 160 + 2 * 64 + 2 * 16
    assert about["model"]["parameters"] == 2 * 512 * 64 + 2 * layer + 64
    # The scenario in the first line is one that runs again, to the same tokens.
    joined, executor = torch_executor(header["scenario"])
    again = run(joined, executor=executor)
    assert outputs(again) == {row["id"]: row["tokens"] for row in (a, b, c)}


def test_the_library_runs(call):
    for name in ("x1_static", "x1_continuous", "q31_2_static"):
        status, out, _ = call(
            "run", name, "--executor", "torch", "--device", "cpu", "--dtype", "float64", "--json"
        )
        assert status == 0
        assert {row["outcome"] for row in json.loads(out)["requests"]} == {"finished"}


def test_dtypes(call, file):
    for dtype in ("float64", "float32", "bfloat16"):
        status, out, _ = call(
            "run", file(scenario(REQUESTS, {})), "--executor", "torch", "--dtype", dtype, "--json"
        )
        assert (status, len(json.loads(out)["requests"][0]["tokens"])) == (0, 5)


def test_the_seed_draws_other_prompts(call, file):
    path = file(scenario(REQUESTS[:1], {}))
    tokens = [
        json.loads(call("run", path, "--executor", "torch", "--seed", seed, "--json")[1])["requests"][0][
            "tokens"
        ]
        for seed in (1, 2, 1)
    ]
    assert tokens[0] == tokens[2] != tokens[1]


def test_several_scenarios_or_none(call, file):
    good = file(scenario(REQUESTS, {}))
    bad = file(scenario([{**REQUESTS[1], "prompt": [512]}], {}), "bad.json")
    status, out, _ = call("run", good, good, "--executor", "torch", "--json")
    lines = [json.loads(line)["requests"] for line in out.splitlines()]
    assert status == 0 and [row["tokens"] for row in lines[0]] == [row["tokens"] for row in lines[1]]
    refused(call("run", good, bad, "--executor", "torch", "--json"), "requests[0].prompt: given the id 512")


def test_loads_that_are_drawn(call, file, tmp_path):
    """Their lengths are those of the load, whatever the model says."""
    law = {"kind": "uniform", "low": 1, "high": 6}
    base = {key: value for key, value in scenario([], {}).items() if key != "requests"}
    arrivals = {"process": "poisson", "rate": 500, "count": 7, "prompt": law, "output": law}
    closed = {"users": 2, "count": 6, "prompt": law, "output": law}
    rows = "arrival,prompt_tokens,output_tokens\n0,5,3\n0,2,4\n"
    (tmp_path / "t.csv").write_text(rows, encoding="utf-8", newline="\n")
    trace = {"path": "t.csv", "format": "csv"}
    for load_of in ({"arrivals": arrivals}, {"closed_loop": closed}, {"trace": trace}):
        path = file(base | load_of)
        virtual = json.loads(call("run", path, "--json")[1])["requests"]
        status, out, err = call("run", path, "--executor", "torch", "--json")
        assert status == 0, err
        lengths = {row["id"]: len(row["tokens"]) for row in json.loads(out)["requests"]}
        assert lengths == {row["id"]: len(row["token_times"]) for row in virtual}


def test_out_of_memory_ends_in_one_line(call, file, monkeypatch, tmp_path):
    from labkit.executors.model.transformer import Transformer

    forward, calls = Transformer.forward, []

    def small_device(self, batch, cache):
        calls.append(len(batch.tokens))
        if len(calls) == 4:  # the warm-up, then rounds 0 to 2
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1.50 GiB.")
        return forward(self, batch, cache)

    monkeypatch.setattr(Transformer, "forward", small_device)
    journal = tmp_path / "j.jsonl"
    outcome = call("run", file(scenario(REQUESTS, {})), "--executor", "torch", "--json", "--journal", journal)
    (line,) = refused(outcome, "round 2 ", "2 items (A 1 new after 10, B 1 new after 4)", "1.50 GiB")
    assert "kv_bytes" in line
    # What happened until then is on record.
    assert journal.read_text(encoding="utf-8").count('"event":"round"') == 2


def test_without_torch():
    code = "import sys; sys.modules['torch'] = None; from labkit.__main__ import main; sys.exit(main(sys.argv[1:]))"
    argv = [sys.executable, "-c", code, "run", "x1_static", "--executor", "torch"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "needs the package torch" in line and "lab --model" in line


# ------------------------------------------------------------------------------------------------ wrong input


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"bytes_per_token": 65536},
            ["budget.bytes_per_token: given 65536, expected 512", "tiny in float32", "N09"],
        ),
        ({"kv_bytes": 10**15}, ["budget.kv_bytes: given 1000000000000000, expected at most", "N10"]),
        (
            {"page_tokens": 10**12},
            ["budget.page_tokens: given 1000000000000, which are 512000000000000 bytes"],
        ),
    ],
)
def test_budgets(call, file, changes, words):
    assert len(refused(call("run", file(scenario(REQUESTS, changes)), "--executor", "torch"), *words)) == 1


def test_budget_of_one_page_and_of_less(file, call):
    page = 4 * TINY
    for given, fits in ((page, True), (page - 1, False)):
        path = file(scenario(REQUESTS, {"kv_bytes": given, "bytes_per_token": TINY}))
        outcome = call("run", path, "--executor", "torch", "--json")
        if fits:
            assert outcome[0] == 0
            assert all(row["outcome"] == "rejected" for row in json.loads(outcome[1])["requests"][:1])
        else:
            refused(outcome, f"budget.kv_bytes: given {given}, expected room for at least one page: {page}")


def test_the_pool_is_no_larger_than_what_may_be_in_use(monkeypatch):
    """kv_bytes null: every seat at its longest; but prefixes outlive their requests; and memory has an end."""
    asked = [{**REQUESTS[0], "id": name, "prompt_tokens": 10 + at} for at, name in enumerate("ABCD")]
    for sharing, pages in ((False, 2 * 5), (True, 4 + 4 + 5 + 5)):  # of 15, 16, 17 and 18 positions
        joined, executor = torch_executor(scenario(asked, {"seats": 2}, prefix_sharing=sharing))
        assert executor.cache.pages == pages == joined.setup.budget.pages
    monkeypatch.setattr("labkit.executors.model.memory.available_memory", lambda: 10**6)
    _, executor = torch_executor(scenario(asked, {"seats": 4, "page_tokens": 1}))
    assert 0 < executor.cache.pages < 15 + 16 + 17 + 18
    with pytest.raises(InputError, match=r"budget\.page_tokens: given 2000"):
        torch_executor(scenario(asked, {"seats": 4, "page_tokens": 2000}))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"prompt": "Hello"}, "requests[0].prompt: given text, expected token ids: the model tiny has no tokenizer"),
        ({"prompt": [1, 512]}, "requests[0].prompt: given the id 512, expected ids under 512"),
        ({"prompt_tokens": 4090, "max_output_tokens": 7}, "4090 + 7 positions (prompt and max_output_tokens)"),
        ({"prompt": [1], "sampling": {"stop": [600]}}, "requests[0].sampling.stop: given 600, expected ids under 512"),
        ({"prompt": [1], "prefix": [["s", 2]]}, "prefix: given 2 positions, expected at most"),
    ],
)  # fmt: skip
def test_prompts_that_the_model_cannot_take(call, file, request_, words):
    request = {"id": "A", "arrival": 0, "max_output_tokens": 3} | request_
    assert len(refused(call("run", file(scenario([request], {})), "--executor", "torch"), words)) == 1


def test_other_things_that_do_not_go_together(call, file):
    policy = {"batching": "static", "static_finished": "compute"}
    refused(
        call("run", file(scenario(REQUESTS, {}, **policy)), "--executor", "torch"), "policy.static_finished"
    )
    both = [{**REQUESTS[0], "sampling": {"stop": [3]}}]
    refused(
        call("check", file(scenario(both, {}))), "requests[0].sampling: given stop beside output_tokens, 5"
    )
    for model in ("nowhere", ROOT / "tests"):
        assert len(refused(call("run", "x1_static", "--executor", "torch", "--model", model))) == 1
    with pytest.raises(InputError, match="float16"):
        torch_executor("x1_static", dtype="float16")


def test_runs_of_one_name_are_the_same_tokens(call, file):
    """Pages are shared by name: other tokens under the same name would be answers to somebody else's prompt."""
    asked = [
        {"id": "A", "arrival": 0, "prompt": [1, 2, 3, 4], "max_output_tokens": 2, "prefix": [["s", 3]]},
        {"id": "B", "arrival": 0, "prompt": [1, 2, 3], "max_output_tokens": 2, "prefix": [["s", 2]]},
        {"id": "C", "arrival": 0, "prompt": [1, 9, 3], "max_output_tokens": 2, "prefix": [["s", 2]]},
    ]
    assert call("run", file(scenario(asked[:2], {})), "--executor", "torch")[0] == 0
    refused(
        call("run", file(scenario(asked, {})), "--executor", "torch"),
        'requests[2].prefix: given the run "s" with the token 9 at 1, expected 2 as in requests[0]',
    )
    drawn = {"id": "D", "arrival": 0, "prompt_tokens": 4, "output_tokens": 2, "prefix": [["s", 2]]}
    refused(
        call("run", file(scenario([drawn, asked[0]], {})), "--executor", "torch"),
        'requests[1].prefix: given the run "s"',
    )


# ------------------------------------------------------------------------------------------------ lengths, text


def test_what_the_virtual_clock_lacks_is_said(call, file):
    """The same file is a valid scenario; ids count themselves, an open end needs the model."""
    text = {"id": "T", "arrival": 0, "prompt": "Once upon a time", "max_output_tokens": 4}
    path = file(scenario([*REQUESTS, text], {}))
    assert call("check", path)[0] == 0
    lines = refused(
        call("run", path), "requests[1].output_tokens", "requests[3].prompt_tokens", "--executor torch"
    )
    assert len(lines) == 3
    bare = call("check", file(scenario([{"id": "A", "arrival": 0}], {})))
    refused(bare, "prompt_tokens: given nothing", "output_tokens: given nothing")
    ids = {"id": "A", "arrival": 0, "prompt": [1, 2, 3], "output_tokens": 2}
    (row,) = json.loads(call("run", file(scenario([ids], {})), "--json")[1])["requests"]
    assert row["computed_tokens"] == 4


def test_text_in_text_out(speaking, tokenizer, call, tmp_path):
    """The prompt is counted by the tokenizer; the pieces of the journal join to the text of the whole answer."""
    prompt = "批处理 of 3"
    count = len(prompt.encode())
    asked = [
        {"id": "A", "arrival": 0, "prompt": prompt, "max_output_tokens": 40},
        {"id": "B", "arrival": 0, "prompt": prompt, "prompt_tokens": count, "output_tokens": 24},
        {"id": "C", "arrival": 0, "prompt_tokens": 100, "output_tokens": 2},
    ]
    done = torch_run(scenario(asked, {"seats": 3}, prefill_chunk=30), speaking)
    ids = tokenizer.encode(prompt).ids
    assert len(ids) == count == done.scenario.raw["requests"][0]["prompt_tokens"]
    wanted = PlainDecoder(speaking).greedy(ids, 40)
    for row, length in zip(done.result["requests"], (40, 24), strict=False):
        assert row["tokens"] == wanted[:length]
        assert row["text"] == tokenizer.decode(wanted[:length])
        pieces = [e["text"] for e in done.journal[1:] if e["event"] == "token" and e["id"] == row["id"]]
        assert len(pieces) == length and "".join(pieces) == row["text"]
    assert done.journal[0]["executor"]["tokenizer"] is True
    journal = tmp_path / "j.jsonl"
    lines = "".join(json.dumps(event) + "\n" for event in done.journal)
    journal.write_text(lines, encoding="utf-8", newline="\n")
    assert json.loads(call("replay", journal, "--json")[1]) == done.result


def test_text_and_its_number_of_tokens_have_to_agree(speaking):
    asked = [{"id": "A", "arrival": 0, "prompt": "né", "prompt_tokens": 2, "max_output_tokens": 4}]
    with pytest.raises(InputError, match=r"requests\[0\]\.prompt_tokens: given 2, expected 3"):
        torch_run(scenario(asked, {}), speaking)
    asked = [{"id": "A", "arrival": 0, "prompt": "", "max_output_tokens": 4}]
    with pytest.raises(InputError, match=r"requests\[0\]\.prompt: given a prompt without a token"):
        torch_run(scenario(asked, {}), speaking)


def test_a_tokenizer_that_cannot_take_the_text_or_knows_more_ids(speaking):
    """Ids beyond the vocabulary, which its size alone does not show, and a tokenizer that fails."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    document = {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 8, "seats": 1},
        "cost": {"kind": "linear", "fixed": 1},
        "requests": [{"id": "A", "arrival": 0, "prompt": "one more", "max_output_tokens": 2}],
    }
    for unknown, said in (("far", "given the id 99999, expected ids under"), ("none", "cannot take")):
        made = Tokenizer(models.WordLevel({"one": 0, "far": 99999}, unk_token=unknown))
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        with pytest.raises(InputError, match=rf"requests\[0\]\.prompt: .*{said}"):
            Joined(load(document), dataclasses.replace(speaking, tokenizer=made))


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("prefilled", [False, True])
def test_logits_that_are_not_finite_end_in_one_line(call, file, monkeypatch, depth: int, prefilled: bool):
    """Never a token made of nothing, greedy or drawn; at depth 2 the next round is launched on it before it is seen."""
    from labkit.executors.model.transformer import Transformer

    forward = Transformer.forward
    monkeypatch.setattr(Transformer, "forward", lambda *given: forward(*given) * float("nan"))
    for sampling in (None, {"temperature": 1, "top_p": 0.9}):
        request = {"id": "A", "arrival": 0, "prompt_tokens": 3, "output_tokens": 4, "sampling": sampling}
        document = {
            "schema": "labkit.scenario/1",
            "budget": {"tokens": 8, "seats": 1},
            "policy": {"pipeline_depth": depth},
            "cost": {"kind": "linear", "fixed": 1},
            "requests": [request | {"prefilled": prefilled}],
        }
        refused(call("run", file(document), "--executor", "torch"), 'request "A"', "not finite")
