"""Decode rounds in a few fixed shapes, which a GPU can replay from captured CUDA graphs.

A decode round is many small kernels, and to launch them one by one may take the host longer than the device needs to
run them. A graph launches all of them at once, but always with the shapes and addresses that it was captured with:
so a round is padded to the next power of two of requests and to a few numbers of pages for each, and its numbers are
written into the inputs of that shape. Padding costs attention over what is masked out or not asked for; products with
weights take the same time for a few rows more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from labkit.executors.model.paged import Group, Item, Layout, Packed, PagedCache
from labkit.executors.model.transfer import sent
from labkit.executors.model.transformer import Transformer


class DecodeGraphs:
    """The shapes met so far, for one model and one cache. On a CPU the same padded rounds run without graphs.

    `captured_ns`: time spent on captures since it was last set to 0. Graphs share one pool of memory: the logits of a
    round hold until the next round of any shape begins.
    """

    def __init__(self, model: Transformer, cache: PagedCache) -> None:
        self.model = model
        self.cache = cache
        self.captured_ns = 0
        self._shapes: dict[tuple[int, int], _Shape] = {}
        self._pool = torch.cuda.graph_pool_handle() if cache.kv.device.type == "cuda" else None

    def pack(self, items: Sequence[Item]) -> Packed:
        """Write a round of decodes, one token each, into the inputs of its shape; `rows` are in the items' order."""
        pages = -(-(max(item.context for item in items) + 1) // self.cache.page_tokens)
        step = max(1, _power(pages) // 8)  # at most a quarter more pages than needed
        key = (_power(len(items)), -(-pages // step) * step)
        if key not in self._shapes:
            self._shapes[key] = _Shape(self.model, self.cache, *key)
        shape = self._shapes[key]
        shape.fill(items)
        if self._pool is not None and shape.graph is None:
            torch.cuda.synchronize(self.cache.kv.device)
            started = time.perf_counter_ns()
            shape.capture(self._pool)
            torch.cuda.synchronize(self.cache.kv.device)
            self.captured_ns += time.perf_counter_ns() - started
        return shape.batch

    def run(self, batch: Packed, count: int) -> Tensor:
        """Compute what `pack` returned and return the logits of its `count` requests, [count, vocab]."""
        shape = self._shapes[len(batch.tokens), batch.layout.tables.shape[1]]
        batch.tokens[count:] = batch.tokens[0]  # which may have come from the device after `pack`
        if shape.graph is None:
            return shape.forward()[:count]
        shape.graph.replay()
        return shape.logits[:count]


def _power(count: int) -> int:
    """The least power of two that is no less."""
    return 1 << (count - 1).bit_length()


class _Shape:
    """`requests` decodes of at most `pages` pages each: `batch`, whose tensors stay where they are."""

    def __init__(self, model: Transformer, cache: PagedCache, requests: int, pages: int) -> None:
        self.model, self.cache = model, cache
        self.requests, self.pages = requests, pages
        self.graph: torch.cuda.CUDAGraph | None = None
        device, length = cache.kv.device, pages * cache.page_tokens
        self._inputs = torch.zeros(requests * (4 + pages), dtype=torch.int64, device=device)
        *columns, table = self._inputs.split([requests] * 4 + [requests * pages])
        tokens, positions, slots, lengths = columns
        self._mask = torch.zeros(requests, 1, 1, length, dtype=cache.kv.dtype, device=device)
        group = Group(0, requests, 1, length, table, self._mask, causal=False)
        offsets = torch.arange(requests + 1, device=device)
        layout = Layout(offsets, lengths, table.view(requests, pages), (group,))
        self.batch = Packed(tokens, positions, slots, offsets[:-1], layout)

    def fill(self, items: Sequence[Item]) -> None:
        """Send the numbers of `items`. Padding repeats the first item: it writes the same keys and values to the same
        place once more, and nobody reads its logits.
        """
        size = self.cache.page_tokens
        padded = [*items, *[items[0]] * (self.requests - len(items))]
        contexts = [item.context for item in padded]
        numbers = [item.tokens[0] for item in padded]
        numbers += contexts
        numbers += [
            item.pages[context // size] * size + context % size
            for item, context in zip(padded, contexts, strict=True)
        ]
        numbers += [context + 1 for context in contexts]
        for item in padded:
            held = item.pages[: item.context // size + 1]
            numbers += [*held, *[0] * (self.pages - len(held))]
        self._inputs.copy_(sent(torch.tensor(numbers), self.cache.kv.device))

    def forward(self) -> Tensor:
        """Logits of all rows, the padding's too."""
        length = self._mask.shape[-1]
        seen = torch.arange(length, device=self._mask.device) < self.batch.layout.lengths[:, None, None, None]
        self._mask.zero_().masked_fill_(~seen, -torch.inf)
        logits: Tensor = self.model(self.batch, self.cache)
        return logits

    def capture(self, pool: Any) -> None:
        """Record `forward` as a graph, after a run that lets libraries choose their kernels."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.forward()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.logits = self.forward()
