"""Words of the derivations on buffers, bursts, and recompute against swap."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "buffer": {
        "title": ("输出缓冲：填满、排空与高水位", "Output buffer: fill, drain and high-water mark"),
        "conditions": ("流体近似，速率不变，$r_g>r_c$。", "a fluid at constant rates, $r_g>r_c$."),
        "level": ("积压是净流入的积分。", "The backlog is the net inflow, integrated."),
        "line": ("速率不变，就是一条直线。", "At constant rates it is a line."),
        "at_full": ("在填满的时刻。", "At the moment of filling."),
        "full": ("此时积压等于容量。", "There the backlog is the capacity."),
        "equal": ("两式相等。", "Both are the same."),
        "fill": ("解出填满时间。", "Solve for the time to fill."),
        "fill_asked": ("64 KiB，每秒进 12、出 4：8 秒。", "64 KiB, 12 in and 4 out a second: 8 s."),
        "empty": ("停止生成后，只出不进，直到空。", "With generation stopped it only drains, until empty."),
        "drain": ("解出排空时间。", "Solve for the time to drain."),
        "drain_asked": ("同一个缓冲要 16 秒。", "The same buffer takes 16 s."),
        "overflow": (
            "满了才暂停，在途的一轮仍会写入。",
            "Paused only at the top, the round in flight still writes.",
        ),
        "over": ("这就是溢出量。", "That is what overflows."),
        "margin": ("所以要留出这么多余地。", "So leave that much room."),
        "put": ("代入溢出量。", "Put in the overflow."),
        "mark": ("到这条高水位就暂停，不会溢出。", "Pause at this high-water mark and nothing overflows."),
        "mark_asked": ("轮时四分之一秒：高水位 62 KiB。", "With rounds of a quarter second: 62 KiB."),
    },
    "burst": {
        "title": ("突发留下多少积压，何时消退", "What a burst leaves behind, and when it is gone"),
        "conditions": (
            "流体近似，没有随机波动；$\\lambda_b>\\mu_b>\\lambda_0$，$d<\\tau$。",
            "a fluid, nothing random; $\\lambda_b>\\mu_b>\\lambda_0$, $d<\\tau$.",
        ),
        "growth": (
            "流体近似：积压按速率之差增长。",
            "As a fluid: backlog grows with the difference of rates.",
        ),
        "backlog": ("乘以突发时长。", "Times the length of the burst."),
        "backlog_asked": ("每秒 30 进 20 出，6 秒：积压 60 个。", "30 in, 20 out, for 6 s: a backlog of 60."),
        "emptied": ("之后靠富余的服务率消化。", "Afterwards the spare rate works it off."),
        "equal": ("两式相等。", "Both are the same."),
        "clear": ("解出消退时间。", "Solve for the time to clear."),
        "clear_asked": (
            "之后每秒 15 进：要 12 秒，是突发的两倍。",
            "With 15 in afterwards: 12 s, twice the burst.",
        ),
        "loading": ("扩容还在加载时，一个也不多做。", "Capacity that is still loading serves nothing."),
        "live": ("生效之后才按新速率。", "Only once live does the new rate count."),
        "saved": (
            "与不扩容相比，只省下生效之后的部分。",
            "Against no order, only the time once live is gained.",
        ),
        "less": ("省下的量。", "What is gained."),
        "late_asked": ("第 4 秒才生效：60 只降到 50。", "Live at second 4: 60 becomes 50, no less."),
    },
    "crossover": {
        "title": ("重算还是换出：分界点", "Recompute or swap: where they meet"),
        "conditions": (
            "重算与位置数成正比，$r>2\\beta/b$。受害者的页不与他人共享。",
            "recompute grows with positions, $r>2\\beta/b$; the victim shares no page.",
        ),
        "recompute": ("重算与位置数成正比。", "Recompute grows with the positions."),
        "swap": ("换出再换入，两趟传输加一次同步。", "Out and back in: two transfers and a synchronisation."),
        "even": ("分界点上两者相等。", "At the crossover both cost the same."),
        "costs": ("代入两个成本。", "Put in both costs."),
        "crossover": ("更短的重算，更长的换出。", "Recompute what is shorter, swap what is longer."),
        "asked": (
            "每个位置重算 1 ms、64 KiB，链路 625 MiB/s，同步 32 ms：40 个位置。",
            "1 ms and 64 KiB a position, a link of 625 MiB/s, 32 ms to synchronise: 40 positions.",
        ),
    },
    "crossover_shift": {
        "title": ("什么会移动重算与换出的分界点", "What moves the crossover of recompute and swap"),
        "conditions": ("同上，且分母为正。", "as above, with a positive denominator."),
        "burdened": (
            "链路由 $k$ 个共用，一部分传输被遮住，恢复还占设备。",
            "The link is shared by $k$, part of the transfer is hidden, and the return takes device time.",
        ),
        "shifted": ("解出新的分界点。", "Solve for the new crossover."),
        "contention": (
            "链路越挤，分界点越高：重算更合算。",
            "A busier link raises it: recompute pays longer.",
        ),
        "overlap": ("遮住的越多，分界点越低。", "More overlap lowers it."),
        "return": ("恢复占用设备，也抬高分界点。", "Device time on return raises it too."),
        "alone": (
            "独占、不遮、不占用，就回到原来的分界点。",
            "Alone, nothing hidden, no device time: the old crossover.",
        ),
    },
}
