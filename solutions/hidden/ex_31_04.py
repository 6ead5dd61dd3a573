"""Hidden checks of exercise 31.4 (Q31.4, E31.4, C11)."""

import random
from dataclasses import replace
from fractions import Fraction

import sympy as sp

from labkit.grade.checks import Trial, Verdict, function, right, wrong
from labkit.grade.expressions import UndefinedError, evaluate
from labkit.grade.forms import FormError, near
from labkit.grade.session import NoAnswerError

S, Q, R, Q1, Q2, J, K = sp.symbols("s q r q1 q2 j k")
LAUNCH, PAIR, READ = sp.symbols("launch pair read")
HALF = sp.Rational(1, 2)


def causal(history, new):
    """Every pair of a query with a key before it, and with its own: a rectangle and a triangle."""
    return history * new + HALF * new**2 + HALF * new


def without_self(history, new):
    return causal(history, new) - new


def square(history, new):
    return history * new + new**2


def no_new_keys(history, new):
    return history * new


def expression(reference, wrong_ways):
    """A check of a formula; a way to be wrong is one formula or several."""

    def check(trial: Trial) -> Verdict:
        answer = trial.answer()
        if trial.same(answer, reference):
            return right()
        for misconception, ways in wrong_ways.items():
            if any(trial.same(answer, way) for way in (ways if isinstance(ways, tuple) else (ways,))):
                return wrong(misconception)
        return wrong()

    return check


def pair_ways(history, new):
    """How a formula of pairs goes wrong, whatever its history and its new positions are called."""
    return {
        "self-excluded": without_self(history, new),
        "future-keys": square(history, new),
        "history-only": no_new_keys(history, new),
    }


def difference(trial: Trial) -> Verdict:
    """Zero, and the student's own two chunks have to give it: a bare 0 beside chunks that differ is a claim."""
    answer = trial.answer()
    try:
        first, second = trial.answer("first_pairs"), trial.answer("second_pairs")
        conserved_by_own = all(
            near(
                float(evaluate(first, {"s": s, "q1": q1}) + evaluate(second, {"s": s, "q1": q1, "q2": q2})),
                float(evaluate(first, {"s": s, "q1": q1 + q2})),
            )
            for s, q1, q2 in (
                (Fraction(5), Fraction(3), Fraction(4)),
                (Fraction(2), Fraction(7), Fraction(1)),
            )
        )
        cause = CHECKS["second_pairs"](replace(trial, name="second_pairs")).misconception
    except (NoAnswerError, FormError, UndefinedError):
        return wrong("not-derived")
    if trial.same(answer, sp.Integer(0)):
        return right() if conserved_by_own else wrong("not-derived")
    return wrong("not-derived" if conserved_by_own or not cause else cause)


def chunk(j, history=None):
    return causal(S + (j - 1) * Q if history is None else history, Q)


def conserved(trial: Trial) -> Verdict:
    named = set(trial.answer())
    if named == {"每个查询可见的键", "配对总数"}:
        return right()
    if "总时间" in named:
        return wrong("time-conserved")
    if named & {"历史读取位置数", "启动次数"}:
        return wrong("reads-conserved")
    return wrong("context-changes" if named == {"配对总数"} else "")


def over_chunks(pairs):
    """The sum of a wrong formula over k chunks, each with its right history."""
    return sp.expand(sp.summation(pairs(S + (J - 1) * Q, Q), (J, 1, K)))


READS = K * S + HALF * Q * K * (K - 1)
EXTRA = (K - 1) * LAUNCH + (READS - S) * READ


def counted(s, chunks, sees=lambda at: at + 1, read_own=False, from_chunk=0):
    """Counts by walking over positions; the keywords are ways to be wrong."""
    pairs = reads = 0
    at = s
    for number, new in enumerate(chunks):
        if number >= from_chunk:
            reads += at + (new if read_own else 0)
        for _ in range(new):
            pairs += sees(at)
            at += 1
    return {"pairs": pairs, "history_reads": reads, "extra_launches": len(chunks) - 1}


def changed(**ways):
    return lambda s, chunks: counted(s, chunks) | {key: way(s, chunks) for key, way in ways.items()}


def forgotten(s, chunks):
    """Every chunk as if it were the first."""
    alone = [counted(s, [new]) for new in chunks]
    return {
        "pairs": sum(one["pairs"] for one in alone),
        "history_reads": len(chunks) * s,
        "extra_launches": len(chunks) - 1,
    }


def future(s, chunks):
    """Every new query sees the whole of its chunk."""
    total, at = 0, s
    for new in chunks:
        at += new
        total += new * at
    return total


def equal_reads(length):
    """Reads by the formula for equal chunks, with one length for all."""

    def reads(s, chunks):
        k = len(chunks)
        return k * s + length(chunks) * k * (k - 1) // 2

    return changed(history_reads=reads)


def prompt(rng: random.Random):
    return rng.randint(0, 40), [rng.randint(1, 12) for _ in range(rng.randint(1, 6))]


