"""Section 31.2: what its cells compute is what the chapter's ledger says, reckoned here without the engine.

Two small simulations stand beside it: `seats`, round by round with members that hold seats, and `windows`,
batches that go when they are full or old. Neither shares a line with labkit.
"""

import random
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import comb, inf
from statistics import mean

import pytest

ROWS = {
    *("X1", "F31.1", "E31.3", "C07", "C08", "C09", "C10"),
    *("N14", "N20", "N22", "Q31.2", "Q31.3"),
}


@pytest.fixture(scope="module")
def page(run_page):
    return run_page("31_2_continuous_batching.ipynb")


def seats(lengths, count, round_ms, refill, arrivals=None):
    """Ends in ms of decodes of these lengths in this order, and seat-rounds busy and offered.

    `round_ms(members)` with members as (tokens already made) of each busy seat.
    """
    arrivals = arrivals or [0] * len(lengths)
    waiting, active, made = list(range(len(lengths))), [], [0] * len(lengths)
    ends, now, busy, rounds = {}, Fraction(0), 0, 0
    while waiting or active:
        here = [i for i in waiting if arrivals[i] <= now]
        if refill or not active:
            for i in here[: count - len(active)]:
                waiting.remove(i)
                active.append(i)
        if not active:
            now = Fraction(min(arrivals[i] for i in waiting))
            continue
        now += round_ms([made[i] for i in active])
        busy, rounds = busy + len(active), rounds + 1
        for i in list(active):
            made[i] += 1
            if made[i] == lengths[i]:
                active.remove(i)
                ends[i] = now
    return [ends[i] for i in range(len(lengths))], (busy, count * rounds)


def by_count(*times):
    return lambda members: Fraction(times[len(members) - 1])


def windows(arrivals, size, wait, seconds):
    """Batches of places and when each starts: full or old, and the device free. All in exact seconds."""
    batches, free, first = [], Fraction(0), 0
    while first < len(arrivals):
        full = arrivals[first + size - 1] if first + size <= len(arrivals) else inf
        start = max(free, min(full, arrivals[first] + wait))
        members = [i for i in range(first, min(first + size, len(arrivals))) if arrivals[i] <= start]
        batches.append((start, members))
        free = start + seconds(members)
        first = members[-1] + 1
    return batches


def exact(seconds):
    return Fraction(round(seconds * 10**9), 10**9)


X1 = (4, 1, 1)
TEN = by_count(10, 10)


def test_each_row_of_the_section_is_taught(page):
    assert page.taught() >= ROWS


# ---------------------------------------------------------------- X1, F31.1, C07


@pytest.mark.ledger("X1")
def test_x1(page):
    for name, refill, by_hand in (("静态", False, [40, 10, 50]), ("连续", True, [40, 10, 20])):
        own, _ = seats(X1, 2, TEN, refill)
        assert own == by_hand
        assert list(page.names["ends"][name].values()) == own
        assert page.values["x1-mean"][name] == mean(own)
    assert page.values["x1-mean"] == {"静态": Fraction(100, 3), "连续": Fraction(70, 3)}
    assert page.values["carry"][0] == 10


@pytest.mark.ledger("F31.1")
def test_figure_31_1_has_a_lane_a_seat_and_a_cell_a_round(page):
    alt = page.values["f31-1-timeline"].alt
    assert "有人等的空座 10 到 40 ms" in alt
    assert "座位 2：B 0 到 10 ms、C 10 到 20 ms" in alt
    html = page.values["f31-1-replay"]._repr_mimebundle_()["text/html"]
    assert "静态" in html
    assert "连续" in html


@pytest.mark.ledger("C07")
def test_what_static_batching_forbids(page):
    held, average = page.values["c07-held"]
    assert list(held.values()) == [40, 40, 50]
    assert average == Fraction(130, 3)
    for name, refill in (("静态", False), ("连续", True)):
        assert page.values["c07-seats"][name] == seats(X1, 2, TEN, refill)[1]
    stops, computes = page.values["c07-variant"].rows
    assert stops[1:] == computes[1:]


# ---------------------------------------------------------------- C08, Q31.2, N22


@pytest.mark.ledger("C08")
def test_the_gain_rests_on_the_order(page):
    for order in permutations("ABC"):
        lengths = [dict(zip("ABC", X1, strict=True))[i] for i in order]
        static, continuous = (mean(seats(lengths, 2, TEN, refill)[0]) for refill in (False, True))
        assert page.values["order-all"]["".join(order)] == static - continuous
    assert page.values["order-all"]["BCA"] == 0


