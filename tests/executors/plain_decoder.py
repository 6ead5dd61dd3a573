"""A decoder written out by the definition, from a model's weights alone: no cache, no pages, one request at a time."""

from __future__ import annotations

import torch

from labkit.executors.model.config import ModelConfig
from labkit.executors.model.load import Loaded, random_model

SMALL = ModelConfig(
    vocab=97,
    hidden=32,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=8,
    intermediate=48,
    qk_norm=True,
    max_positions=160,
)


def small(dtype: torch.dtype = torch.float64, config: ModelConfig = SMALL) -> Loaded:
    """A model small enough that hundreds of runs are a matter of seconds."""
    return random_model(config, "small", torch.device("cpu"), dtype, seed=5)


class PlainDecoder:
    """Logits after a whole row of tokens, each time from the start."""

    def __init__(self, loaded: Loaded, dtype: torch.dtype = torch.float64) -> None:
        self.config = loaded.config
        self.weights = {name: weight.to(dtype) for name, weight in loaded.model.state_dict().items()}
        self._known: dict[tuple[int, ...], torch.Tensor] = {}

    def logits(self, ids: list[int]) -> torch.Tensor:
        """The logits [vocab] of the token that follows `ids`."""
        key = tuple(ids)
        if key not in self._known:
            self._known[key] = self._forward(ids)
        return self._known[key]

    def greedy(self, prompt: list[int], count: int) -> list[int]:
        """The `count` likeliest tokens after `prompt`, one whole forward each."""
        ids = list(prompt)
        for _ in range(count):
            ids.append(int(self.logits(ids).argmax()))
        return ids[len(prompt) :]

    def _forward(self, ids: list[int]) -> torch.Tensor:
        config, w = self.config, self.weights
        x = w["embed.weight"][ids]
        for layer in range(config.layers):
            name = f"blocks.{layer}."
            h = norm(x, w[name + "attention_norm.weight"], config.rms_eps)
            x = x + self._attention(h, name + "attention.") @ w[name + "attention.out.weight"].T
            h = norm(x, w[name + "mlp_norm.weight"], config.rms_eps)
            gate, up = (h @ w[name + "mlp.gate_up.weight"].T).split(config.intermediate, dim=1)
            x = x + (gate / (1 + torch.exp(-gate)) * up) @ w[name + "mlp.down.weight"].T
        return norm(x[-1], w["norm.weight"], config.rms_eps) @ w["head.weight"].T

    def _attention(self, h: torch.Tensor, name: str) -> torch.Tensor:
        config, w, count = self.config, self.weights, len(h)
        width = config.head_dim
        rows = (h @ w[name + "qkv.weight"].T).view(count, -1, width)
        outputs = []
        for head in range(config.heads):
            shared = head // (config.heads // config.kv_heads)
            q = turned(norm(rows[:, head], w[name + "q_norm.weight"], config.rms_eps), config)
            k = rows[:, config.heads + shared]
            k = turned(norm(k, w[name + "k_norm.weight"], config.rms_eps), config)
            v = rows[:, config.heads + config.kv_heads + shared]
            scores = q @ k.T / width**0.5
            scores[torch.ones(count, count).triu(1) > 0] = -torch.inf
            outputs.append(torch.softmax(scores, dim=1) @ v)
        return torch.cat(outputs, dim=1)


def norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight


def turned(x: torch.Tensor, config: ModelConfig) -> torch.Tensor:
    """Rotary embedding by complex numbers: pair (i, i + width/2) turns by position · theta^(−2i/width)."""
    half = config.head_dim // 2
    angle = torch.outer(
        torch.arange(len(x), dtype=torch.float64),
        config.rope_theta ** (-2 * torch.arange(half, dtype=torch.float64) / config.head_dim),
    )
    pairs = torch.complex(x[:, :half].double(), x[:, half:].double()) * torch.polar(
        torch.ones_like(angle), angle
    )
    return torch.cat((pairs.real, pairs.imag), dim=1).to(x.dtype)
