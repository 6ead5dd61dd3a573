"""C27, C28: the formula by hand, the crowd on the virtual clock and by the real model."""

from fractions import Fraction

import pytest

from labkit.executors.costs import LinearCost
from labkit.studies import preemption as p


def test_c27_the_formula_by_hand():
    """1 ms a launch, 0.1 ms a token, against 2·(0.5 ms + bytes at 1 byte/ns); pages of 4 tokens of 250,000 bytes."""
    cost = LinearCost(
        fixed=Fraction(10**6),
        per_token=Fraction(10**5),
        swap_fixed=Fraction(5 * 10**5),
        swap_per_byte=Fraction(1),
    )
    prices = p.by_formula(cost, [1, 4, 5, 40], page_tokens=4, bytes_per_token=250_000, chunk=16)
    assert [price.recompute for price in prices] == pytest.approx([0.0011, 0.0014, 0.0015, 0.007])
    assert [price.swap for price in prices] == pytest.approx([0.003, 0.003, 0.005, 0.021])
    assert p.crossover(prices) is None
    slow = LinearCost(fixed=Fraction(10**6), per_token=Fraction(10**6), swap_per_byte=Fraction(1, 1000))
    prices = p.by_formula(slow, [1, 4, 8], page_tokens=4, bytes_per_token=4_500_000, chunk=16)
    # 2, 5, 9 ms to compute again; 36, 36, 72 ms·10⁻³·… to move: 2·18 MB/10⁶ bytes a ms = 0.036, 0.036, 0.072 s/1000
    assert [price.swap for price in prices] == pytest.approx([0.000036, 0.000036, 0.000072])
    assert p.crossover(prices) == 1


def test_c27_the_crossover_is_the_first_from_which_on_swap_always_wins():
    prices = [p.Price(1, 1.0, 0.5), p.Price(2, 1.0, 2.0), p.Price(4, 4.0, 3.0), p.Price(8, 8.0, 5.0)]
    assert p.crossover(prices) == 4
    assert p.crossover(prices[:2]) is None


def test_c27_the_link_at_par_makes_both_equal():
    """2·64 MiB in 10 ms less 2 ms: 16.8 GB/s, by hand; with it the formula's two sides are equal."""
    nbytes = 64 << 20
    link = p.link_at_par(p.Price(1024, 0.010, 0.0), nbytes, swap_fixed=0.002)
    assert link == pytest.approx(16.777216e9)
    assert 2 * nbytes / link + 0.002 == pytest.approx(0.010)
    assert p.link_at_par(p.Price(1, 0.001, 0.0), nbytes, swap_fixed=0.002) is None


def test_c28_the_fourth_seat_costs_a_third_and_its_cures_give_it_back():
    """70 pages of 16, 48 requests of 256 + 64: ratio 0.66 and about 30 % of the throughput; the device never idles."""
    sick, fewer, promised, moved = p.thrashing()
    assert sick.recompute_ratio == pytest.approx(0.66, abs=0.01)
    assert 0.28 < 1 - sick.tokens_per_second / promised.tokens_per_second < 0.33
    assert fewer.recompute_ratio == promised.recompute_ratio == moved.recompute_ratio == 0
    assert fewer.tokens_per_second == promised.tokens_per_second
    for crowd in (sick, fewer, promised, moved):
        assert crowd.busy_share == 1  # busy rises, useful work falls: busy alone tells nothing
        # Q31.12's other ratio: tokens that came out over positions that were computed, from counts
        executed = 48 * (256 + 63) * (1 + Fraction(crowd.recompute_ratio).limit_denominator(10**6))
        assert crowd.new_over_executed == pytest.approx(float(48 * 64 / executed), rel=1e-6)


def test_c28_a_minimum_run_makes_preemption_rarer():
    free, *held = p.minimum_runs((1, 64, 128))
    assert free.preemptions > held[0].preemptions > held[1].preemptions > 0


def test_c28_n02_the_real_model_says_the_same_words_whether_it_thrashes_or_not():
    pytest.importorskip("torch")
    shape = {"pages": 18, "requests": 8, "prompt": 48, "output": 24}
    crowds = p.thrashing(model="tiny", dtype="float64", **shape)
    assert crowds[0].preemptions > 0 and crowds[0].recompute_ratio > 0
    assert any(event["event"] == "swap_in" for event in crowds[3].run.journal[1:])
    words = [[row["tokens"] for row in crowd.run.result["requests"]] for crowd in crowds]
    assert words[0] == words[1] == words[2] == words[3]
    assert all(len(tokens) == 24 for tokens in words[0])


def test_c27_measured_prices_cover_each_length(tmp_path):
    pytest.importorskip("torch")
    from labkit.executors.torch_model import TorchExecutor
    from labkit.scenario.real import open_model

    executor = TorchExecutor(open_model("tiny", "cpu", "float32"), pages=8, page_tokens=16)
    prices = p.measured(executor, [16, 100], chunk=64, repeats=2)
    assert [price.positions for price in prices] == [16, 100]
    assert all(price.recompute > 0 and price.swap > 0 for price in prices)
