"""Words of the derivations on one request's times, padding, chunks and pages."""

from __future__ import annotations

from collections.abc import Mapping

_PADDED = {
    "useful": ("有用的部分：把各条序列的量加起来。", "What is useful: add up what each sequence needs."),
    "drawn": ("填充之后，每条都按最长的算。", "After padding each one counts as the longest."),
    "padded": ("同一个数加 $n$ 次。", "The same number, $n$ times."),
    "ratio": ("利用率是两者之比。", "Utilisation is the ratio of the two."),
    "formula": ("代入两个和。", "Put in both sums."),
}

WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "last_token": {
        "title": (
            "最后一个词元何时到：TTFT 与 TPOT 就够了",
            "When the last token arrives: TTFT and TPOT suffice",
        ),
        "ttft": (
            "首词元时延从到达算到第一个词元，排队已在其中。",
            "TTFT runs from arrival to the first token; any queueing is inside.",
        ),
        "gap": (
            "相邻两个词元之差是词元间时延。",
            "The gap between neighbouring tokens is the inter-token latency.",
        ),
        "mean": (
            "TPOT 是这些间隔的平均，共 $O-1$ 个，$O\\ge2$。",
            "TPOT is the mean of those gaps: $O-1$ of them, $O\\ge2$.",
        ),
        "put": ("把间隔写成时刻之差。", "Write the gaps as differences of moments."),
        "tpot": ("中间的时刻两两抵消，只剩首尾。", "The moments in between cancel; first and last remain."),
        "span": ("乘回 $O-1$，得到首尾相距多久。", "Multiply by $O-1$: how far first and last lie apart."),
        "last": ("起点从首词元移到到达。", "Count from arrival instead of the first token."),
        "identity": (
            "最后一个词元的时延由两个指标完全确定；再加 W 就多算了。",
            "Two figures fix the last token's latency; adding W again would count it twice.",
        ),
    },
    "padded_linear": {
        "title": ("填充利用率：线性层", "Padded utilisation: linear layers"),
        **_PADDED,
        "asked": (
            "习题 31.3：长度 64、64、256，只有一半位置有用。",
            "Exercise 31.3: lengths 64, 64, 256; half of the positions are useful.",
        ),
    },
    "padded_attention": {
        "title": ("填充利用率：完整的平方注意力", "Padded utilisation: full square attention"),
        **_PADDED,
        "asked": ("习题 31.3：平方之后更低，八分之三。", "Exercise 31.3: lower once squared, three eighths."),
    },
    "pair_count": {
        "title": ("一块要算多少键查询配对", "How many key–query pairs a chunk makes"),
        "rows": (
            "第 $r$ 个新查询看得见 $s+r$ 个键，逐行相加。",
            "New query $r$ sees $s+r$ keys; add row by row.",
        ),
        "closed": ("前一项是 $q$ 份 $s$，后一项是三角形数。", "$q$ times $s$, and a triangular number."),
        "first": ("512 个词元的第一块，前面没有历史。", "A first chunk of 512 tokens, with no history."),
        "last": (
            "同样 512 个词元，排在 32,768 词元提示的末尾。",
            "The same 512 tokens at the end of a prompt of 32,768.",
        ),
        "ratio": (
            "新词元一样多，配对约为 127 倍：预算只数词元不够。",
            "As many new tokens, some 127 times the pairs: counting tokens alone is no budget.",
        ),
    },
    "two_chunks": {
        "title": ("拆成两块，配对总数不变", "Split in two: the pairs are conserved"),
        "closed": ("已知一块的配对数。", "The pairs of one chunk are known."),
        "first": ("第一块的历史是 $s$。", "The first chunk's history is $s$."),
        "second": ("第二块的历史是 $s+q_1$。", "The second chunk's history is $s+q_1$."),
        "together": ("不拆时，一次算 $q_1+q_2$ 个。", "Unsplit: $q_1+q_2$ at once."),
        "kept": ("展开后恰是两块之和。", "Multiplied out, it is the sum of the two."),
        "conserved": (
            "所以配对守恒。搬运和启动次数不在此列。",
            "So pairs are conserved. Traffic and launches are another matter.",
        ),
    },
    "any_split": {
        "title": ("随便拆成几块，配对总数都不变", "Any split into k chunks conserves the pairs"),
        "lengths": ("前 $k$ 块一共 $Q_k$ 个新位置。", "The first $k$ chunks hold $Q_k$ new positions."),
        "grow": ("多一块，多 $q_{k+1}$ 个。", "One chunk more adds $q_{k+1}$."),
        "closed": ("已知一块的配对数。", "The pairs of one chunk are known."),
        "next": ("下一块的历史是 $s+Q_k$。", "The next chunk's history is $s+Q_k$."),
        "put": ("代入一块的公式。", "Put in the formula of one chunk."),
        "one": ("还没有块时，配对是 0。", "No chunk, no pair."),
        "empty": ("位置也是 0。", "And no position."),
        "conserved": (
            "对块数归纳：总数只看 $s$ 和 $Q_k$，不看怎么拆。",
            "By induction over chunks: the total depends on $s$ and $Q_k$, not on the split.",
        ),
    },
    "rereads": {
        "title": ("块越小，历史重读得越多", "Smaller chunks re-read more history"),
        "history": (
            "第 $j$ 块之前已有 $s+qj$ 个位置，每块都要读一遍。",
            "Before chunk $j$ there are $s+qj$ positions, and each chunk reads them.",
        ),
        "closed": ("相加：随块数平方增长。", "Added up: it grows with the square of the number of chunks."),
        "launches": ("启动也多了 $k-1$ 次。", "And $k-1$ more launches."),
        "halved": (
            "同样的块再多一倍，重读不止翻倍。",
            "Twice as many such chunks read more than twice as much.",
        ),
    },
    "live_pages": {
        "title": ("驻留多少物理页，预算容得下多少", "How many pages are live, and how many fit"),
        "owned": ("共享的 $k$ 页，加上两条序列各自的页。", "The $k$ shared pages, and each sequence's own."),
        "once": (
            "等于各自的页数之和减去 $k$：共享页只算一次。",
            "The sum of both, less $k$: a shared page counts once.",
        ),
        "cached": ("长度 257 和 255、每页 16：33 页。", "Lengths 257 and 255, pages of 16: 33 pages."),
        "decoded": ("各解码一步，还是 33 页。", "One decode each: still 33."),
        "two_more": ("再多一步，第二条跨过 256，34 页。", "One more, and the second crosses 256: 34."),
        "budget": ("扣掉工作区，够放几页取整。", "Net of workspace, whole pages only."),
        "fit": ("64 MiB、每页 1 MiB：64 页。", "64 MiB in pages of 1 MiB: 64."),
    },
}
