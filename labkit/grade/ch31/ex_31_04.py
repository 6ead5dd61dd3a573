"""Exercise 31.4: key-query pairs of a chunk, kept by any split, and history reads and launches, which are not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from labkit.grade import expressions
from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Choice, Expression, Function, Listing, Record, Whole

DOMAINS = {
    "s": "whole",
    **dict.fromkeys(("q", "r", "q1", "q2", "j", "k"), "count"),
    **dict.fromkeys(("launch", "pair", "read"), "positive"),
}
QUANTITIES = ("每个查询可见的键", "配对总数", "历史读取位置数", "启动次数", "总时间")


def _in(*symbols: str) -> Expression:
    return Expression({name: DOMAINS[name] for name in symbols})


def _at(formula: Any, **values: int) -> Fraction:
    """A student's formula at one point of whole numbers, to compare it with the student's other formulas."""
    point = {name: Fraction(value) for name, value in values.items()}
    return Fraction(float(expressions.evaluate(formula, point)))


def _grows_otherwise(answers: Given) -> bool:
    """The sum over one query more has to exceed the sum by what that query sees."""
    sums = [_at(answers["pairs"], s=5, q=q) for q in (3, 4)]
    return bool(
        sums[1] - sums[0] != _at(answers["visible"], s=5, r=4)
        or _at(answers["pairs"], s=5, q=1) != _at(answers["visible"], s=5, r=1)
    )


def _parts_differ(answers: Given) -> bool:
    return bool(
        _at(answers["history_part"], s=5, q=3) + _at(answers["new_part"], s=5, q=3)
        != _at(answers["pairs"], s=5, q=3)
    )


def _chunks_differ(answers: Given) -> bool:
    """The sum over k chunks has to be the sum of the student's own chunks."""
    chunks = [_at(answers["chunk_pairs"], s=5, q=3, j=j) for j in (1, 2)]
    return bool(sum(chunks) != _at(answers["total_pairs"], s=5, q=3, k=2))


