"""The decoder against `transformers` on random small checkpoints, and against itself under other schedules (C12)."""

import random

import pytest
import torch
from torch.overrides import TorchFunctionMode

from labkit.executors.model.load import load
from labkit.executors.model.paged import Item, PagedCache, pack

PAGE = 16
BOUND = {torch.float32: 1e-4, torch.float64: 1e-10}

LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
SHAPES = {
    "llama": {"family": "Llama", "num_key_value_heads": 2},
    "llama tied, one key head, linear": {
        "family": "Llama", "num_key_value_heads": 1, "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0},
    },
    "llama biased, llama3": {
        "family": "Llama", "num_key_value_heads": 4, "attention_bias": True, "rope_parameters": LLAMA3,
    },
    "qwen3": {"family": "Qwen3", "num_key_value_heads": 2, "head_dim": 32},
    "qwen3 tied, biased": {
        "family": "Qwen3", "num_key_value_heads": 4, "head_dim": 8, "tie_word_embeddings": True,
        "attention_bias": True, "rms_norm_eps": 1e-5,
    },
}  # fmt: skip


class InFloat64(TorchFunctionMode):
    """Let `transformers` compute in float64 what it casts to float32 on its way: norms, softmax, rotary angles."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def wider(value):
            return torch.float64 if value is torch.float32 else value

        func = torch.Tensor.double if func is torch.Tensor.float else func
        return func(*map(wider, args), **{name: wider(value) for name, value in (kwargs or {}).items()})


def checkpoint(transformers, folder, seed, family, **options):
    """Save a random model of `transformers` and return it: every parameter is random, norms and biases too."""
    config = getattr(transformers, family + "Config")(
        vocab_size=97, hidden_size=64, intermediate_size=112, num_hidden_layers=3, num_attention_heads=4,
        max_position_embeddings=256, bos_token_id=None, eos_token_id=[3, 5], pad_token_id=None, **options,
    )  # fmt: skip
    model = getattr(transformers, family + "ForCausalLM")(config).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            centre = 1.0 if parameter.dim() == 1 else 0.0
            parameter.normal_(centre, 0.3 if parameter.dim() == 1 else 0.15, generator=generator)
    model.save_pretrained(folder)
    return model


def play(loaded, requests, chunk, cache):
    """Run all requests in the same rounds, in chunks; return the logits after each computed position that ends one."""
    seen = {}
    done = [0] * len(requests)
    while any(d < len(tokens) for d, (tokens, _) in zip(done, requests, strict=True)):
        batch, who = [], []
        for r, (tokens, pages) in enumerate(requests):
            new = tokens[done[r] : done[r] + chunk[r % len(chunk)]]
            if new:
                batch.append(Item(new, done[r], pages, True))
                done[r] += len(new)
                who.append((r, done[r] - 1))
        logits = loaded.model(pack(batch, cache), cache)
        seen.update(zip(who, logits, strict=True))
    return seen


def difference(got, want):
    return ((got.double() - want.double()).abs().max() / want.double().abs().max()).item()


@pytest.mark.parametrize("dtype", BOUND, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_logits_agree_with_transformers(transformers, tmp_path, shape, dtype):
    with InFloat64():  # the angles' frequencies are made with the model
        theirs = checkpoint(transformers, tmp_path, 7, **SHAPES[shape])
    loaded = load(str(tmp_path), dtype=dtype)
    assert loaded.config.eos_ids == (3, 5)
    assert loaded.about["parameters"] == theirs.num_parameters()
    rng = random.Random(1)
    prompts = [[rng.randrange(97) for _ in range(n)] for n in (61, 16, 33)]
    pages = [[5, 2, 9, 0], [7], [11, 3, 4]]
    with torch.no_grad(), InFloat64():
        want = [theirs(torch.tensor([prompt])).logits[0] for prompt in prompts]
    # whole; chunks with history, of different lengths in one round; one position after another from the cache
    for chunk in ([100], [7, 3, 16], [1]):
        cache = PagedCache(loaded.config, 12, PAGE, dtype=dtype)
        seen = play(loaded, list(zip(prompts, pages, strict=True)), chunk, cache)
        assert len(seen) >= len(prompts)
        worst = max(difference(logits, want[r][position]) for (r, position), logits in seen.items())
        assert worst <= BOUND[dtype]


def test_bfloat16_follows_float32(transformers, tmp_path):
    """Eight bits of mantissa: a few 2^−8 through three layers; an order more would be a mistake and no rounding."""
    checkpoint(transformers, tmp_path, 3, **SHAPES["qwen3"])
    rng = random.Random(2)
    requests = [([rng.randrange(97) for _ in range(50)], [1, 0, 2, 3])]
    seen = {}
    for dtype in (torch.bfloat16, torch.float32):
        loaded = load(str(tmp_path), dtype=dtype)
        seen[dtype] = play(loaded, requests, [20], PagedCache(loaded.config, 4, PAGE, dtype=dtype))
    for key, want in seen[torch.float32].items():
        assert difference(seen[torch.bfloat16][key], want) <= 0.1
        assert seen[torch.bfloat16][key].dtype == torch.bfloat16


def greedy(loaded, prompts, count, chunks, pages, size, order=1):
    """Generate `count` tokens for each prompt; all requests are in every round, in the given order."""
    most = max(map(len, prompts)) + count
    each = -(-most // size)
    ids = list(range(len(prompts) * each))
    random.Random(pages).shuffle(ids)
    cache = PagedCache(loaded.config, len(ids), size, dtype=loaded.model.embed.weight.dtype)
    texts = [list(prompt) for prompt in prompts]
    done, out = [0] * len(prompts), [[] for _ in prompts]
    while any(len(tokens) < count for tokens in out):
        batch, who = [], []
        for r in list(range(len(prompts)))[::order]:
            if len(out[r]) < count:
                new = texts[r][done[r] : done[r] + chunks]
                batch.append(
                    Item(new, done[r], ids[r * each : (r + 1) * each], done[r] + len(new) == len(texts[r]))
                )
                done[r] += len(new)
                who.append(r)
        logits = loaded.model(pack(batch, cache), cache)
        yielding = [r for r, item in zip(who, batch, strict=True) if item.yields]
        for r, token in zip(yielding, logits.argmax(-1).tolist(), strict=True):
            out[r].append(token)
            texts[r].append(token)
    return out


def test_tokens_are_the_same_whatever_the_schedule():
    """C12: alone, together, any chunk, any page size, any pages, any order; exact in float64."""
    loaded = load("tiny", dtype=torch.float64, seed=4)
    rng = random.Random(3)
    prompts = [[rng.randrange(loaded.config.vocab) for _ in range(n)] for n in (1, 16, 17, 40, 3)]
    alone = [greedy(loaded, [prompt], 20, 1000, 0, 16)[0] for prompt in prompts]
    assert len({tuple(tokens) for tokens in alone}) == len(prompts)
    assert min(len(set(tokens)) for tokens in alone) > 5  # no stuck answer, which would be the same by itself
    for chunks in (1, 3, 16, 17, 1000):
        for size, order in ((16, 1), (1, -1), (7, 1)):
            assert greedy(loaded, prompts, 20, chunks, chunks, size, order) == alone


def test_a_shared_prefix_is_read_from_the_same_pages():
    loaded = load("tiny", dtype=torch.float64, seed=4)
    rng = random.Random(5)
    prefix = [rng.randrange(512) for _ in range(2 * PAGE)]
    tails = [[rng.randrange(512) for _ in range(n)] for n in (1, 9, 20)]
    cache = PagedCache(loaded.config, 12, PAGE, dtype=torch.float64)
    loaded.model(pack([Item(prefix, 0, [8, 3], False)], cache), cache)
    shared = pack([Item(tail, len(prefix), [8, 3, 4 + 2 * r, 5 + 2 * r], True) for r, tail in enumerate(tails[:2])]
                  + [Item(tails[2], len(prefix), [8, 3, 10, 11], True)], cache)  # fmt: skip
    logits = loaded.model(shared, cache)
    for tail, got in zip(tails, logits, strict=True):
        own = PagedCache(loaded.config, 4, PAGE, dtype=torch.float64)
        want = loaded.model(pack([Item(prefix + tail, 0, range(4), True)], own), own)[0]
        assert difference(got, want) <= 1e-12


def test_a_swapped_request_goes_on_from_other_pages():
    loaded = load("tiny", dtype=torch.float64, seed=4)
    tokens = list(range(40))
    cache = PagedCache(loaded.config, 9, PAGE, dtype=torch.float64)
    loaded.model(pack([Item(tokens[:-1], 0, [0, 1, 2], False)], cache), cache)
    want = loaded.model(pack([Item(tokens[-1:], 39, [0, 1, 2], True)], cache), cache)
    host = cache.copy_out([0, 1, 2])
    assert host.nbytes == 3 * cache.page_bytes
    assert cache.page_bytes == PAGE * loaded.config.bytes_per_token(torch.float64)
    cache.kv[:, :3] = 123.0
    cache.copy_in(host, [8, 5, 6])
    got = loaded.model(pack([Item(tokens[-1:], 39, [8, 5, 6], True)], cache), cache)
    assert torch.equal(got, want)


def test_a_round_in_which_nobody_yields_has_no_logits():
    loaded = load("tiny", dtype=torch.float64)
    cache = PagedCache(loaded.config, 1, PAGE, dtype=torch.float64)
    assert loaded.model(pack([Item([1, 2], 0, [0], False)], cache), cache).shape == (0, loaded.config.vocab)


def test_tiny_is_the_same_model_in_every_dtype_and_another_with_another_seed():
    """The same weights up to rounding: float32 logits within 2^-24 of a few hundred terms, bfloat16 within 2^-8."""
    revisions, logits = set(), {}
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        loaded = load("tiny", dtype=dtype, seed=9)
        revisions.add(loaded.about["revision"])
        cache = PagedCache(loaded.config, 2, PAGE, dtype=dtype)
        logits[dtype] = loaded.model(pack([Item(range(20), 0, [1, 0], True)], cache), cache)
    assert len(revisions) == 1
    assert difference(logits[torch.float32], logits[torch.float64]) <= 1e-5
    assert difference(logits[torch.bfloat16], logits[torch.float64]) <= 0.1
    other = load("tiny", dtype=torch.float64, seed=8)
    assert other.about["revision"] not in revisions
    assert not torch.equal(
        other.model.head.weight, load("tiny", dtype=torch.float64, seed=9).model.head.weight
    )
