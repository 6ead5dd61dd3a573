"""How much of a device a run may use: M of E31.5 is what is free after the weights and the largest round (N10)."""

from __future__ import annotations

import os
from typing import NamedTuple

import torch

from labkit.core.errors import InputError
from labkit.executors.model.load import Loaded
from labkit.executors.model.paged import Item, PagedCache, pack
from labkit.executors.model.sampling import Sampling, sample

# On a CPU labkit takes at most half of the memory that is available: other programs live there too.
CPU_SHARE = 2
CPU_UNKNOWN = 4 << 30  # where the system does not say how much is available
# Of what a GPU has left: torch's allocator rounds blocks up and cannot use every gap between them.
GPU_SLACK = 20


class Largest(NamedTuple):
    """The largest rounds that a budget allows: `tokens` new positions in chunks of `chunk`, or `seats` decodes;
    `longest` is the most positions of one request.
    """

    tokens: int
    seats: int
    chunk: int
    longest: int


def room(loaded: Loaded, largest: Largest, page_tokens: int) -> int:
    """Bytes that pages may take: free memory less what the largest round needs beside them.

    On a GPU the largest rounds are run once and their peak is measured; on a CPU, whose allocator tells nothing, it
    is estimated from the sizes of the tensors.

    Raises:
        InputError: the largest round does not fit, even without pages.
    """
    device = next(loaded.model.parameters()).device
    try:
        if device.type == "cuda":
            workspace = measured_workspace(loaded, largest, page_tokens)
            torch.cuda.empty_cache()
            free = torch.cuda.mem_get_info(device)[0] * (GPU_SLACK - 1) // GPU_SLACK
        else:
            workspace = estimated_workspace(loaded, largest)
            free = available_memory() // CPU_SHARE
    except torch.OutOfMemoryError:
        free = workspace = 0
    if free <= workspace:
        raise InputError(
            f"labkit: given a largest round of {largest.tokens} tokens in {largest.seats} seats, "
            f"expected one that fits on {device} beside the weights: lower tokens or seats of the budget"
        )
    return free - workspace


def measured_workspace(loaded: Loaded, largest: Largest, page_tokens: int) -> int:
    """Peak bytes of the two largest rounds on a GPU: all of B at the end of the longest contexts, and all seats
    decoding there.
    """
    weight = next(loaded.model.parameters())
    pages = list(
        range(-(-largest.longest // page_tokens))
    )  # one table for all: what they overwrite is garbage
    cache = PagedCache(loaded.config, len(pages), page_tokens, weight.device, weight.dtype)
    before = torch.cuda.memory_allocated(weight.device)
    torch.cuda.reset_peak_memory_stats(weight.device)
    chunks = -(-largest.tokens // largest.chunk)
    for count, new in ((chunks, largest.chunk), (largest.seats, 1)):
        items = [Item([0] * new, largest.longest - new, pages, True) for _ in range(count)]
        logits = loaded.model(pack(items, cache), cache)
        sample(logits, [Sampling(1.0, top_p=0.9)] * count, [0] * count)
    torch.cuda.synchronize(weight.device)
    return int(torch.cuda.max_memory_allocated(weight.device) - before)


def estimated_workspace(loaded: Loaded, largest: Largest) -> int:
    """Bytes of the tensors of one block, a chunk's mask, one request's gathered pages, and logits while sampling."""
    config, size = loaded.config, next(loaded.model.parameters()).itemsize
    heads = (config.heads + 2 * config.kv_heads) * config.head_dim
    block = largest.tokens * (5 * config.hidden + 4 * config.intermediate + 4 * heads) * size
    attention = largest.longest * (2 * config.kv_heads * config.head_dim + 2 * largest.chunk) * size
    return block + attention + largest.seats * config.vocab * (size + 6 * 8)


def available_memory() -> int:
    """Bytes that programs may still take of this machine's memory."""
    try:
        with open("/proc/meminfo", encoding="ascii", newline="\n") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass  # not Linux
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return CPU_UNKNOWN
