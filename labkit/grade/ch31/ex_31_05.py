"""Exercise 31.5: two more tokens each, and what they cost in whole pages."""

from __future__ import annotations

import random
from fractions import Fraction

from labkit.grade.exercise import Answer, Exercise, Given, Hint, Misconception, Part
from labkit.grade.forms import Function, Listing, Number, Record, Whole, near

KIB = Number("KiB")
MIB = Number("MiB")
COUNTS = Listing(Whole(), 2)


def draw(rng: random.Random) -> Given:
    """Other sizes: the first request stays inside its last page, the second crosses into a new one."""
    page, more = rng.choice([8, 16, 32]), 2
    return {
        "lengths": [
            page * rng.randint(3, 20) + rng.randint(1, page - more),
            page * rng.randint(3, 20) - rng.randint(1, more - 1),
        ],
        "more": more,
        "page_tokens": page,
        "token_kib": rng.choice([32, 64, 128, 160]),
    }


EXERCISE = Exercise(
    id="31.5",
    title="再生成两个词元要多少页",
    minutes=20,
    difficulty=1,
    statement="""
KV 缓存按整页分配：一页 {page_tokens} 个位置，每个位置 {token_kib} KiB，不同请求不共用一页。两个活动请求已缓存的位置数依次为 {lengths}，现在各再生成 {more} 个词元。本题约定每个新词元都写入缓存，占一个新位置；位置和页都从 1 开始编号。1 MiB 是 1024 KiB。

- **a 计算**：各列表按请求的次序写。增长后的位置数 `lengths_after`；增长前、后各占的页数 `pages_before`、`pages_after`；每个新位置落在本请求的第几页 `page_of_new`（两个列表组成的列表，每个列表 {more} 项）；两个请求合计新增的页数 `new_pages`，这些页的大小 `allocated_mib`（MiB），新词元本身的数据量 `payload_kib`（KiB）。
- **b 推广**：写函数 `grow(lengths, more, page_tokens, token_kib)`。`lengths` 和 `more` 是等长的整数列表，是各请求已缓存的位置数和新增的位置数，都可以是 0；没有位置就没有页，列表也可以为空。返回字典：增长后各请求的页数 `pages`，各请求最后一页还空着的位置数 `room`，合计新增页数 `new_pages`，新分配的 `allocated_kib`，新数据量 `payload_kib`。
- **c 解释**：为什么同样多一个词元，有的请求不花一页，有的要花一整页？这对“还能不能再接纳一点”的判断有什么影响？

页数是整数；其余数值的相对误差不超过十亿分之一即可。可以用 Python 标准库、numpy 和 sympy，不可以用 labkit 的分页模块。
""",
    given={"lengths": [257, 255], "more": 2, "page_tokens": 16, "token_kib": 64},
    notes={
        "lengths": "两个请求已缓存的位置数",
        "more": "每个请求新生成的词元数",
        "page_tokens": "一页的位置数",
        "token_kib": "每个位置的缓存，KiB",
    },
    draw=draw,
    misconceptions={
        "pages-by-bytes": Misconception("分配以整页为单位，不按新词元的字节数分配。", "31.3"),
        "pooled": Misconception(
            "先把各请求的长度相加再取整了。不同请求不共用一页，要逐个取整再相加。", "31.3"
        ),
        "floor": Misconception("页数向下取整了。最后不满的一页也要分配。", "31.3"),
        "too-few": Misconception("这么多页放不下题中说的位置。", "31.3"),
        "plus-one": Misconception("位置数正好填满各页时，没有多出的一页。", "31.3"),
        "always-new": Misconception("新位置先填最后一页的空位，填满了才要新页。", "31.3"),
        "never-new": Misconception("有请求的新位置超出了最后一页，那里需要新页。", "31.3"),
        "total": Misconception("问的是增长带来的新页，不是增长后的全部页。", "31.3"),
        "one-step": Misconception("每个请求只算了一个新词元。", "31.3"),
        "last-not-cached": Misconception(
            "少算了一个位置。题中的长度是已缓存的位置数，最后一个词元也在里面。", "31.3"
        ),
        "room-full": Misconception("最后一页恰好填满时，空位数是 0，不是一整页。", "31.3"),
        "unit": Misconception("MiB 与 KiB 相差 1024 倍。", "31.3"),
    },
    parts=(
        Part(
            "a",
            "compute",
            "31.3",
            answers=(
                Answer("lengths_after", COUNTS),
                Answer("pages_before", COUNTS),
                Answer("pages_after", COUNTS),
                Answer("page_of_new", Listing(Listing(Whole()), 2)),
                Answer("new_pages", Whole()),
                Answer("allocated_mib", MIB),
                Answer("payload_kib", KIB),
            ),
            hints=(
                Hint("one-step", lambda a, g: a["lengths_after"] == [n + 1 for n in g["lengths"]]),
                Hint(
                    "too-few",
                    lambda a, g: any(
                        pages * g["page_tokens"] < length
                        for pages, length in zip(a["pages_before"], g["lengths"], strict=True)
                    ),
                ),
                Hint(
                    "total",
                    lambda a, g: a["new_pages"] == sum(a["pages_after"]) > sum(a["pages_before"]) > 0,
                ),
                Hint("unit", lambda a, g: a["allocated_mib"] >= 64 * a["new_pages"] > 0),
                Hint("pages-by-bytes", lambda a, g: near(1024 * a["allocated_mib"], a["payload_kib"])),
            ),
        ),
        Part(
            "b",
            "build",
            "31.3",
            answers=(
                Answer(
                    "grow",
                    Function(
                        Record(
                            {
                                "pages": Listing(Whole()),
                                "room": Listing(Whole()),
                                "new_pages": Whole(),
                                "allocated_kib": KIB,
                                "payload_kib": KIB,
                            }
                        ),
                        example=([5, 12, 7], [1, 0, 3], 4, 2),
                    ),
                    points=4,
                ),
            ),
            hints=(
                Hint("plus-one", lambda a, g: a["grow"]([8], [0], 4, 2)["pages"] == [3]),
                Hint("floor", lambda a, g: a["grow"]([7], [0], 4, 2)["pages"] == [1]),
                Hint(
                    "pages-by-bytes",
                    # One position more, at the edge of a page: less than a page of bytes cannot be a page.
                    lambda a, g: 0 < Fraction(a["grow"]([8], [1], 4, 2)["allocated_kib"]) < 8,
                ),
            ),
        ),
        Part(
            "c",
            "explain",
            "31.3",
            manual=2,
        ),
    ),
)
