"""What a decoder of the Llama/Qwen3 shape is made of, read from a Hugging Face `config.json`.

Every key of the file falls in one of three tables: read, harmless when it has a known value, or without any
influence on the logits. A key in none of them is refused by name, because ignoring an option gives wrong logits
without a word.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.core.errors import InputError, escaped, quoted

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """How rotary frequencies are stretched to contexts longer than the trained one.

    `linear` divides every frequency by `factor`. `llama3` divides those whose wavelength is over
    `original_positions/low`, keeps those under `original_positions/high`, and blends between.
    """

    kind: str
    factor: float
    low: float = 1.0
    high: float = 4.0
    original_positions: float = 8192.0


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The sizes and options of one decoder. Heads of `head_dim`; `kv_heads` of them are kept in the cache."""

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    rope_theta: float = 10000.0
    rope_scaling: RopeScaling | None = None
    rms_eps: float = 1e-6
    tied_embeddings: bool = False
    qk_norm: bool = False
    attention_bias: bool = False
    max_positions: int = 2048
    eos_ids: tuple[int, ...] = ()

    def bytes_per_token(self, dtype: torch.dtype) -> int:
        """Bytes of cache that one position takes: 2 · layers · kv_heads · head_dim · bytes a number (N09)."""
        return 2 * self.layers * self.kv_heads * self.head_dim * dtype.itemsize


TINY = ModelConfig(
    vocab=512, hidden=64, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=160,
    qk_norm=True, max_positions=4096,
)  # fmt: skip

FAMILIES = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}

# Keys that say nothing about the logits: training, bookkeeping, token ids that the tokenizer holds.
WITHOUT_INFLUENCE = frozenset({
    "_name_or_path", "attention_dropout", "bos_token_id", "dtype", "initializer_range", "max_window_layers",
    "pad_token_id", "torch_dtype", "transformers.js_config", "transformers_version", "use_cache",
    # what older `transformers` wrote into every config
    "chunk_size_feed_forward", "id2label", "is_llama_config", "label2id", "output_attentions",
    "output_hidden_states", "problem_type", "return_dict",
})  # fmt: skip

# Options that are harmless at these values; at another one they would change the logits.
ONLY: dict[str, tuple[object, ...]] = {
    "hidden_act": ("silu",),
    "mlp_bias": (False, None),
    "pretraining_tp": (1, None),
    "rope_interleaved": (False, None),
    "use_sliding_window": (False, None),
    "partial_rotary_factor": (1.0, None),
    "tie_encoder_decoder": (False,),
    "is_encoder_decoder": (False,),
    "is_decoder": (True, False),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,),
    "pruned_heads": ({}, None),
}

READ = frozenset({
    "architectures", "attention_bias", "eos_token_id", "head_dim", "hidden_size", "intermediate_size",
    "layer_types", "max_position_embeddings", "model_type", "num_attention_heads", "num_hidden_layers",
    "num_key_value_heads", "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta", "sliding_window",
    "tie_word_embeddings", "vocab_size",
})  # fmt: skip


def from_hf(given: Mapping[str, Any], file: str = "config.json") -> ModelConfig:
    """Read a `config.json`; InputError with one line for each option that is missing, unknown or unsupported."""
    return _Reader(given, file).config()


