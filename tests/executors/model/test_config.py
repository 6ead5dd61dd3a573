"""config.json: what is read, what is harmless, and that everything else is refused by name."""

import json

import pytest
import torch

from labkit.core.errors import InputError
from labkit.executors.model.config import ModelConfig, RopeScaling, from_hf

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 100, "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128,
    "max_position_embeddings": 64, "hidden_act": "silu",
}  # fmt: skip


def test_bytes_of_a_position_belong_to_the_model():
    """N09: 2 · 32 layers · 8 heads · 64 · 2 bytes = 65,536; another number of layers or type, another figure."""
    shape = {"vocab": 8, "hidden": 2048, "heads": 32, "kv_heads": 8, "head_dim": 64, "intermediate": 8}
    assert ModelConfig(layers=32, **shape).bytes_per_token(torch.bfloat16) == 65_536
    assert ModelConfig(layers=16, **shape).bytes_per_token(torch.bfloat16) == 32_768
    assert ModelConfig(layers=32, **shape).bytes_per_token(torch.float32) == 131_072


def test_the_plain_llama():
    assert from_hf(LLAMA) == ModelConfig(100, 64, 2, 4, 2, 16, 128, rms_eps=1e-6, max_positions=64)


def test_published_forms_of_one_thing_are_read_alike():
    """Older files say `rope_theta` beside `rope_scaling`, newer ones `rope_parameters`."""
    llama3 = {
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    new = from_hf({**LLAMA, "rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, **llama3}})
    old = from_hf({**LLAMA, "rope_theta": 500000, "rope_scaling": {"rope_type": "llama3", **llama3}})
    assert new == old
    assert (new.rope_theta, new.rope_scaling) == (5e5, RopeScaling("llama3", 32.0, 1.0, 4.0, 8192))
    linear = from_hf({**LLAMA, "rope_scaling": {"type": "linear", "factor": 2}})
    assert (linear.rope_theta, linear.rope_scaling) == (10000.0, RopeScaling("linear", 2.0))
    assert from_hf({**LLAMA, "rope_scaling": None}) == from_hf(LLAMA)


def test_the_qwen3_family_has_norms_and_its_own_head_size():
    qwen = {**LLAMA, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "sliding_window": 4096,
            "use_sliding_window": False, "max_window_layers": 28, "eos_token_id": [1, 2]}  # fmt: skip
    config = from_hf({**qwen, "layer_types": ["full_attention"] * 2})
    assert (config.qk_norm, config.head_dim, config.eos_ids) == (True, 128, (1, 2))
    assert from_hf({**qwen, "head_dim": 32}).head_dim == 32


def test_what_transformers_writes_is_known(transformers, tmp_path):
    """A key that a new version adds makes this fail, not a student's model."""
    for family in ("Llama", "Qwen3"):
        config = getattr(transformers, family + "Config")(architectures=[family + "ForCausalLM"])
        for given in (config.to_dict(), config.to_diff_dict()):
            given.setdefault("num_attention_heads", 32)
            if "vocab_size" in given:
                assert from_hf(json.loads(json.dumps(given))).vocab == config.vocab_size


BAD = [
    ({"model_type": "gpt2"}, "model_type", "gpt2"),
    ({"model_type": None}, "model_type", "None"),
    ({"model_type": ["llama"]}, "model_type", "llama"),
    ({"architectures": ["LlamaForSequenceClassification"]}, "architectures", "LlamaForCausalLM"),
    ({"logit_scale": 2.0}, "logit_scale", "2.0"),
    ({"quantization_config": {"bits": 4}}, "quantization_config", "bits"),
    ({"mlp_bias": True}, "mlp_bias", "True"),
    ({"hidden_act": "gelu"}, "hidden_act", "gelu"),
    ({"hidden_act": ["silu"]}, "hidden_act", "silu"),
    ({"pretraining_tp": 2}, "pretraining_tp", "2"),
    ({"sliding_window": 64}, "sliding_window", "64"),
    ({"sliding_window": 64, "use_sliding_window": True}, "use_sliding_window", "True"),
    ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types", "sliding_attention"),
    ({"layer_types": "sliding_attention"}, "layer_types", "sliding_attention"),
    ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope_scaling", "yarn"),
    ({"rope_scaling": {"rope_type": ["linear"]}}, "rope_scaling", "linear"),
    ({"rope_scaling": {"type": "linear"}}, "rope_scaling", "factor"),
    ({"rope_scaling": {"type": "linear", "factor": 2.0, "mscale": 1.0}}, "rope_scaling", "mscale"),
    ({"rope_scaling": {"type": "linear", "factor": "2"}}, "factor", "2"),
    ({"rope_scaling": "linear"}, "rope_scaling", "linear"),
    ({"rope_parameters": {"rope_type": "default", "rope_theta": -1}}, "rope_theta", "-1"),
    ({"rope_theta": float("nan")}, "rope_theta", "nan"),
    ({"rope_theta": 10**400}, "rope_theta", "1000"),
    ({"vocab_size": 0}, "vocab_size", "0"),
    ({"vocab_size": 100.0}, "vocab_size", "100.0"),
    ({"hidden_size": True}, "hidden_size", "True"),
    ({"num_hidden_layers": 10**9}, "num_hidden_layers", "1000000000"),
    ({"num_key_value_heads": 3}, "num_key_value_heads", "divisor"),
    ({"num_attention_heads": 5, "num_key_value_heads": 5}, "num_attention_heads", "head_dim"),
    ({"head_dim": 15}, "head_dim", "15"),
    ({"rms_norm_eps": 0}, "rms_norm_eps", "0"),
    ({"tie_word_embeddings": 1}, "tie_word_embeddings", "1"),
    ({"attention_bias": "no"}, "attention_bias", "no"),
    ({"eos_token_id": [1, "2"]}, "eos_token_id", "2"),
    ({"eos_token_id": 100}, "eos_token_id", "100"),
]


@pytest.mark.parametrize(("change", "key", "said"), BAD, ids=lambda value: str(value)[:50])
def test_what_is_not_supported_is_refused_by_name(change, key, said):
    with pytest.raises(InputError) as caught:
        from_hf({**LLAMA, **change}, "folder/config.json")
    [line] = caught.value.problems
    assert line.startswith(f"folder/config.json: {key}: ")
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize("key", sorted(set(LLAMA) - {"architectures", "hidden_act", "num_key_value_heads"}))
def test_a_missing_size_is_named(key):
    given = {name: value for name, value in LLAMA.items() if name != key}
    with pytest.raises(InputError, match=f"config.json: {key}: it is missing"):
        from_hf(given)


def test_all_problems_are_said_at_once():
    with pytest.raises(InputError) as caught:
        from_hf({**LLAMA, "mlp_bias": True, "logit_scale": 1, "vocab_size": None, "ugly\nkey": 1})
    assert len(caught.value.problems) == 4
    assert not any("\n" in line for line in caught.value.problems)
