"""Attention over pages against the plain reference, on random layouts."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.executors.model import paged
from labkit.executors.model.config import ModelConfig
from labkit.executors.model.paged import Item, PagedCache, pack, paged_attention, paged_attention_reference


def small(heads, kv_heads, width):
    return ModelConfig(8, 8, 1, heads, kv_heads, width, 8)


@st.composite
def layouts(draw):
    size = draw(st.sampled_from([1, 2, 7, 16]))
    spans = draw(
        st.lists(
            st.tuples(
                st.integers(0, 3 * size + 1), st.one_of(st.just(1), st.integers(1, 2 * size + 1)), st.booleans()
            ),
            min_size=1, max_size=9,
        )
    )  # fmt: skip
    heads, kv_heads = draw(st.sampled_from([(1, 1), (4, 2), (6, 2), (4, 1), (3, 3)]))
    return size, spans, heads, kv_heads, draw(st.sampled_from([2, 8])), draw(st.integers(0, 10**6))


@settings(max_examples=150, deadline=None)
@given(layouts(), st.sampled_from([1, 3000, 2**20]), st.sampled_from([1, 2, 5, 128]))
def test_attention_equals_the_reference(layout, group_bytes, query_block):
    """Float64 to 1e-12: page boundaries, no context, chunks of one, any number of rectangles, pages shared by two."""
    size, spans, heads, kv_heads, width, seed = layout
    rng = random.Random(seed)
    need = [-(-(context + new) // size) for context, new, _ in spans]
    ids = list(range(sum(need) + 3))
    rng.shuffle(ids)
    cache = PagedCache(small(heads, kv_heads, width), len(ids), size, dtype=torch.float64)
    cache.kv.copy_(torch.randn(cache.kv.shape, generator=torch.Generator().manual_seed(seed)))
    items, before = [], None
    for (context, new, yields), count in zip(spans, need, strict=True):
        pages = [ids.pop() for _ in range(count)]
        if before is not None and rng.random() < 0.5:  # whole pages of context from the request before
            whole = min(context, len(before) * size) // size
            pages[:whole] = before[:whole]
        items.append(Item([0] * new, context, [*pages, 0], yields))
        before = pages
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paged, "CPU_GROUP_BYTES", group_bytes)
        patch.setattr(paged, "CPU_QUERY_BLOCK", query_block)
        batch = pack(items, cache)
    q = torch.randn(len(batch.tokens), heads, width, dtype=torch.float64)
    got = paged_attention(q, cache.kv[0], batch.layout)
    want = paged_attention_reference(q, cache.kv[0], batch.layout)
    assert ((got - want).abs().max() / want.abs().max()).item() <= 1e-12


def test_the_reference_is_attention_by_the_definition():
    """One query over two positions: weights by hand, exp(s/√d) over their sum."""
    cache = PagedCache(small(1, 1, 4), 2, 1, dtype=torch.float64)
    k = torch.tensor([[1.0, 0, 0, 0], [0, 2, 0, 0]], dtype=torch.float64)
    v = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]], dtype=torch.float64)
    cache.write(0, torch.stack((k, v), 1)[:, :, None], torch.tensor([1, 0]))  # position 0 in page 1
    q = torch.tensor([[[3.0, 4, 0, 0]]], dtype=torch.float64)
    e = torch.tensor([3.0 / 2, 8.0 / 2], dtype=torch.float64).exp()
    got = paged_attention_reference(q, cache.kv[0], pack([Item([0], 1, [1, 0], True)], cache).layout)
    assert torch.allclose(got[0, 0], (e[0] * v[0] + e[1] * v[1]) / e.sum(), rtol=1e-14)


def test_a_round_is_packed_decodes_first_and_answered_in_the_given_order():
    cache = PagedCache(small(1, 1, 2), 10, 4)
    batch = pack(
        [Item([11, 12, 13], 3, [7, 2], True), Item([21], 0, [5], True), Item([31, 32], 2, [1], False),
         Item([41], 9, [0, 3, 9, 8], True)], cache)  # fmt: skip
    assert batch.tokens.tolist() == [21, 41, 31, 32, 11, 12, 13]
    assert batch.positions.tolist() == [0, 9, 2, 3, 3, 4, 5]
    assert batch.slots.tolist() == [20, 37, 6, 7, 31, 8, 9]
    assert batch.rows.tolist() == [6, 0, 1]
    assert batch.layout.offsets.tolist() == [0, 1, 2, 4, 7]
    assert batch.layout.lengths.tolist() == [1, 10, 4, 6]


def test_decodes_share_rectangles_of_bounded_size(monkeypatch):
    cache = PagedCache(small(2, 1, 4), 64, 16)  # 512 bytes a page and layer
    monkeypatch.setattr(paged, "CPU_GROUP_BYTES", 8 * 512)
    items = [Item([0], 16 * n - 1, range(n), True) for n in (4, 1, 1, 2, 1, 1, 16)]
    groups = pack(items, cache).layout.groups
    assert [(group.requests, group.length) for group in groups] == [(4, 16), (2, 64), (1, 256)]
    assert all(len(group.pages) <= 8 or group.requests == 1 for group in groups)


def test_a_long_chunk_is_cut_into_blocks_that_see_no_more_than_they_may():
    """The pairs computed are near q·s + q(q+1)/2 (E31.4), and not q·(s + q)."""
    cache = PagedCache(small(2, 1, 4), 64, 16)
    groups = pack([Item([0] * 300, 100, range(25), True)], cache).layout.groups
    assert [(group.start, group.new, group.length) for group in groups] == [
        (0, 128, 228),
        (128, 128, 356),
        (256, 44, 400),
    ]


@pytest.mark.parametrize("item", [Item([1, 2], 15, [0], True), Item([], 3, [0], True)])
def test_an_item_without_room_or_tokens_is_a_mistake_of_the_caller(item):
    with pytest.raises(ValueError, match="pages of 16"):
        pack([item], PagedCache(small(1, 1, 2), 1, 16))
