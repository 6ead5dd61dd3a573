"""Words of the derivations beyond the chapter."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "pollaczek_khinchine": {
        "title": ("本章之外：任意服务时间的平均等待", "Beyond the chapter: mean wait for any service time"),
        "conditions": (
            "泊松到达、一个服务台、独立同分布的服务时间、先到先服务，$\\rho<1$。",
            "Poisson arrivals, one server, independent services of one law, FCFS, $\\rho<1$.",
        ),
        "left": (
            "一次长 $s$ 的服务，剩余时间从 $s$ 降到 0。",
            "A service of length $s$ has between $s$ and 0 left.",
        ),
        "triangle": ("面积是三角形。", "The area is a triangle."),
        "residual": (
            "按时间平均：长的服务更容易碰上。",
            "Averaged over time: long services are met more often.",
        ),
        "rho": ("服务台忙的概率。", "How likely the server is busy."),
        "work": (
            "要等的是：前面排队者的服务，加上正在服务者的剩余。",
            "The wait: the services queued ahead, and what is left of the one in progress.",
        ),
        "little": ("排队人数也服从 Little 关系。", "Little's law for the queue."),
        "put": ("代入。", "Put it in."),
        "load": ("代入利用率。", "Put in utilisation."),
        "again": ("代入剩余时间。", "Put in the remainder."),
        "solved": ("解出平均等待。", "Solve for the mean wait."),
        "formula": (
            "均值相同，服务时间越分散，等得越久。",
            "At the same mean, more varied services wait longer.",
        ),
    },
    "erlang_c": {
        "title": (
            "本章之外：多个服务台，要等的概率（Erlang C）",
            "Beyond the chapter: many servers, the chance of a wait (Erlang C)",
        ),
        "conditions": (
            "泊松到达、$c$ 个服务台、独立的指数服务时间，$\\lambda<c\\mu$。",
            "Poisson arrivals, $c$ servers, independent exponential services, $\\lambda<c\\mu$.",
        ),
        "offered": ("平均有多少服务台在忙。", "How many servers are busy on average."),
        "balance": ("不满时：$n+1$ 个同时服务。", "Not yet full: $n+1$ are served at once."),
        "next": ("解出下一个。", "Solve for the next."),
        "ratio": ("换个写法。", "In terms of the offered load."),
        "few": ("从 $\\pi_0$ 乘起，到 $n=c$ 为止。", "Multiplied up from $\\pi_0$, as far as $n=c$."),
        "at_c": ("刚好坐满。", "Just full."),
        "rho": ("利用率：每台平均忙多少。", "Utilisation: how busy each server is."),
        "full": ("坐满以后，完成率固定是 $c\\mu$。", "Once full, services end at rate $c\\mu$."),
        "on": ("解出下一个。", "Solve for the next."),
        "by_rho": ("此后每多一个乘 $\\rho$。", "From here each one multiplies by $\\rho$."),
        "many": ("几何下降。", "A geometric fall."),
        "waits": ("看到坐满的人都要等。", "Who finds all servers busy waits."),
        "put": ("代入。", "Put it in."),
        "closed": ("几何级数。", "A geometric series."),
        "tail": ("代入坐满的概率。", "Put in the probability of just full."),
        "all": ("不满与满，概率合计为 1。", "Not full and full make 1."),
        "all_put": ("代入两部分。", "Put in both."),
        "empty": ("解出 $\\pi_0$。", "Solve for $\\pi_0$."),
        "erlang": (
            "Erlang C。和式留着，不必化成特殊函数。",
            "Erlang C. The sum stays a sum; no special function is needed.",
        ),
        "single": ("只有一台时，就是 $\\rho$。", "With one server it is $\\rho$."),
    },
    "many_servers_wait": {
        "title": ("本章之外：多个服务台，等待的尾部", "Beyond the chapter: many servers, the wait's tail"),
        "conditions": ("同 Erlang C，且先到先服务。", "as for Erlang C, and FCFS."),
        "stage": (
            "全忙时，相邻两次服务结束的间隔是速率 $c\\mu$ 的指数。",
            "While all are busy, ends of service come at rate $c\\mu$.",
        ),
        "exponential": ("积出来。", "Worked out."),
        "many": ("坐满以后的概率已知。", "The probabilities from full on are known."),
        "conditional": ("看到 $c+k$ 个，要等 $k+1$ 次结束。", "Finding $c+k$ means waiting for $k+1$ ends."),
        "sum": ("代入。", "Put them in."),
        "closed": ("几何级数。", "A geometric series."),
        "rho": ("利用率的定义。", "What utilisation is."),
        "rates": ("换成速率。", "In the rates."),
        "density": (
            "0 以上的密度，速率 $c\\mu-\\lambda$。",
            "The density above 0, of rate $c\\mu-\\lambda$.",
        ),
        "tail": ("尾概率是密度的积分。", "The tail is the density's integral."),
        "put": ("代入密度。", "Put in the density."),
        "law_t": ("积出来。", "Worked out."),
        "waits": ("需要等待的概率已知。", "The probability of a wait is known."),
        "waits_rates": ("换成速率。", "In the rates."),
        "weighed": ("换个写法。", "Written differently."),
        "late": (
            "先看要不要等，再看等多久：后者仍是指数。",
            "First whether, then how long: the latter is exponential still.",
        ),
    },
}
