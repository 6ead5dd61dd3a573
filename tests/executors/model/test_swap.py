"""N03: what comes back from the host comes back to the same model, position and format, in the order of its map."""

from __future__ import annotations

import pytest
import torch

from labkit.executors.model.paged import PagedCache
from labkit.executors.model.swap import StaleCopy, SwapSpace
from tests.executors.plain_decoder import SMALL


def filled_cache(dtype=torch.float32, page_tokens=4) -> PagedCache:
    cache = PagedCache(SMALL, 8, page_tokens, dtype=dtype)
    cache.kv.copy_(torch.arange(cache.kv.numel()).view(cache.kv.shape) % 1000)
    return cache


def test_the_page_map_is_restored_into_other_pages():
    cache = filled_cache()
    space = SwapSpace(cache, "r1")
    before = cache.kv.clone()
    space.take_out("A", [5, 0, 3], 9)
    cache.kv[:, [5, 0, 3]] = -1.0  # others have written there since
    space.bring_back("A", [2, 6, 1, 7], 9)
    assert torch.equal(cache.kv[:, [2, 6, 1]], before[:, [5, 0, 3]])
    assert torch.equal(cache.kv[:, [4, 7]], before[:, [4, 7]])
    assert space.copies == {}


def test_pages_without_a_computed_position_stay_behind():
    space = SwapSpace(filled_cache(), "r1")
    space.take_out("A", [5, 0, 3], 8)
    assert space.copies["A"].kv.shape[1] == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"revision": "r2"}, "given model revision r1, expected r2"),
        ({"positions": 10}, "given position 9, expected 10"),
        ({"dtype": torch.float64}, "given cache format"),
        ({"page_tokens": 2}, "given cache format"),
    ],
)
def test_what_does_not_belong_there_is_refused(change, said):
    first = SwapSpace(filled_cache(), "r1")
    first.take_out("A", [5, 0, 3], 9)
    cache = filled_cache(change.get("dtype", torch.float32), change.get("page_tokens", 4))
    other = SwapSpace(cache, change.get("revision", "r1"))
    other.copies |= first.copies
    before = cache.kv.clone()
    with pytest.raises(StaleCopy, match=said):
        other.bring_back("A", [2, 6, 1], change.get("positions", 9))
    assert torch.equal(cache.kv, before)
    assert "A" in other.copies
