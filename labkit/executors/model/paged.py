"""The paged cache, a round's batch laid out for it, and attention over both.

A round is a list of items, each with some new tokens of one request after a context that is already in the cache.
All new positions of the round are packed into one row of tokens. Attention then works on rectangles: decodes of
similar length share one, every prompt chunk has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from labkit.executors.model.config import ModelConfig
from labkit.executors.model.transfer import sent

# On a CPU the gathered keys and values of one rectangle stay in the second-level cache, which triples the rate.
CPU_GROUP_BYTES = 2**20
CPU_QUERY_BLOCK = 128


class PagedCache:
    """Keys and values of all layers in pages: `kv` [layers, pages, page_tokens, 2, kv_heads, head_dim].

    Position p of a request lies in the page `pages[p // page_tokens]` at offset `p % page_tokens`.
    """

    def __init__(
        self,
        config: ModelConfig,
        pages: int,
        page_tokens: int,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.page_tokens = page_tokens
        # Zeros, not garbage: the unused end of a page is masked out, and 0 · NaN would be NaN.
        self.kv = torch.zeros(
            config.layers, pages, page_tokens, 2, config.kv_heads, config.head_dim, device=device, dtype=dtype
        )

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return self.kv.shape[1]

    @property
    def page_bytes(self) -> int:
        """Bytes of one page over all layers: page_tokens · bytes_per_token."""
        return self.kv[:, 0].numel() * self.kv.itemsize

    def write(self, layer: int, kv: Tensor, slots: Tensor) -> None:
        """Put `kv` [positions, 2, kv_heads, head_dim] at `slots` = page · page_tokens + offset."""
        self.kv[layer].flatten(0, 1).index_copy_(0, slots, kv)

    def copy_out(self, pages: Sequence[int]) -> Tensor:
        """Return the contents of `pages` in host memory: [layers, pages, page_tokens, 2, kv_heads, head_dim].

        From a GPU they come by a copy that is queued, into pinned memory: only later work on it may rely on them.
        """
        found = self.kv[:, self._index(pages)]
        if self.kv.device.type == "cpu":
            return found
        host = torch.empty(found.shape, dtype=found.dtype, pin_memory=True)
        return host.copy_(found, non_blocking=True)

    def copy_in(self, host: Tensor, pages: Sequence[int]) -> None:
        """Put what `copy_out` returned into `pages`, which need not be the same ones."""
        self.kv[:, self._index(pages)] = host.to(self.kv.device, non_blocking=True)

    def _index(self, pages: Sequence[int]) -> Tensor:
        return sent(torch.tensor(pages, dtype=torch.int64), self.kv.device)


class Item(NamedTuple):
    """New `tokens` of one request after `context` cached positions, in `pages`; `yields`: its logits are wanted."""

    tokens: Sequence[int]
    context: int
    pages: Sequence[int]
    yields: bool


class Group(NamedTuple):
    """One rectangle of attention: `requests` × `new` queries, from token `start` on, over `length` positions.

    `pages` [requests · pages each]; `mask` is added to the scores, [requests or 1, 1, new, length].
    """

    start: int
    requests: int
    new: int
    length: int
    pages: Tensor
    mask: Tensor | None
    causal: bool  # a chunk without context: the plain triangle, which needs no mask


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each request's queries, keys and values lie, requests in packed order.

    `offsets` [requests + 1]: its tokens are offsets[r]..offsets[r+1]; `lengths`: context and new together;
    `tables` [requests, most pages]: its pages, the rest filled with 0. `groups`: the same cut into rectangles.
    """

    offsets: Tensor
    lengths: Tensor
    tables: Tensor
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """One round: `tokens`, `positions` and cache `slots` of all new positions, `rows` whose logits are wanted.

    `rows` come in the order of the items; the packing is by length, decodes first.
    """

    tokens: Tensor
    positions: Tensor
    slots: Tensor
    rows: Tensor
    layout: Layout


