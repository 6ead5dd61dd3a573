"""The next token from logits, by a draw that depends on (logits, seed, position) alone (C12).

The random number of a token is a hash of its request's seed and its position, not the next one of a shared stream: who
else is in the batch, in which order, and how often the request was preempted cannot change it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from labkit.core.errors import InputError
from labkit.executors.model.transfer import sent

NO_TOKEN = -1


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one request's tokens are chosen, and which of them end it.

    `temperature` 0 is greedy. Otherwise softmax(logits/temperature), cut to the `top_k` likeliest tokens, then to
    the fewest of those whose joint probability reaches `top_p`. Equal logits rank by token id, the lowest first.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0
    stop: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.temperature < float("inf"):
            problems.append(f"temperature: got {self.temperature}, expected a number from 0")
        if self.top_k is not None and self.top_k < 1:
            problems.append(f"top_k: got {self.top_k}, expected a whole number from 1, or none")
        if not 0 < self.top_p <= 1:
            problems.append(f"top_p: got {self.top_p}, expected a number over 0 and at most 1")
        if problems:
            raise InputError(problems)


def uniform(seed: int, position: int) -> float:
    """Return the number in [0, 1), a multiple of 2^−53, that belongs to one position of one request."""
    digest = hashlib.blake2b(f"{seed} {position}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53


def sample(logits: Tensor, samplings: Sequence[Sampling], positions: Sequence[int]) -> Tensor:
    """Choose one token a row of `logits` [rows, vocab]: ids [rows], on the same device, without waiting for it.

    `positions[r]` is where the new token of row r will stand in its request. A row without a finite largest logit has
    no likeliest token: NO_TOKEN stands for it.
    """
    chosen = logits.argmax(-1)  # of equal ones the first, and a NaN before all numbers
    broken = ~logits.gather(1, chosen[:, None]).squeeze(1).isfinite()
    drawn = [row for row, sampling in enumerate(samplings) if sampling.temperature > 0]
    if not drawn:
        return chosen.masked_fill_(broken, NO_TOKEN)
    device, vocab = logits.device, logits.shape[1]

    def column(values: Sequence[float]) -> Tensor:
        return sent(torch.tensor(values, dtype=torch.float64)[:, None], device)

    picked = [samplings[row] for row in drawn]
    rows = sent(torch.tensor(drawn), device)
    # In float64, so that no token of a large vocabulary is lost to the rounding of the sum.
    ranked, ids = logits[rows].double().sort(dim=-1, descending=True, stable=True)
    rank = torch.arange(vocab, device=device)
    # The largest logit is 0 before the division: a tiny temperature makes −∞ of the others, never NaN of all.
    scaled = (ranked - ranked[:, :1]) / column([s.temperature for s in picked])
    scaled.masked_fill_(rank >= column([s.top_k or vocab for s in picked]), -torch.inf)
    chance = scaled.softmax(-1)
    before = chance.cumsum(-1) - chance
    chance.masked_fill_((before >= column([s.top_p for s in picked])) & (rank > 0), 0.0)
    reached = chance.cumsum(-1)
    mark = (
        column([uniform(s.seed, positions[row]) for s, row in zip(picked, drawn, strict=True)])
        * reached[:, -1:]
    )
    place = torch.searchsorted(reached, mark, right=True)
    # Rounding may put the mark at the very end: the last token that has any chance takes it.
    place = torch.minimum(place, (chance > 0).sum(-1, keepdim=True) - 1).clamp_(min=0)
    chosen[rows] = ids.gather(1, place).squeeze(1)
    return chosen.masked_fill_(broken, NO_TOKEN)