@pytest.mark.ledger("C08")
@pytest.mark.parametrize(
    ("one", "two"), [(6, 5), (6, 6), (6, 12), (6, 13), (6, 15), (6, 16), (4, 10), (4, 11)]
)
def test_where_each_measure_flips(page, one, two):
    times = {
        name: list(page.names["show"].ends_ms(run).values())
        for name, run in page.names["both"](one, two).items()
    }
    for name, refill in (("静态", False), ("连续", True)):
        assert times[name] == seats(X1, 2, by_count(one, two), refill)[0]
    static, continuous = times["静态"], times["连续"]
    assert (continuous[0] > static[0]) == (two > one)  # A is later
    assert (max(continuous) > max(static)) == (two > 2 * one)  # all done
    assert (mean(continuous) > mean(static)) == (2 * two > 5 * one)  # mean


@pytest.mark.ledger("C08")
def test_the_formulas_and_the_cost_models(page):
    t1, two = page.names["t1"], page.names["flip"]
    assert list(page.values["c08-solve"]) == [t1, 2 * t1, 5 * t1 / 2]
    assert two == 5 * t1 / 2

    def context(
        members,
    ):  # 2 ms and 0.25 ms for each position in the cache: 16 prompt positions, then its own
        return 2 + sum(Fraction(16 + made, 4) for made in members)

    models = [by_count(10, 10), by_count(6, 10), by_count(6, 18), context]
    shown = list(page.rows("costs-run").values())
    for model, cells in zip(models, shown, strict=True):
        for cell, refill in zip(cells, (False, True), strict=True):
            assert Fraction(cell.split(" ≈ ")[0]) == mean(seats(X1, 2, model, refill)[0])
    assert page.rows("breaks-run")["静态"][3].startswith("32")
    assert page.rows("breaks-run")["连续"][3].startswith("34")


@pytest.mark.ledger("Q31.2")
def test_question_31_2(page):
    table = page.rows("q31-2-run")
    by_hand = {
        "静态": (28, 10, 34, "24 ms"),
        "静态，空算": (40, 10, 46, "32 ms"),
        "静态，空算并补满两座": (40, 10, 50, "100/3 ≈ 33.33 ms"),
        "连续": (32, 10, 20, "62/3 ≈ 20.67 ms"),
    }
    for name, (a, b, c, average) in by_hand.items():
        assert table[name][:4] == [str(a), str(b), str(c), average]
    assert seats(X1, 2, by_count(6, 10), False)[0] == [28, 10, 34]
    assert seats(X1, 2, by_count(6, 10), True)[0] == [32, 10, 20]
    assert page.names["a_later"] == 4


@pytest.mark.ledger("N22")
def test_the_ranking_changes_with_load_and_with_target(page):
    cost = by_count(6, 14)
    firsts = set()
    for cells, (lengths, arrivals) in zip(
        page.rows("n22-ranking").values(), page.names["loads"].values(), strict=True
    ):
        own = {}
        for name, refill in (("静态", False), ("连续", True)):
            ends = seats(lengths, 2, cost, refill, list(arrivals))[0]
            own[name] = [end - at for end, at in zip(ends, arrivals, strict=True)]
        for place, goal in ((0, mean), (2, max)):
            static, continuous = goal(own["静态"]), goal(own["连续"])
            assert [Fraction(cell.split(" ≈ ")[0]) for cell in cells[place : place + 2]] == [
                static,
                continuous,
            ]
            firsts.add((static > continuous) - (static < continuous))
    assert firsts == {-1, 0, 1}, "each policy is first somewhere, and once they are equal"


# ---------------------------------------------------------------- N14


@pytest.mark.ledger("N14")
def test_members_change_between_rounds_only(page):
    found = page.values["n14-check"]
    assert found["中途到达"] > 30
    assert (found["中途入座"], found["中途离开"]) == (0, 0)
    assert page.values["n14-operators"] == {"线性层": True, "注意力": False}


# ---------------------------------------------------------------- busy share: 1/H_K


def longest(count, p=0.01):
    """E[max] of `count` geometric lengths, by its tail: the sum over n of Pr(max > n)."""
    total, alive = 0.0, 1.0
    while alive > 1e-15:
        total += 1 - (1 - alive) ** count
        alive *= 1 - p
    return total


LEDGER = {2: 67, 8: 37, 32: 25, 128: 18}


