"""Sampling: the exact distribution, and nothing but (logits, seed, position) decides a draw (C12)."""

import math
import random

import pytest
import torch

from labkit.core.errors import InputError
from labkit.executors.model.sampling import NO_TOKEN, Sampling, sample, uniform

DRAWS = 20_000


def exact(logits, temperature=1.0, top_k=None, top_p=1.0):
    """The distribution by its definition, in plain Python: rank, cut to k, then to the shortest head that has p."""
    weights = [math.exp(x / temperature) for x in logits]
    ranked = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:top_k]
    total, head, seen = sum(weights[i] for i in ranked), [], 0.0
    for i in ranked:
        if seen < top_p:
            head.append(i)
        seen += weights[i] / total
    total = sum(weights[i] for i in head)
    return [weights[i] / total if i in head else 0.0 for i in range(len(logits))]


def chi_square_bound(degrees, z=4.0):
    """Wilson-Hilferty: a chi-square of so many degrees exceeds this with the probability of z sigmas, 3e-5."""
    return degrees * (1 - 2 / (9 * degrees) + z * math.sqrt(2 / (9 * degrees))) ** 3


LOGITS = [0.3, 2.0, -1.0, 1.1, 0.0, 2.0, -0.4, 0.9]


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 1.0},
        {"temperature": 0.5},
        {"temperature": 3.0},
        {"temperature": 1.0, "top_k": 3},
        {"temperature": 1.0, "top_k": 1},
        {"temperature": 1.0, "top_p": 0.7},
        {"temperature": 1.0, "top_p": 1e-9},
        {"temperature": 2.0, "top_k": 5, "top_p": 0.8},
    ],
    ids=str,
)
def test_draws_follow_the_exact_distribution(options):
    want = exact(LOGITS, **options)
    logits = torch.tensor([LOGITS]).expand(DRAWS, -1)
    tokens = sample(logits, [Sampling(seed=11, **options)] * DRAWS, range(DRAWS)).tolist()
    counts = [tokens.count(i) for i in range(len(LOGITS))]
    assert all(n == 0 for n, p in zip(counts, want, strict=True) if p == 0)
    kept = [(n, DRAWS * p) for n, p in zip(counts, want, strict=True) if p]
    statistic = sum((n - mean) ** 2 / mean for n, mean in kept)
    assert statistic <= (chi_square_bound(len(kept) - 1) if len(kept) > 1 else 0)


def test_seeds_are_as_good_as_positions():
    """One position of many requests is as uniform as many positions of one: ten bins, chi-square."""
    for numbers in ([uniform(s, 5) for s in range(DRAWS)], [uniform(5, p) for p in range(DRAWS)]):
        assert min(numbers) >= 0 and max(numbers) < 1
        bins = [sum(int(u * 10) == b for u in numbers) for b in range(10)]
        assert sum((n - DRAWS / 10) ** 2 / (DRAWS / 10) for n in bins) <= chi_square_bound(9)


def test_a_draw_does_not_depend_on_the_batch():
    """C12: alone, or with others before, after and of other kinds."""
    rng = random.Random(0)
    rows = 40
    logits = torch.randn(rows, 300, generator=torch.Generator().manual_seed(0))
    kinds = [
        Sampling(),
        Sampling(0.8, seed=3),
        Sampling(1.2, top_k=20, seed=4),
        Sampling(1.0, top_p=0.9, seed=5),
    ]
    wanted = [rng.choice(kinds) for _ in range(rows)]
    positions = [rng.randrange(1000) for _ in range(rows)]
    together = sample(logits, wanted, positions).tolist()
    for row in range(rows):
        assert sample(logits[row : row + 1], [wanted[row]], [positions[row]]).tolist() == [together[row]]
    order = rng.sample(range(rows), rows)
    assert sample(logits[order], [wanted[r] for r in order], [positions[r] for r in order]).tolist() == [
        together[r] for r in order
    ]
    other = sample(logits, wanted, [p + 1 for p in positions]).tolist()
    assert other != together
    assert all(a == b for a, b, s in zip(other, together, wanted, strict=True) if s.temperature == 0)


def test_ties_go_to_the_lowest_id():
    logits = torch.tensor([[0.0, 5.0, 5.0, 5.0, 1.0]])
    assert sample(logits, [Sampling()], [0]).item() == 1
    for options in ({"top_k": 1}, {"top_p": 0.2}):
        assert sample(logits, [Sampling(1.0, **options)], [0]).item() == 1
    tokens = sample(logits.expand(500, -1), [Sampling(1.0, top_k=2)] * 500, range(500))
    assert set(tokens.tolist()) == {1, 2}
    many = torch.zeros(500, 4000)  # enough for a sort that is not stable to show it
    assert set(sample(many, [Sampling(1.0, top_k=3)] * 500, range(500)).tolist()) == {0, 1, 2}


def test_the_head_ends_when_its_probability_is_reached():
    """Four equal tokens, top_p one half: two of them have it exactly, a third is one too many."""
    tokens = sample(torch.zeros(200, 4), [Sampling(1.0, top_p=0.5)] * 200, range(200))
    assert set(tokens.tolist()) == {0, 1}


def test_the_ends_of_the_number_line(monkeypatch):
    """The largest draw lands on a token that has a chance; tiny temperatures are greedy and not NaN."""
    logits = torch.tensor([[3.0, 2.0, -torch.inf, 1.0, -1000.0]])
    for u, token in ((0.0, 0), (1 - 2**-53, 3)):
        monkeypatch.setattr("labkit.executors.model.sampling.uniform", lambda seed, position, u=u: u)
        assert sample(logits, [Sampling(1.0)], [0]).item() == token
    monkeypatch.undo()
    for temperature in (1e-300, 5e-324):
        tokens = sample(logits.expand(50, -1), [Sampling(temperature)] * 50, range(50))
        assert set(tokens.tolist()) == {0}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_ids_come_in_one_type_for_every_dtype(dtype):
    logits = torch.randn(3, 50).to(dtype)
    assert sample(logits, [Sampling(1.0)] * 3, [0, 1, 2]).dtype == torch.int64


@pytest.mark.parametrize("how", [Sampling(), Sampling(1.0, top_p=0.9, seed=3)], ids=["greedy", "drawn"])
def test_a_row_that_is_not_finite_has_no_token_and_the_others_have_theirs(how):
    good = torch.tensor([0.0, -torch.inf, 3.0, -torch.inf])
    bad = [good.clone() for _ in range(3)]
    bad[0][1], bad[1][0], bad[2][:] = torch.nan, torch.inf, -torch.inf
    alone = sample(good[None], [how], [7]).tolist()
    found = sample(torch.stack([bad[0], good, bad[1], bad[2]]), [how] * 4, [7] * 4).tolist()
    assert found == [NO_TOKEN, *alone, NO_TOKEN, NO_TOKEN]
    assert alone[0] in (0, 2)


def test_no_rows_give_no_tokens():
    assert sample(torch.empty(0, 5), [], []).tolist() == []


@pytest.mark.parametrize(
    "options",
    [{"temperature": -0.1}, {"temperature": math.nan}, {"temperature": math.inf}, {"top_k": 0}, {"top_p": 0.0},
     {"top_p": 1.1}, {"top_p": math.nan}],
    ids=str,
)  # fmt: skip
def test_what_is_no_sampling_is_refused_by_name(options):
    with pytest.raises(InputError, match=next(iter(options))):
        Sampling(**options)