def work(trial: Trial) -> Verdict:
    def check(wrong_ways):
        return function(
            counted,
            prompt,
            wrong_ways,
            always=((7, [3, 4, 6]), (0, [5]), (4, [1, 1, 1]), (9, [2, 8])),
        )(trial)

    verdict = check(
        {
            "history-forgotten": forgotten,
            "self-excluded": changed(pairs=lambda s, c: counted(s, c, sees=lambda at: at)["pairs"]),
            "future-keys": changed(pairs=future),
            "own-block": lambda s, c: counted(s, c, read_own=True),
            "first-not-counted": lambda s, c: counted(s, c, from_chunk=1),
            "only-initial": changed(history_reads=lambda s, c: s * len(c)),
            "initial-once": changed(
                history_reads=lambda s, c: counted(s, c)["history_reads"] - s * (len(c) - 1)
            ),
            "previous-only": changed(history_reads=lambda s, c: s * len(c) + sum(c[:-1])),
            "reads-are-pairs": changed(history_reads=lambda s, c: counted(s, c)["pairs"]),
            "launches-total": changed(extra_launches=lambda s, c: len(c)),
            "equal-chunks": equal_reads(lambda c: c[0]),
        }
    )
    if verdict.share or verdict.misconception:
        return verdict
    return check({"equal-chunks": equal_reads(lambda c: sum(c) / len(c))})


CHECKS = {
    "visible": expression(
        S + R,
        {"self-excluded": S + R - 1, "history-only": S, "initial-forgotten": R},
    ),
    "history_part": expression(S * Q, {}),
    "new_part": expression(
        HALF * Q * (Q + 1), {"self-excluded": HALF * Q * (Q - 1), "future-keys": Q**2, "history-only": 0 * Q}
    ),
    "pairs": expression(causal(S, Q), pair_ways(S, Q)),
    "second_history": expression(
        S + Q1, {"history-forgotten": S, "initial-forgotten": Q1, "chunk-index": S + Q1 + 1}
    ),
    "first_pairs": expression(causal(S, Q1), pair_ways(S, Q1)),
    "second_pairs": expression(
        causal(S + Q1, Q2),
        {
            "history-forgotten": causal(S, Q2),
            "initial-forgotten": causal(Q1, Q2),
            **pair_ways(S + Q1, Q2),
        },
    ),
    "difference": difference,
    "chunk_history": expression(
        S + (J - 1) * Q,
        {
            "history-forgotten": S,
            "chunk-index": S + J * Q,
            "initial-forgotten": (J - 1) * Q,
            "previous-only": S + Q,
        },
    ),
    "chunk_pairs": expression(
        chunk(J),
        {
            "history-forgotten": chunk(J, S),
            "chunk-index": chunk(J + 1),
            "initial-forgotten": chunk(J, (J - 1) * Q),
            **pair_ways(S + (J - 1) * Q, Q),
        },
    ),
    "total_pairs": expression(
        causal(S, K * Q),
        {
            "history-forgotten": K * causal(S, Q),
            "chunk-index": causal(S, K * Q) + K * Q**2,
            "self-excluded": without_self(S, K * Q),
            "future-keys": (square(S, K * Q), over_chunks(square)),
            "history-only": (no_new_keys(S, K * Q), over_chunks(no_new_keys)),
        },
    ),
    "history_reads": expression(
        READS,
        {
            "only-initial": K * S,
            "first-not-counted": READS - S,
            "initial-once": READS - (K - 1) * S,
            "own-block": READS + K * Q,
            "previous-only": K * S + (K - 1) * Q,
            "reads-are-pairs": causal(S, K * Q),
        },
    ),
    "extra_launches": expression(K - 1, {"launches-total": K}),
    "extra_time": expression(
        EXTRA,
        {
            "time-conserved": sp.Integer(0),
            "reads-forgotten": (K - 1) * LAUNCH,
            "launch-forgotten": (READS - S) * READ,
            "whole-reads-nothing": (
                (K - 1) * LAUNCH + READS * READ,
                K * LAUNCH + READS * READ,
                (K - 1) * LAUNCH + (READS + K * Q) * READ,
            ),
            "own-block": EXTRA + K * Q * READ,
            "launches-total": EXTRA + LAUNCH,
            "sign": -EXTRA,
            "only-initial": (K - 1) * (LAUNCH + S * READ),
            "history-forgotten": EXTRA + PAIR * (K * causal(S, Q) - causal(S, K * Q)),
        },
    ),
    "conserved": conserved,
    "work": work,
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "e": (
        "1 分：写明第 2 块的历史，由此两块之和与不分块相等；把前 k 块看成一块，"
        "再用两块的结论接上第 k + 1 块，归纳得任意分法都守恒。1 分：配对数按查询逐个计，"
        "历史读取按块计：每多一块就把此前的位置重读一遍，另多一次启动。1 分："
        "由配对守恒对时间推不出任何结论：搬运与启动增加，单位配对的速度又随块的形状变化；"
        "c 的线性模型只是假设，总时间要实测。"
    ),
}
