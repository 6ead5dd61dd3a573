"""Padded decode rounds against packed ones. Captures need a GPU; what is captured runs here without it."""

import random

import pytest
import torch

from labkit.executors.model.config import ModelConfig
from labkit.executors.model.decode_graphs import DecodeGraphs
from labkit.executors.model.load import random_model
from labkit.executors.model.paged import Item, PagedCache, pack

CONFIG = ModelConfig(50, 32, 2, 4, 2, 8, 48)


def world(contexts, page_tokens=4, seed=0):
    """A float64 model, a cache full of noise, and one decode at each context, in pages of its own."""
    loaded = random_model(CONFIG, "random", torch.device("cpu"), torch.float64, seed)
    draw = random.Random(seed)
    need = [context // page_tokens + 1 for context in contexts]
    ids = draw.sample(range(sum(need) + 5), sum(need))
    cache = PagedCache(CONFIG, sum(need) + 5, page_tokens, dtype=torch.float64)
    cache.kv.copy_(torch.randn(cache.kv.shape, generator=torch.Generator().manual_seed(seed)))
    items = [
        Item([draw.randrange(50)], context, [ids.pop() for _ in range(count)] + [10**6], True)
        for context, count in zip(contexts, need, strict=True)
    ]
    return loaded.model, cache, items


@pytest.mark.parametrize(
    "contexts", [[0], [3], [4, 0, 31], [7, 7, 7, 7], [1, 63, 16, 15, 2], list(range(17))], ids=str
)
def test_a_padded_round_computes_what_the_packed_one_does(contexts):
    """C12: logits to 1e-12 in the items' order, and the same cache, no slot of another request touched."""
    model, cache, items = world(contexts)
    other = PagedCache(CONFIG, cache.pages, cache.page_tokens, dtype=torch.float64)
    other.kv.copy_(cache.kv)
    want = model(pack(items, cache), cache)
    graphs = DecodeGraphs(model, other)
    with torch.inference_mode():
        got = graphs.run(graphs.pack(items), len(items))
    assert got.shape == want.shape
    assert ((got - want).abs().max() / want.abs().max()).item() <= 1e-12
    assert torch.equal(got.argmax(-1), want.argmax(-1))
    assert torch.allclose(other.kv, cache.kv, rtol=0, atol=1e-12)


def test_shapes_are_few_and_used_again():
    """Requests: powers of two; pages: 1 to 8, then 10, 12, 14, 16, then 20 and so on."""
    model, cache, items = world([0, 9, 33, 17, 5])
    graphs = DecodeGraphs(model, cache)
    shapes = []
    for count in (1, 2, 3, 4, 5, 4):
        batch = graphs.pack(items[:count])
        shapes.append((len(batch.tokens), batch.layout.tables.shape[1], batch.tokens.data_ptr()))
    assert [shape[:2] for shape in shapes] == [(1, 1), (2, 3), (4, 10), (4, 10), (8, 10), (4, 10)]
    assert len({pointer for *_, pointer in shapes}) == 4  # a shape's tensors stay where they are
    assert shapes[2] == shapes[3] == shapes[5]


def test_a_token_still_on_the_device_is_put_where_it_belongs():
    """Depth 2 writes the ids of the round in flight into `tokens` at `rows`, after packing."""
    model, cache, items = world([6, 2, 11])
    graphs = DecodeGraphs(model, cache)
    with torch.inference_mode():
        want = graphs.run(graphs.pack(items), 3).clone()
        batch = graphs.pack([item._replace(tokens=[0]) for item in items])
        batch.tokens[batch.rows[torch.arange(3)]] = torch.tensor([item.tokens[0] for item in items])
        before = cache.kv.clone()
        got = graphs.run(batch, 3)
    assert torch.equal(got, want)
    assert torch.equal(cache.kv, before)  # the padding has written what the first request did


@pytest.mark.skipif(not torch.cuda.is_available(), reason="captures need a GPU")
def test_a_replayed_graph_computes_what_the_plain_round_does():
    model, cache, items = world([5, 9, 30])
    model, cache.kv = model.cuda(), cache.kv.cuda()
    want = model(pack(items, cache), cache)
    graphs = DecodeGraphs(model, cache)
    with torch.inference_mode():
        for _ in range(2):  # the capture, then the replay alone
            got = graphs.run(graphs.pack(items), 3)
            assert ((got - want).abs().max() / want.abs().max()).item() <= 1e-12
