"""Key-query pairs of a chunk, and what splitting a prompt keeps and what it does not (E31.4, C11, Q31.4)."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import sympy as sp

from labkit.theory.derivation import Derivation, derivation, step
from labkit.theory.evaluate import At, Point
from labkit.theory.rules import Cite, Evaluate, Given, Rearrange, Rewrite, Substitute
from labkit.theory.rules_sums import Induct, LastTerm, Telescope
from labkit.theory.symbols import Quantity, whole

S, Q, R = whole("s"), whole("q", 1), whole("r", 1)
Q1, Q2 = whole("q_1", 1), whole("q_2", 1)
K, J = whole("k"), whole("j")
PAIRS = sp.Function("A")
SIZE, SUM_OF, TOTAL = (
    sp.IndexedBase("q", integer=True),
    sp.IndexedBase("Q", integer=True),
    sp.IndexedBase("C"),
)
REREAD, LAUNCHES = sp.Function("R"), sp.Function("L")

HISTORY = Quantity(S, "context", "上下文：已有的位置数", "context: positions already there")
NEW = Quantity(Q, "new_tokens", "这一块的新位置数", "new positions of this chunk")
PAIRS_Q = Quantity(
    PAIRS,
    "attention_pairs",
    "s 个位置之后 q 个新位置的键查询配对数",
    "key–query pairs of q new positions after s",
)


def visible(s: int, q: int) -> int:
    """Key-query pairs, counted one by one: query s + i sees key j wherever j ≤ s + i (the causal mask)."""
    return sum(1 for i in range(q) for j in range(s + q) if j <= s + i)


def _pairs(at: At, s: Any, q: Any) -> int:
    return visible(int(s), int(q))


@cache
def pair_count() -> Derivation:
    """E31.4: q new positions after s make q·s + q(q+1)/2 pairs. Source: chapter 31.3, exercise 31.4."""

    def points(draw: random.Random) -> Point:
        return {S: draw.randint(0, 25), Q: draw.randint(1, 12)}

    terms = sp.Sum(S + R, (R, 1, Q))
    closed = Q * S + Q * (Q + 1) / 2
    long, short = {S: 32768 - 512, Q: 512}, {S: 0, Q: 512}
    return derivation(
        "pair_count",
        "E31.4",
        step("rows", Given(), PAIRS(S, Q), terms),
        step("closed", Telescope(g=(R - 1) * S + R * (R - 1) / 2), PAIRS(S, Q), closed),
        step("first", Evaluate(values=short), PAIRS(0, 512), 131328),
        step("last", Evaluate(of="closed", values=long), PAIRS(32256, 512), 16646400),
        step(
            "ratio",
            Rearrange(factor=sp.Rational(1, 131328)),
            PAIRS(32256, 512) / 131328,
            sp.Rational(7225, 57),
        ),
        quantities=(HISTORY, NEW, PAIRS_Q),
        points=points,
        meanings={PAIRS: _fast_pairs},
        source="E31.4",
    )


def _fast_pairs(at: At, s: Any, q: Any) -> int:
    """The same count row by row where one by one would take too long: row i of the mask has s + i + 1 keys."""
    return visible(int(s), int(q)) if q < 100 else sum(len(range(int(s) + i + 1)) for i in range(int(q)))


@cache
def two_chunks() -> Derivation:
    """E31.4, Q31.4: two chunks make the pairs of one, because the second one's history is s + q₁."""

    def points(draw: random.Random) -> Point:
        return {S: draw.randint(0, 20), Q1: draw.randint(1, 9), Q2: draw.randint(1, 9), Q: draw.randint(1, 9)}

    closed = Q * S + Q * (Q + 1) / 2
    first = Q1 * S + Q1 * (Q1 + 1) / 2
    second = Q2 * (S + Q1) + Q2 * (Q2 + 1) / 2
    whole_one = (Q1 + Q2) * S + (Q1 + Q2) * (Q1 + Q2 + 1) / 2
    return derivation(
        "two_chunks",
        "E31.4",
        step("closed", Cite(source=pair_count(), step="closed"), PAIRS(S, Q), closed),
        step("first", Evaluate(values={Q: Q1}), PAIRS(S, Q1), first),
        step("second", Evaluate(of="closed", values={S: S + Q1, Q: Q2}), PAIRS(S + Q1, Q2), second),
        step("together", Evaluate(of="closed", values={Q: Q1 + Q2}), PAIRS(S, Q1 + Q2), whole_one),
        step("kept", Rewrite(of="together"), PAIRS(S, Q1 + Q2), first + second),
        step(
            "conserved",
            Substitute(using=("first", "second"), back=("first", "second")),
            PAIRS(S, Q1 + Q2),
            PAIRS(S, Q1) + PAIRS(S + Q1, Q2),
        ),
        quantities=(
            NEW,
            HISTORY,
            Quantity(Q1, "prefill_chunk", "第一块", "the first chunk"),
            Quantity(Q2, "prefill_chunk", "第二块", "the second chunk"),
            PAIRS_Q,
        ),
        points=points,
        meanings={PAIRS: _pairs},
        source="E31.4, Q31.4",
    )