class _Reader:
    """One config under reading; problems are collected so that all of them are said at once."""

    def __init__(self, given: Mapping[str, Any], file: str) -> None:
        self.given = given
        self.file = file
        self.problems: list[str] = []

    def wrong(self, key: str, expected: str) -> None:
        said = f"got {quoted(repr(self.given[key]))}" if key in self.given else "it is missing"
        self.problems.append(f"{escaped(self.file)}: {escaped(key)}: {said}, expected {expected}")

    def count(self, key: str, default: int | None = None) -> int:
        value = self.given.get(key, default)
        if value is None and default is not None:
            value = default  # `null` stands for the default in these files
        most = MOST_LAYERS if key == "num_hidden_layers" else MOST
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            self.wrong(key, f"a whole number from 1 to {most}")
            return 1
        return value

    def number(self, key: str, default: float, source: Mapping[str, Any] | None = None) -> float:
        value = (self.given if source is None else source).get(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 < value <= sys.float_info.max
        ):
            self.problems.append(
                f"{escaped(self.file)}: {key}: got {quoted(repr(value))}, expected a number over 0"
            )
            return 1.0
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.given.get(key, default)
        if not isinstance(value, bool):
            self.wrong(key, "true or false")
        return bool(value)

    def config(self) -> ModelConfig:
        family = self.given.get("model_type")
        if not isinstance(family, str) or family not in FAMILIES:
            self.wrong("model_type", "one of " + ", ".join(FAMILIES))
            raise InputError(self.problems)
        if self.given.get("architectures") not in (None, [FAMILIES[family]]):
            self.wrong("architectures", f"[{FAMILIES[family]}]")
        for key in self.given:
            if key in ONLY:
                if self.given[key] not in ONLY[key]:
                    self.wrong(key, " or ".join(str(value) for value in ONLY[key] if value is not None))
            elif key not in READ and key not in WITHOUT_INFLUENCE:
                self.wrong(key, "no such option: this model does not know it, and ignoring it could be wrong")
        self.full_attention()
        hidden, heads = self.count("hidden_size"), self.count("num_attention_heads")
        theta, scaling = self.rope()
        config = ModelConfig(
            vocab=self.count("vocab_size"),
            hidden=hidden,
            layers=self.count("num_hidden_layers"),
            heads=heads,
            kv_heads=self.count("num_key_value_heads", None if family == "qwen3" else heads),
            head_dim=self.count("head_dim", 128 if family == "qwen3" else hidden // heads or 1),
            intermediate=self.count("intermediate_size"),
            rope_theta=theta,
            rope_scaling=scaling,
            rms_eps=self.number("rms_norm_eps", 1e-6),
            tied_embeddings=self.flag("tie_word_embeddings", False),
            qk_norm=family == "qwen3",
            attention_bias=self.flag("attention_bias", False),
            max_positions=self.count("max_position_embeddings"),
            eos_ids=self.eos(),
        )
        if not self.problems:
            self.fits_together(config)
        if self.problems:
            raise InputError(self.problems)
        return config

    def fits_together(self, config: ModelConfig) -> None:
        if config.heads % config.kv_heads:
            self.wrong("num_key_value_heads", f"a divisor of num_attention_heads, {config.heads}")
        if not config.qk_norm and self.given.get("head_dim") is None and config.hidden % config.heads:
            self.wrong(
                "num_attention_heads", f"a divisor of hidden_size, {config.hidden}, as there is no head_dim"
            )
        elif config.head_dim % 2:
            self.wrong("head_dim", "an even number: rotary embeddings turn pairs")
        if any(token >= config.vocab for token in config.eos_ids):
            self.wrong("eos_token_id", f"ids under vocab_size, {config.vocab}")

    def full_attention(self) -> None:
        kinds = self.given.get("layer_types")
        if kinds is not None and (not isinstance(kinds, list) or set(map(str, kinds)) - {"full_attention"}):
            self.wrong("layer_types", "full_attention in every layer")
        if self.given.get("sliding_window") is not None and "use_sliding_window" not in self.given:
            self.wrong("sliding_window", "null: every position attends to all before it")

    def eos(self) -> tuple[int, ...]:
        try:
            return token_ids(self.given.get("eos_token_id"))
        except ValueError as error:
            self.wrong("eos_token_id", str(error))
            return ()

    def rope(self) -> tuple[float, RopeScaling | None]:
        """Read `rope_parameters`, or the older `rope_theta` beside `rope_scaling`."""
        key = "rope_parameters" if self.given.get("rope_parameters") is not None else "rope_scaling"
        found = self.given.get(key)
        given = {} if found is None else found
        if not isinstance(given, Mapping):
            self.wrong(key, "an object")
            return 1.0, None
        theta = self.number("rope_theta", 10000.0, {**self.given, **given})
        kind = given.get("rope_type", given.get("type", "default"))
        known = ROPE_KINDS.get(kind) if isinstance(kind, str) else None
        if known is None:
            self.wrong(key, "rope_type default, linear or llama3")
            return theta, None
        extra = set(given) - {"rope_type", "type", "rope_theta", *known}
        missing = set(known) - set(given)
        if extra or missing:
            names = ", ".join(("rope_theta", *known))
            self.wrong(key, f"rope_type {kind} with {names} and nothing else")
            return theta, None
        if kind == "default":
            return theta, None
        scaling = RopeScaling(str(kind), *(self.number(name, 1.0, given) for name in known))
        if scaling.low >= scaling.high:
            self.wrong(key, "low_freq_factor under high_freq_factor")
        return theta, scaling


MOST, MOST_LAYERS = 2**24, 1024  # beyond what exists, and small enough to list a model's tensors at once
# The kinds of rotary frequencies, and the options that each has, in the order of RopeScaling.
ROPE_KINDS = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}


def token_ids(value: object) -> tuple[int, ...]:
    """One id, a list of ids or nothing, as a tuple; ValueError for anything else."""
    ids = [] if value is None else value if isinstance(value, list) else [value]
    if any(isinstance(token, bool) or not isinstance(token, int) or token < 0 for token in ids):
        raise ValueError("a token id or a list of them")
    return tuple(ids)