EXERCISE = Exercise(
    id="31.4",
    title="分块预填充：守恒的与不守恒的",
    minutes=45,
    difficulty=2,
    statement="""
一条序列已有 `s` 个位置的键值，现在处理 `q` 个新位置。因果注意力下，一个查询看得见它前面的全部位置和它自己；查询每看见一个键，算一个键查询配对。

下面的公式都用已定义的符号写成 sympy 表达式，括号里是允许出现的符号。写成什么形状都行，但不要留未展开的求和号。

- **a 推导**：第 `r` 个新查询看得见的键数 `visible`（`s, r`）。对 `r = 1, …, q` 求和，把已有位置的贡献 `history_part`（`s, q`）和新位置的贡献 `new_part`（`q`）分开写，再写合计 `pairs`（`s, q`）。
- **b 分块**：把新位置分成两块，先 `q1` 个，再 `q2` 个。写出第 2 块开始时已有的位置数 `second_history`（`s, q1`），两块的配对数 `first_pairs`（`s, q1`）和 `second_pairs`（`s, q1, q2`），以及两块之和减去不分块时的配对数 `difference`（`s, q1, q2`）。再推广到 `k` 块、每块 `q` 个：第 `j` 块开始时已有的位置数 `chunk_history`（`s, q, j`），这一块的配对数 `chunk_pairs`（`s, q, j`），`k` 块合计 `total_pairs`（`s, q, k`）。
- **c 重读与时间**：约定每块启动一次，并把这一块开始时已有的位置的键值各读一次，块内的新位置不算；第 1 块读最初的 `s` 个也算在内。写出 `k` 块一共读多少个历史位置 `history_reads`（`s, q, k`），比不分块多启动几次 `extra_launches`（`k`）。再假设启动一次 `launch` 微秒，每个配对 `pair` 微秒，每读一个历史位置 `read` 微秒，总时间是它们之和：`k` 块比把这 `kq` 个位置一次处理完多花多少微秒 `extra_time`（`s, q, k, launch, pair, read`，不必全部出现）。最后用列表 `conserved` 写出无论怎样分块都不变的量，选自 `每个查询可见的键`、`配对总数`、`历史读取位置数`、`启动次数`、`总时间`。
- **d 构造**：写函数 `work(s, chunks)`，`chunks` 是各块的新位置数（正整数，至少一块，各块可以不等长）。按 c 的约定返回字典 `{{"pairs": …, "history_reads": …, "extra_launches": …}}`，都是整数。
- **e 解释**：怎样从两块的结论归纳到任意 `k` 块？配对总数与历史读取为什么不同？由配对守恒能对真实的总时间下什么结论？

可以用 Python 标准库、numpy 和 sympy，不能用 labkit。
""",
    misconceptions={
        "self-excluded": Misconception("新查询也看得见它自己这个位置的键。", "31.3"),
        "future-keys": Misconception(
            "因果掩码下，新查询看不见排在它后面的新位置，新位置之间不是完整的方阵。", "31.3"
        ),
        "history-only": Misconception("新查询还看得见排在它前面的新位置和它自己，不只是已有的位置。", "31.3"),
        "parts-do-not-add": Misconception("合计应当等于自己写的两部分之和。", "31.3"),
        "sum-mismatch": Misconception("合计与逐个的式子不一致：多一项时，合计的增量应当就是那一项。", "31.3"),
        "history-forgotten": Misconception(
            "后面的块还要看前面各块留下的位置，历史不再是最初那么长。", "31.3"
        ),
        "initial-forgotten": Misconception("最初已有的位置对后面的块仍是历史。", "31.3"),
        "own-block": Misconception("一块自己的新位置不算这一块的历史。", "31.3"),
        "chunk-index": Misconception("第 1 块之前没有别的块，块的编号差了一。", "31.3"),
        "not-derived": Misconception(
            "这个差不是由自己写的两块算出来的：代入前面两式，再减不分块的配对数。", "31.3"
        ),
        "only-initial": Misconception("后面的块还要重读前面各块留下的位置，不只是最初的那些。", "31.3"),
        "initial-once": Misconception("最初的位置每一块都要重读，不是只读一次。", "31.3"),
        "previous-only": Misconception("每块重读此前的全部位置，不只是紧邻的前一块。", "31.3"),
        "first-not-counted": Misconception("按约定，第 1 块读最初的位置也算在内。", "31.3"),
        "reads-are-pairs": Misconception(
            "一个历史位置每块读一次，供块内全部查询使用；读取次数不是配对数。", "31.3"
        ),
        "launches-total": Misconception("要的是比不分块多出的启动次数，不分块也要启动一次。", "31.3"),
        "time-conserved": Misconception("配对总数不变，推不出总时间不变：分块增加了历史读取和启动。", "31.3"),
        "reads-conserved": Misconception("历史读取和启动随块数变化，守恒的不是它们。", "31.3"),
        "context-changes": Misconception("分块只改变执行时序，不改变任何查询看得见的键。", "31.3"),
        "reads-forgotten": Misconception("除了启动，重读历史也花时间。", "31.3"),
        "launch-forgotten": Misconception("除了重读历史，多出的启动也花时间。", "31.3"),
        "whole-reads-nothing": Misconception("一次处理完也要读最初的位置、启动一次，作差时要减去。", "31.3"),
        "sign": Misconception("差的方向反了，看清谁减谁。", "31.3"),
        "equal-chunks": Misconception("各块可以不等长，不能拿某一块或平均的长度代替每一块。", "31.3"),
    },
    parts=(
        Part(
            "a",
            "derive",
            "31.3",
            answers=(
                Answer("visible", _in("s", "r")),
                Answer("history_part", _in("s", "q")),
                Answer("new_part", _in("q")),
                Answer("pairs", _in("s", "q"), points=2),
            ),
            hints=(
                Hint("self-excluded", lambda a, g: _at(a["visible"], s=5, r=1) == 5),
                Hint("parts-do-not-add", lambda a, g: _parts_differ(a)),
                Hint("sum-mismatch", lambda a, g: _grows_otherwise(a)),
            ),
        ),
        Part(
            "b",
            "derive",
            "31.3",
            answers=(
                Answer("second_history", _in("s", "q1")),
                Answer("first_pairs", _in("s", "q1")),
                Answer("second_pairs", _in("s", "q1", "q2")),
                Answer("difference", _in("s", "q1", "q2")),
                Answer("chunk_history", _in("s", "q", "j")),
                Answer("chunk_pairs", _in("s", "q", "j")),
                Answer("total_pairs", _in("s", "q", "k")),
            ),
            hints=(
                Hint("history-forgotten", lambda a, g: "q1" not in expressions.names(a["second_history"])),
                Hint("history-forgotten", lambda a, g: "q1" not in expressions.names(a["second_pairs"])),
                Hint("chunk-index", lambda a, g: _at(a["chunk_history"], s=5, q=3, j=1) > 5),
                Hint(
                    "sum-mismatch",
                    lambda a, g: (
                        _chunks_differ(a)
                        or _at(a["chunk_pairs"], s=5, q=3, j=1) != _at(a["first_pairs"], s=5, q1=3)
                        or _at(a["chunk_pairs"], s=5, q=3, j=2) != _at(a["second_pairs"], s=5, q1=3, q2=3)
                    ),
                ),
            ),
        ),
        Part(
            "c",
            "derive",
            "31.3",
            answers=(
                Answer("history_reads", _in("s", "q", "k"), points=2),
                Answer("extra_launches", _in("k")),
                Answer("extra_time", _in("s", "q", "k", "launch", "pair", "read"), points=2),
                Answer("conserved", Listing(Choice(QUANTITIES))),
            ),
            hints=(
                Hint("only-initial", lambda a, g: "q" not in expressions.names(a["history_reads"])),
                Hint("launches-total", lambda a, g: _at(a["extra_launches"], k=1) != 0),
                # One chunk is the whole prompt at once: nothing can be extra.
                Hint(
                    "whole-reads-nothing",
                    lambda a, g: _at(a["extra_time"], s=5, q=3, k=1, launch=2, pair=3, read=7) != 0,
                ),
                Hint("time-conserved", lambda a, g: "总时间" in a["conserved"]),
            ),
        ),
        Part(
            "d",
            "build",
            "31.3",
            answers=(
                Answer(
                    "work",
                    Function(
                        Record(dict.fromkeys(("pairs", "history_reads", "extra_launches"), Whole())),
                        example=(4, [2, 3, 1]),
                    ),
                    points=4,
                ),
            ),
            hints=(
                Hint("launches-total", lambda a, g: a["work"](5, [7])["extra_launches"] != 0),
                # The law that the exercise is about, on the student's own function.
                Hint(
                    "history-forgotten",
                    lambda a, g: a["work"](5, [3, 4])["pairs"] != a["work"](5, [7])["pairs"],
                ),
                Hint(
                    "equal-chunks",
                    lambda a, g: (
                        a["work"](5, [3, 4])["history_reads"] == a["work"](5, [4, 3])["history_reads"]
                    ),
                ),
            ),
        ),
        Part(
            "e",
            "explain",
            "31.3",
            manual=3,
        ),
    ),
)
