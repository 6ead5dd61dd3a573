"""The decoder: embeddings, blocks of attention and SwiGLU, a head. Llama and Qwen3 differ in `qk_norm` alone.

One forward takes all new positions of a round, whoever they belong to: every matrix product is over the packed row of
tokens, and only attention looks at which request a position is of.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from labkit.executors.model.config import ModelConfig
from labkit.executors.model.paged import Packed, PagedCache, paged_attention


class Attention(nn.Module):
    """Grouped-query attention with rotary positions and, in Qwen3, a norm of each query and key head."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.width = config.heads, config.kv_heads, config.head_dim
        rows = (config.heads + 2 * config.kv_heads) * config.head_dim
        self.qkv = nn.Linear(config.hidden, rows, bias=config.attention_bias)
        self.out = nn.Linear(config.heads * config.head_dim, config.hidden, bias=config.attention_bias)
        self.q_norm = nn.RMSNorm(config.head_dim, config.rms_eps) if config.qk_norm else nn.Identity()
        self.k_norm = nn.RMSNorm(config.head_dim, config.rms_eps) if config.qk_norm else nn.Identity()

    def forward(self, x: Tensor, turn: Turn, cache: PagedCache, layer: int, batch: Packed) -> Tensor:
        """`x` [tokens, hidden] to the same shape; its keys and values go into the cache first."""
        parts = self.qkv(x).view(len(x), -1, self.width)
        q, k, v = parts.split((self.heads, self.kv_heads, self.kv_heads), dim=1)
        q, k = rotate(self.q_norm(q), turn), rotate(self.k_norm(k), turn)
        cache.write(layer, torch.stack((k, v), dim=1), batch.slots)
        mixed: Tensor = self.out(paged_attention(q, cache.kv[layer], batch.layout).flatten(1))
        return mixed


class SwiGLU(nn.Module):
    """down(silu(gate(x)) · up(x)); gate and up are one matrix, gate first."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_up = nn.Linear(config.hidden, 2 * config.intermediate, bias=False)
        self.down = nn.Linear(config.intermediate, config.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """`x` [tokens, hidden] to the same shape."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        down: Tensor = self.down(silu(gate) * up)
        return down


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.hidden, config.rms_eps)
        self.attention = Attention(config)
        self.mlp_norm = nn.RMSNorm(config.hidden, config.rms_eps)
        self.mlp = SwiGLU(config)

    def forward(self, x: Tensor, turn: Turn, cache: PagedCache, layer: int, batch: Packed) -> Tensor:
        """`x` [tokens, hidden] to the same shape."""
        mixed: Tensor = x + self.attention(self.attention_norm(x), turn, cache, layer, batch)
        after: Tensor = mixed + self.mlp(self.mlp_norm(mixed))
        return after


class Transformer(nn.Module):
    """The whole decoder. With tied embeddings the head is the embedding matrix itself."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.hidden)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.hidden, config.rms_eps)
        self.head = nn.Linear(config.hidden, config.vocab, bias=False)
        if config.tied_embeddings:
            self.head.weight = self.embed.weight

    @torch.inference_mode()
    def forward(self, batch: Packed, cache: PagedCache) -> Tensor:
        """Compute one round and return the logits of `batch.rows`, [rows, vocab]. Nothing waits for the device."""
        x = self.embed(batch.tokens)
        turn = turns(self.config, batch.positions, x.dtype)
        for layer, block in enumerate(self.blocks):
            x = block(x, turn, cache, layer, batch)
        logits: Tensor = self.head(self.norm(x[batch.rows]))
        return logits


Turn = tuple[Tensor, Tensor]


def turns(config: ModelConfig, positions: Tensor, dtype: torch.dtype) -> Turn:
    """Cosine and sine, [tokens, 1, head_dim/2], of position · theta^(−2i/head_dim), in float64 until they are done."""
    pair = torch.arange(0, config.head_dim, 2, dtype=torch.float64, device=positions.device)
    frequency = stretched(config, config.rope_theta ** (-pair / config.head_dim))
    angle = positions[:, None, None] * frequency
    return angle.cos().to(dtype), angle.sin().to(dtype)


def stretched(config: ModelConfig, frequency: Tensor) -> Tensor:
    """Apply `config.rope_scaling` to the rotary frequencies (radians a position)."""
    scaling = config.rope_scaling
    if scaling is None:
        return frequency
    if scaling.kind == "linear":
        return frequency / scaling.factor
    turns_in_training = scaling.original_positions * frequency / (2 * math.pi)
    kept = ((turns_in_training - scaling.low) / (scaling.high - scaling.low)).clamp(0, 1)
    return frequency * (kept + (1 - kept) / scaling.factor)


def rotate(x: Tensor, turn: Turn) -> Tensor:
    """Turn each pair (i, i + head_dim/2) of every head of `x` [tokens, heads, head_dim] by its angle."""
    cosine, sine = turn
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