@cache
def any_split() -> Derivation:
    """E31.4: pairs are conserved under any split into k chunks, by induction over k."""

    def points(draw: random.Random) -> Point:
        return {
            S: draw.randint(0, 15),
            K: draw.randint(1, 5),
            Q: draw.randint(1, 9),
            SIZE: [draw.randint(1, 5) for _ in range(9)],
        }

    def total(at: At, k: Any) -> int:
        done, pairs = 0, 0
        for j in range(1, int(k) + 1):
            size = at[SIZE][j]
            pairs += visible(int(at[S]) + done, size)
            done += size
        return pairs

    def prefix(at: At, k: Any) -> int:
        return sum(at[SIZE][1 : int(k) + 1])

    nxt = SIZE[K + 1]
    closed = Q * S + Q * (Q + 1) / 2
    more = nxt * (S + SUM_OF[K]) + nxt * (nxt + 1) / 2
    claim = SUM_OF[K] * S + SUM_OF[K] * (SUM_OF[K] + 1) / 2
    return derivation(
        "any_split",
        "E31.4",
        step("lengths", Given(), SUM_OF[K], sp.Sum(SIZE[J], (J, 1, K))),
        step("grow", LastTerm(index=K), SUM_OF[K + 1], SUM_OF[K] + nxt),
        step("closed", Cite(source=pair_count(), step="closed"), PAIRS(S, Q), closed),
        step("next", Given(), TOTAL[K + 1], TOTAL[K] + PAIRS(S + SUM_OF[K], nxt)),
        step(
            "put",
            Substitute(using=("closed",), at={"closed": {S: S + SUM_OF[K], Q: nxt}}),
            TOTAL[K + 1],
            TOTAL[K] + more,
        ),
        step("one", Given(), TOTAL[0], 0),
        step("empty", Given(), SUM_OF[0], 0),
        step(
            "conserved",
            Induct(of="put", index=K, using=("one", "empty", "grow"), put=("empty", "grow")),
            TOTAL[K],
            claim,
        ),
        quantities=(
            NEW,
            Quantity(K, "prefill_chunk", "块数", "number of chunks"),
            HISTORY,
            Quantity(SIZE, "prefill_chunk", "第 j 块的新位置数", "new positions of chunk j"),
            Quantity(SUM_OF, "computed", "前 k 块的新位置总数", "new positions of the first k chunks"),
            Quantity(TOTAL, "attention_pairs", "前 k 块的键查询配对总数", "pairs of the first k chunks"),
            PAIRS_Q,
        ),
        points=points,
        meanings={PAIRS: _pairs, TOTAL: total, SUM_OF: prefix},
        source="E31.4, Q31.4",
    )


@cache
def rereads() -> Derivation:
    """C11, Q31.4: k chunks of q positions read k·s + q·k(k−1)/2 positions of history and launch k − 1 times more."""

    def points(draw: random.Random) -> Point:
        return {S: draw.randint(0, 20), Q: draw.randint(1, 9), K: draw.randint(1, 8)}

    def read(at: At, k: Any) -> int:
        there, seen = int(at[S]), 0
        for _ in range(int(k)):
            seen += len(range(there))  # every position of history is read once by this chunk
            there += int(at[Q])
        return seen

    def extra(at: At, k: Any) -> int:
        prompt, launches = int(k * at[Q]), 0
        while prompt > 0:
            prompt, launches = prompt - int(at[Q]), launches + 1
        return launches - 1

    return derivation(
        "rereads",
        "C11",
        step("history", Given(), REREAD(K), sp.Sum(S + Q * J, (J, 0, K - 1))),
        step("closed", Telescope(g=J * S + Q * J * (J - 1) / 2), REREAD(K), K * S + Q * K * (K - 1) / 2),
        step("launches", Given(), LAUNCHES(K), K - 1),
        step(
            "halved", Evaluate(of="closed", values={K: 2 * K}), REREAD(2 * K), 2 * K * S + Q * K * (2 * K - 1)
        ),
        quantities=(
            HISTORY,
            NEW,
            Quantity(K, "prefill_chunk", "块数", "number of chunks"),
            Quantity(REREAD, "context", "k 块读到的历史位置数", "positions of history read by k chunks"),
            Quantity(
                LAUNCHES, "round", "比一块做完多出的启动次数", "launches beyond the one of a single chunk"
            ),
        ),
        points=points,
        meanings={REREAD: read, LAUNCHES: extra},
        source="C11, Q31.4",
    )