def pack(items: Sequence[Item], cache: PagedCache) -> Packed:
    """Lay a round out for `cache`. The pages of an item must hold its context and its new tokens."""
    size, device = cache.page_tokens, cache.kv.device
    order = sorted(range(len(items)), key=lambda i: (len(items[i].tokens), items[i].context))
    packed = [items[i] for i in order]
    new = torch.tensor([len(item.tokens) for item in packed])
    lengths = torch.tensor([item.context for item in packed]) + new
    offsets = pad(new.cumsum(0), (1, 0))
    held = [
        list(item.pages[: -(-length // size)]) for item, length in zip(packed, lengths.tolist(), strict=True)
    ]
    for item, pages in zip(packed, held, strict=True):
        if not item.tokens or len(pages) * size < item.context + len(item.tokens):
            raise ValueError(
                f"{len(pages)} pages of {size} for {item.context} + {len(item.tokens)} positions"
            )
    most = max(map(len, held))
    tables = torch.tensor([pages + [0] * (most - len(pages)) for pages in held])
    owner = torch.repeat_interleave(new)
    positions = torch.arange(len(owner)) + (lengths - offsets[1:])[owner]
    slots = tables[owner, positions // size] * size + positions % size
    last = {i: end - 1 for i, end in zip(order, offsets[1:].tolist(), strict=True)}
    rows = [last[i] for i, item in enumerate(items) if item.yields]
    return Packed(
        tokens=sent(torch.tensor([token for item in packed for token in item.tokens]), device),
        positions=sent(positions, device),
        slots=sent(slots, device),
        rows=sent(torch.tensor(rows, dtype=torch.int64), device),
        layout=Layout(
            sent(offsets, device),
            sent(lengths, device),
            sent(tables, device),
            _groups(offsets, lengths, tables, cache),
        ),
    )


def _groups(offsets: Tensor, lengths: Tensor, tables: Tensor, cache: PagedCache) -> tuple[Group, ...]:
    """Cut the packed requests into rectangles: decodes together as far as they fit, each prompt chunk alone."""
    size, kv = cache.page_tokens, cache.kv
    on_cpu = kv.device.type == "cpu"
    most_pages = CPU_GROUP_BYTES // (kv[0, 0].numel() * kv.itemsize) if on_cpu else 2**62
    starts, longs = offsets.tolist(), lengths.tolist()
    groups = []

    def add(start: int, first: int, end: int, new: int, length: int, mask: Tensor | None) -> None:
        pages = tables[first:end, : -(-length // size)].flatten()
        mask = None if mask is None else sent(_additive(mask, kv.dtype), kv.device)
        groups.append(Group(start, end - first, new, length, sent(pages, kv.device), mask, new == length > 1))

    first = 0
    while first < len(longs):
        new, end = starts[first + 1] - starts[first], first + 1
        if new == 1:
            while end < len(longs) and starts[end + 1] == starts[end] + 1:
                if (end + 1 - first) * -(-longs[end] // size) > most_pages:
                    break
                end += 1
            length = longs[end - 1]  # the longest: they are sorted
            even = longs[first] == length
            mask = None if even else torch.arange(length) < lengths[first:end, None, None, None]
            add(starts[first], first, end, 1, length, mask)
        else:
            # Later queries see more: blocks of them, each over its own length, compute less of what is masked out.
            block = CPU_QUERY_BLOCK if on_cpu else new
            for before in range(0, new, block):
                part = min(block, new - before)
                context = longs[first] - new + before
                mask = torch.arange(context + part) <= torch.arange(context, context + part)[:, None]
                add(starts[first] + before, first, end, part, context + part, mask if context else None)
        first = end
    return tuple(groups)


def _additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where attention is allowed, −∞ elsewhere: in the scores' dtype once a round, not once a layer."""
    return torch.zeros(mask.shape, dtype=dtype).masked_fill_(~mask, -torch.inf)


def paged_attention(q: Tensor, kv_pages: Tensor, layout: Layout) -> Tensor:
    """Attention of `q` [tokens, heads, head_dim] over `kv_pages` [pages, page_tokens, 2, kv_heads, head_dim].

    Each query sees the positions of its own request up to its own; scores are scaled by head_dim^−½. The result has
    the shape of `q`. Query heads that share a key/value head are folded together, so that keys and values are read
    once: for decodes into the place of the queries, for a chunk by a view of stride 0.
    """
    out = torch.empty_like(q)
    kv_heads, width = kv_pages.shape[3:]
    for group in layout.groups:
        n, new, span = group.requests, group.new, slice(group.start, group.start + group.requests * group.new)
        kv = kv_pages.index_select(0, group.pages).view(n, -1, 2, kv_heads, width)[:, : group.length]
        k, v = kv.permute(2, 0, 3, 1, 4)  # each [n, kv_heads, length, width]
        if new == 1:
            folded = q[span].view(n, kv_heads, -1, width)
            result = scaled_dot_product_attention(folded, k, v, attn_mask=group.mask)
            out[span] = result.reshape(n, -1, width)
        else:
            queries = q[span].view(new, kv_heads, -1, width).permute(1, 2, 0, 3)
            k, v = (x[0, :, None].expand(-1, queries.shape[1], -1, -1) for x in (k, v))
            result = scaled_dot_product_attention(queries, k, v, attn_mask=group.mask, is_causal=group.causal)
            out[span] = result.permute(2, 0, 1, 3).reshape(new, -1, width)
    return out


def paged_attention_reference(q: Tensor, kv_pages: Tensor, layout: Layout) -> Tensor:
    """The same, plain and slow: one request, one softmax, by the definition."""
    out = torch.empty_like(q)
    tokens, kv_heads, width = q.shape[0], *kv_pages.shape[3:]
    assert layout.offsets[-1] == tokens
    for r, length in enumerate(layout.lengths.tolist()):
        start, end = layout.offsets[r : r + 2].tolist()
        own = kv_pages[layout.tables[r]].flatten(0, 1)[:length]
        k, v = (x.repeat_interleave(q.shape[1] // kv_heads, 1) for x in own.unbind(1))
        scores = torch.einsum("qhd,shd->hqs", q[start:end], k) / width**0.5
        later = torch.arange(length) > torch.arange(length - (end - start), length)[:, None]
        weights = scores.masked_fill(later.to(q.device), -torch.inf).softmax(-1)
        out[start:end] = torch.einsum("hqs,shd->qhd", weights, v)
    return out