@pytest.mark.ledger("C07")
def test_the_share_of_busy_seats_is_the_ledgers(page):
    for count, percent in LEDGER.items():
        share = 100 / longest(count)
        assert round(100 * share) == percent
        assert float(page.values["aha-exact"][count].rstrip("%")) == pytest.approx(100 * share, abs=0.051)
        harmonic = sum(1 / k for k in range(1, count + 1))
        assert share == pytest.approx(1 / harmonic, rel=0.005)
    assert all(page.values["aha-harmonic"].values())
    # Inclusion and exclusion, exactly, for two and three: the page's two formulas at q = 99/100.
    q = Fraction(99, 100)
    for formula, count in zip(page.values["aha-longest"], (2, 3), strict=True):
        own = sum((-1) ** (j + 1) * comb(count, j) / (1 - q**j) for j in range(1, count + 1))
        assert Fraction(str(formula.subs(page.names["q"], page.names["Rational"](99, 100)))) == own


@pytest.mark.ledger("C07")
def test_a_simulation_of_its_own_gives_the_same_shares():
    luck = random.Random(31)
    for count, percent in LEDGER.items():
        busy = offered = 0
        for _ in range(12_000 // count):
            lengths = [1 + next(n for n in range(10**6) if luck.random() < 0.01) for _ in range(count)]
            busy, offered = busy + sum(lengths), offered + count * max(lengths)
        assert 100 * busy / offered == pytest.approx(percent, rel=0.08)


@pytest.mark.ledger("C07")
def test_the_engine_gives_them_too_and_falls_with_more_seats(page):
    share = page.names["share"]
    assert list(share) == [2, 8, 32, 128]
    assert sorted(share.values(), reverse=True) == list(share.values())
    for count, percent in LEDGER.items():
        assert 100 * float(share[count]) == pytest.approx(percent, rel=0.05)
    run = page.names["backlog"](8, 160)
    lengths = [len(r["token_times"]) for r in run.result["requests"]]
    groups = [lengths[i : i + 8] for i in range(0, 160, 8)]
    assert page.names["show"].seat_rounds(run) == (sum(lengths), sum(8 * max(group) for group in groups))


@pytest.mark.ledger("C07", "C08")
def test_where_the_share_breaks(page):
    table = page.rows("aha-breaks")
    assert table["静态，长度都是 100"][0] == "100%"
    assert int(table["连续，长度随机"][0].rstrip("%")) > 90
    assert int(table["静态，长度随机"][0].rstrip("%")) < 42
    fixed, varying = (float(table["静态，长度随机"][i]) / float(table["连续，长度随机"][i]) for i in (1, 2))
    assert fixed > 2.2 > 1.5 > varying > 1  # an empty seat that costs nothing is not that dear


# ---------------------------------------------------------------- E31.3, Q31.3


@pytest.mark.ledger("E31.3", "Q31.3")
def test_padded_utilisation(page):
    assert page.values["e31-3-formula"] == (Fraction(1, 2), Fraction(3, 8))
    assert page.values["e31-3-count"] == (0.5, 0.375)
    rows = page.rows("e31-3-ratios")
    prompts = (64, 64, 256)
    triangle = [p * (p + 1) // 2 for p in prompts]
    expected = {
        "只有线性层": (sum(prompts), 3 * 256, Fraction(1, 100)),
        "只有注意力": (sum(triangle), 3 * triangle[2], Fraction(1, 100_000)),
    }
    for name, (real, padded, ms) in expected.items():
        assert [float(cell) for cell in rows[name][:2]] == [float(padded * ms), float(real * ms)]
        assert float(rows[name][2]) == pytest.approx(real / padded, abs=5e-5)
    assert float(rows["线性层，再加一轮固定 4 ms"][2]) == pytest.approx((3.84 + 4) / (7.68 + 4), abs=5e-5)


@pytest.mark.ledger("E31.3")
def test_a_variable_length_kernel_pays_for_no_neighbour(page):
    """Beside a longer neighbour a padded prompt costs more, one in a variable-length kernel what it always cost."""
    names = page.names
    before = names["prompts"], names["n"]
    price = {"per_token": 0.00001}
    try:
        cost = {}
        for kind in ("padded", "linear"):
            for pair in ([64], [64, 256], [256]):
                names["prompts"], names["n"] = pair, len(pair)
                cost[kind, tuple(pair)] = names["batch_ms"](kind, price)
    finally:
        names["prompts"], names["n"] = before
    assert cost["linear", (64, 256)] == cost["linear", (64,)] + cost["linear", (256,)]
    assert cost["padded", (64, 256)] == 2 * cost["padded", (256,)]


# ---------------------------------------------------------------- C09, N20


def bucketed(crowd, edges):
    """For each bucket: (waits in s, batches of prompt lengths), from `windows` alone."""
    out = []
    for low, high in zip((0, *edges), edges, strict=False):
        group = [p for p in crowd if low < p["prompt_tokens"] <= high]
        arrivals = [exact(p["arrival"]) for p in group]
        prompts = [p["prompt_tokens"] for p in group]

        def seconds(members, prompts=prompts):
            return Fraction(2, 1000) + Fraction(2, 10**6) * len(members) * max(prompts[i] for i in members)

        batches = windows(arrivals, 8, Fraction(1, 5), seconds)
        waits = [start - arrivals[i] for start, members in batches for i in members]
        out.append((waits, [[prompts[i] for i in members] for _, members in batches]))
    return out


@pytest.mark.ledger("C09")
def test_buckets_cut_padding_and_add_wait(page):
    shares, means = [], []
    for name, cells in page.rows("c09-table").items():
        found = bucketed(page.names["crowd"], page.names["sizes"][name])
        waits = [wait for own, _ in found for wait in own]
        batches = [batch for _, own in found for batch in own]
        share = sum(map(sum, batches)) / sum(len(b) * max(b) for b in batches)
        own = [len(batches), round(len(waits) / len(batches), 1), sum(len(b) == 8 for b in batches)]
        own += [f"{share:.0%}", round(1000 * mean(waits)), round(1000 * max(waits))]
        assert cells == [str(value) for value in own]
        shares.append(share)
        means.append(mean(waits))
        assert max(waits) <= Fraction(1, 5) + Fraction(2, 1000) + Fraction(
            2 * 8 * 1024, 10**6
        )  # limit and a round
        assert max(map(len, batches)) <= 8
    assert shares == sorted(shares)
    assert means == sorted(means)
    assert shares[0] < 0.65 < 0.85 < shares[-1]


@pytest.mark.ledger("C09")
def test_jitter_at_an_edge_leaves_thin_buckets(page):
    for cells, (jitter, edges) in zip(
        page.values["c09-jitter-run"].values(), page.names["tried"].values(), strict=True
    ):
        crowd = page.names["templated"](jitter)
        own = [round(len(waits) / len(batches), 1) for waits, batches in bucketed(crowd, edges)]
        assert list(cells.values()) == own
    calm, split, moved = (list(cells.values()) for cells in page.values["c09-jitter-run"].values())
    assert max(split[1:]) < 0.8 * min(calm[1], moved[1])


@pytest.mark.ledger("N20")
def test_more_shapes_less_padding(page):
    shares, shapes = [], []
    for count, cells in page.rows("n20-shapes").items():
        edges = [1024 * (i + 1) // int(count) for i in range(int(count))]
        found = [
            (len(batch), edge)
            for edge, (_, batches) in zip(edges, bucketed(page.names["crowd"], edges), strict=True)
            for batch in batches
        ]
        share = sum(p["prompt_tokens"] for p in page.names["crowd"]) / sum(n * edge for n, edge in found)
        assert cells[:2] == [str(len(set(found))), f"{share:.0%}"]
        shares.append(share)
        shapes.append(len(set(found)))
    assert shares == sorted(shares)
    assert shapes == sorted(shapes)
    gains = [late - early for early, late in pairwise(shares)]
    assert gains == sorted(gains, reverse=True), "each doubling brings less"


# ---------------------------------------------------------------- C10


@pytest.mark.ledger("C10")
@pytest.mark.parametrize(("rate", "size"), list(product((2, 20, 80), (2, 8, 16))))
def test_the_window_fires_on_size_or_age(page, rate, size):
    for window in (0, 50, 400):
        result = page.names["window_run"](rate, window, size).result
        arrivals = [exact(r["arrival"]) for r in result["requests"]]

        def seconds(members):
            return Fraction(40 + 5 * len(members), 1000)

        batches = windows(arrivals, size, Fraction(window, 1000), seconds)
        assert [len(r["items"]) for r in result["rounds"]] == [len(members) for _, members in batches]
        own = [start + seconds(members) - arrivals[i] for start, members in batches for i in members]
        assert [exact(r["ttft"]) for r in result["requests"]] == own


@pytest.mark.ledger("C10")
def test_waiting_to_fill_hurts_at_low_load(page):
    times = page.values["c10-ttft"]
    low, high = times["2/s"], times["80/s"]
    assert low[1] - low[0] > 85  # nearly all of the 100 ms
    assert high[1] < 1.15 * high[0]
    full = page.values["c10-full"]
    assert full["先到就走"] < full["最多等 100 ms"] < full["只等装满"]
    assert full["只等装满"] > 1000  # 3.5 others come in 1.75 s on average
    says = page.values["c10-panel"].still().says
    assert f"每秒 2 个请求，TTFT 平均 {round(low[1])} ms" in says
