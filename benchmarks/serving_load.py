"""The load of `serving`: requests of known lengths, a Llama-shaped model of random weights, and the work in both."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHAPE = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "attention_bias": False,
    "mlp_bias": False,
    "bos_token_id": None,
    "eos_token_id": None,  # nothing but its length ends an answer
    "pad_token_id": 0,
    "max_position_embeddings": 2048,
}
FULL = {
    **SHAPE, "vocab_size": 8192, "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 1376,
}  # fmt: skip
MINUTE = {
    **SHAPE, "vocab_size": 256, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 32, "intermediate_size": 96,
}  # fmt: skip
WEIGHT_DEVIATION = 0.06  # large enough that answers do not fall into one token repeated


@dataclass(frozen=True)
class Load:
    """`config`: a Hugging Face `config.json`; `requests`: prompt ids and the length of the answer, forced."""

    config: dict[str, Any]
    requests: tuple[tuple[list[int], int], ...]

    @property
    def output_tokens(self) -> int:
        """What every figure counts."""
        return sum(length for _, length in self.requests)

    @property
    def parameters(self) -> int:
        """Of the whole model, embeddings and norms included."""
        return sum(rows * columns for rows, columns in shapes(self.config).values())

    def flops(self) -> dict[str, int]:
        """What no way of computing these answers can leave out, by part.

        `linear`: 2 a weight of the layers and new position, and 2 a weight of the head and answered token; each
        request computes P + O − 1 positions. `attention`: 4 · heads · head_dim a layer and visible pair, of which
        n positions have n(n + 1)/2 (E31.4). Norms, rotations and the softmax are not counted.
        """
        c = self.config
        rest = ("model.embed_tokens.weight", "lm_head.weight")
        weights = sum(
            rows * columns for name, (rows, columns) in shapes(c).items() if rows > 1 and name not in rest
        )
        spans = [len(prompt) + length - 1 for prompt, length in self.requests]
        pairs = sum(n * (n + 1) // 2 for n in spans)
        width = c["num_attention_heads"] * c["head_dim"]
        return {
            "linear": 2 * weights * sum(spans) + 2 * c["vocab_size"] * c["hidden_size"] * self.output_tokens,
            "attention": 4 * width * c["num_hidden_layers"] * pairs,
        }

    def write(self, folder: Path, seed: int = 0) -> None:
        """Write the model as a Hugging Face folder, float32, and the requests beside it, for every peer to read."""
        import torch
        from safetensors.torch import save_file

        draw = torch.Generator().manual_seed(seed)
        weights = {
            name: torch.ones(columns)
            if rows == 1
            else torch.randn(rows, columns, generator=draw) * WEIGHT_DEVIATION
            for name, (rows, columns) in shapes(self.config).items()
        }
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        for name, content in (("config.json", self.config), ("requests.json", self.requests)):
            (folder / name).write_text(json.dumps(content), encoding="utf-8", newline="\n")


def read(folder: Path) -> Load:
    """What `write` wrote."""
    config, requests = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in ("config.json", "requests.json")
    )
    return Load(config, tuple((prompt, length) for prompt, length in requests))


def make_load(quick: bool = False, seed: int = 7) -> Load:
    """32 requests, prompts of 64 to 512 tokens, answers of 16 to 128, uniform; `quick`: 6 minute ones."""
    draw = random.Random(seed)
    config: dict[str, Any] = MINUTE if quick else FULL
    count, prompts, outputs = (6, (8, 32), (4, 8)) if quick else (32, (64, 512), (16, 128))
    requests = []
    for _ in range(count):
        prompt = [draw.randrange(1, config["vocab_size"]) for _ in range(draw.randint(*prompts))]
        requests.append((prompt, draw.randint(*outputs)))
    return Load(config, tuple(requests))


def shapes(config: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Every weight by its Hugging Face name, (rows, columns); a norm has one row."""
    hidden, between, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    block = {
        "input_layernorm": (1, hidden),
        "self_attn.q_proj": (queries, hidden),
        "self_attn.k_proj": (keys, hidden),
        "self_attn.v_proj": (keys, hidden),
        "self_attn.o_proj": (hidden, queries),
        "post_attention_layernorm": (1, hidden),
        "mlp.gate_proj": (between, hidden),
        "mlp.up_proj": (between, hidden),
        "mlp.down_proj": (hidden, between),
    }
    return {
        "model.embed_tokens.weight": (vocab, hidden),
        **{
            f"model.layers.{layer}.{name}.weight": shape
            for layer in range(config["num_hidden_layers"])
            for name, shape in block.items()
        },
        "model.norm.weight": (1, hidden),
        "lm_head.weight": (vocab, hidden),
    }
