"""What a batch takes: padding (E31.3, Q31.3), and live pages under the byte budget (E31.5, X2, Q31.5)."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache

import sympy as sp

from labkit.theory.derivation import Derivation, Step, derivation, step
from labkit.theory.evaluate import At, Point
from labkit.theory.rules import Evaluate, Given, Rewrite, Substitute
from labkit.theory.rules_sums import Telescope
from labkit.theory.symbols import Quantity, positive, whole

# ---------------------------------------------------------------- padding

N, INDEX = whole("n", 1), whole("i", 1)
LENGTH, LONGEST = sp.IndexedBase("P", nonnegative=True), positive(r"P_{\max}")
USEFUL, DRAWN, UTILISATION = positive("V"), positive(r"V_{\max}"), positive(r"\eta")
QUESTION = {N: 3, LENGTH[1]: 64, LENGTH[2]: 64, LENGTH[3]: 256, LONGEST: 256}  # Q31.3


@cache
def padded_linear() -> Derivation:
    """E31.3: useful positions over padded ones, ΣP/(n·Pmax). Source: chapter 31.2."""
    return _padded("padded_linear", 1, sp.Rational(1, 2))


@cache
def padded_attention() -> Derivation:
    """E31.3: the same for a full square of attention, ΣP²/(n·Pmax²). Source: chapter 31.2."""
    return _padded("padded_attention", 2, sp.Rational(3, 8))


def _padded(name: str, power: int, asked: sp.Rational) -> Derivation:
    def points(draw: random.Random) -> Point:
        found = [0, *(draw.randint(1, 30) for _ in range(draw.randint(2, 6)))]
        return {N: len(found) - 1, LENGTH: found, LONGEST: max(found), INDEX: draw.randint(1, len(found) - 1)}

    def cells(at: At, padded: bool) -> int:
        """Cells of the drawn batch, or those of them that hold a position (a pair of positions)."""
        count = 0
        for i in range(1, int(at[N]) + 1):
            side = int(at[LONGEST] if padded else at[LENGTH][i])
            count += len(range(side)) if power == 1 else sum(len(range(side)) for _ in range(side))
        return count

    useful, drawn = sp.Sum(LENGTH[INDEX] ** power, (INDEX, 1, N)), LONGEST**power
    what = ("位置", "positions") if power == 1 else ("位置对", "pairs of positions")
    return derivation(
        name,
        "E31.3",
        step("useful", Given(), USEFUL, useful),
        step("drawn", Given(), DRAWN, sp.Sum(drawn, (INDEX, 1, N))),
        step("padded", Telescope(g=(INDEX - 1) * drawn), DRAWN, N * drawn),
        step("ratio", Given(), UTILISATION, USEFUL / DRAWN),
        step("formula", Substitute(using=("useful", "padded")), UTILISATION, useful / (N * drawn)),
        step("asked", Evaluate(values=QUESTION), UTILISATION, asked),
        quantities=(
            Quantity(N, "seats", "同批序列数", "sequences in the batch"),
            Quantity(LENGTH, "prompt_tokens", "第 i 条序列的长度", "length of sequence i"),
            Quantity(LONGEST, "prompt_tokens", "其中最长的", "the longest of them"),
            Quantity(USEFUL, "new_tokens", f"有用的{what[0]}数", f"useful {what[1]}"),
            Quantity(DRAWN, "new_tokens", f"填充后的{what[0]}数", f"{what[1]} after padding"),
            Quantity(UTILISATION, "padded_utilisation", "填充利用率", "padded utilisation"),
        ),
        points=points,
        source="E31.3, Q31.3",
        meanings={
            USEFUL: lambda at: cells(at, False),
            DRAWN: lambda at: cells(at, True),
            UTILISATION: lambda at: Fraction(cells(at, False), cells(at, True)),
        },
    )


# ---------------------------------------------------------------- pages

N1, N2, PAGE, SHARED = whole("n_1", 1), whole("n_2", 1), whole("p", 1), whole("k")
PAGES, FIT = whole("R", 1), whole("F", 1)
BYTES, WORKSPACE, TOKEN_BYTES = whole("M", 1), whole(r"M_{\mathrm{workspace}}"), whole(r"\beta", 1)


@cache
def live_pages() -> Derivation:
    """E31.5: pages of two sequences with a shared prefix, counted once, and how many the budget holds.

    Lengths 257 and 255 take 33 pages of 16, one decode each still 33, two each 34; 64 MiB holds 64. Source: chapter
    31.3, X2, Q31.5.
    """

    def points(draw: random.Random) -> Point:
        page, shared = draw.randint(1, 20), draw.randint(0, 3)
        least, bytes_ = max(shared * page, 1), draw.randint(1, 9)
        workspace = draw.randint(0, 500)
        return {
            PAGE: page,
            SHARED: shared,
            N1: least + draw.randint(0, 60),
            N2: least + draw.randint(0, 60),
            TOKEN_BYTES: bytes_,
            WORKSPACE: workspace,
            BYTES: workspace + page * bytes_ * draw.randint(1, 9) + draw.randint(0, 40),
        }

    def held(at: At) -> int:
        """Give every position its physical page and count the different ones."""
        pages = set()
        for request, length in (("first", at[N1]), ("second", at[N2])):
            for position in range(int(length)):
                place = position // int(at[PAGE])
                pages.add(("shared" if place < at[SHARED] else request, place))
        return len(pages)

    def fit(at: At) -> int:
        count = 0
        while (count + 1) * at[PAGE] * at[TOKEN_BYTES] + at[WORKSPACE] <= at[BYTES]:
            count += 1
        return count

    own = [sp.ceiling((n - SHARED * PAGE) / PAGE) for n in (N1, N2)]

    def lengths(name: str, first: int, second: int, pages: int) -> Step:
        values = {N1: first, N2: second, PAGE: 16, SHARED: 0}
        return step(name, Evaluate(of="once", values=values), PAGES, pages)

    mebibyte = 1 << 20
    sizes = {BYTES: 64 * mebibyte, WORKSPACE: 0, PAGE: 16, TOKEN_BYTES: 65536}
    return derivation(
        "live_pages",
        "E31.5",
        step("owned", Given(), PAGES, SHARED + own[0] + own[1]),
        step("once", Rewrite(), PAGES, sp.ceiling(N1 / PAGE) + sp.ceiling(N2 / PAGE) - SHARED),
        lengths("cached", 257, 255, 33),
        lengths("decoded", 258, 256, 33),
        lengths("two_more", 259, 257, 34),
        step("budget", Given(), FIT, sp.floor((BYTES - WORKSPACE) / (PAGE * TOKEN_BYTES))),
        step("fit", Evaluate(values=sizes), FIT, 64),
        quantities=(
            Quantity(N1, "cached", "第一条序列的缓存位置数", "cached positions of the first sequence"),
            Quantity(N2, "cached", "第二条序列的缓存位置数", "cached positions of the second sequence"),
            Quantity(PAGE, "page_tokens", "每页位置数", "positions of a page"),
            Quantity(SHARED, "prefix_sharing", "共享前缀的页数", "pages of the shared prefix"),
            Quantity(PAGES, "PageRef", "两条序列驻留的物理页数", "live physical pages of both"),
            Quantity(BYTES, "kv_bytes", "缓存字节预算", "KV budget", "B"),
            Quantity(WORKSPACE, "workspace_bytes", "工作区", "workspace", "B"),
            Quantity(TOKEN_BYTES, "bytes_per_token", "每词元缓存字节数", "cache bytes of a token", "B"),
            Quantity(FIT, "PagePool", "预算容得下的页数", "pages that the budget holds"),
        ),
        points=points,
        meanings={PAGES: held, FIT: fit},
        source="E31.5, X2, Q31.5",
    )
