"""Words of the derivations on M/M/1."""

from __future__ import annotations

from collections.abc import Mapping

_STAGES = {
    "stage": (
        "一次指数服务的变换，按定义是积分。",
        "The transform of one exponential service is, by definition, an integral.",
    ),
    "exponential": (
        "积出来。无记忆性使正在服务者也是这样。",
        "Worked out. Memorylessness makes it hold for the one in service too.",
    ),
    "pasta": ("到达者看到的就是稳态分布（PASTA）。", "Arrivals find the stationary law (PASTA)."),
    "law": ("稳态分布已知。", "The stationary law is known."),
    "sum": ("代入。", "Put them in."),
    "closed": ("几何级数。", "A geometric series."),
    "rho": ("利用率的定义。", "What utilisation is."),
    "put": ("代入密度。", "Put in the density."),
    "level": ("p99：超过它的只有百分之一。", "The 99th percentile is exceeded by one in a hundred."),
    "equation": ("尾概率在该点取值。", "The tail there."),
    "equal": ("两式相等。", "Both are the same."),
}

WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "stationary_law": {
        "title": ("M/M/1：从流平衡到平均人数", "M/M/1: from flow balance to the mean number"),
        "conditions": (
            "泊松到达、一个服务台、独立的指数服务时间、等待空间无限、无人放弃，$\\lambda<\\mu$。",
            (
                "Poisson arrivals, one server, independent exponential services, "
                "unlimited room, nobody gives up, $\\lambda<\\mu$."
            ),
        ),
        "empty": ("空闲状态：流出等于流入。", "The empty state: flow out is flow in."),
        "state": ("每个状态也是如此。", "So for every other state."),
        "balance": ("逐个相加，相邻两个状态之间就平衡了。", "Added one by one: any two neighbours balance."),
        "rho": ("利用率的定义。", "What utilisation is."),
        "next": ("解出下一个。", "Solve for the next one."),
        "ratio": ("每多一个请求，概率乘 $\\rho$。", "Each further request multiplies by $\\rho$."),
        "power": ("从 $\\pi_0$ 乘起。", "Multiplied up from $\\pi_0$."),
        "all": ("概率之和是 1。", "Probabilities add up to 1."),
        "put": ("代入。", "Put it in."),
        "geometric": ("几何级数，要求 $\\rho<1$。", "A geometric series, for $\\rho<1$."),
        "idle": ("解出空闲概率。", "Solve for the idle probability."),
        "law": ("稳态分布是几何分布。", "The stationary law is geometric."),
        "mean": ("平均人数的定义。", "What the mean number is."),
        "mean_put": ("代入分布。", "Put in the law."),
        "inside": ("$\\rho$ 靠近 1 时发散。", "It grows without bound as $\\rho$ nears 1."),
    },
    "waiting_number": {
        "title": ("M/M/1：平均等待人数", "M/M/1: the mean number waiting"),
        "conditions": (
            "泊松到达、一个服务台、独立的指数服务时间、等待空间无限、无人放弃，$\\lambda<\\mu$。",
            (
                "Poisson arrivals, one server, independent exponential services, "
                "unlimited room, nobody gives up, $\\lambda<\\mu$."
            ),
        ),
        "law": ("稳态分布已知。", "The stationary law is known."),
        "mean": ("有 $n+1$ 个在内，就有 $n$ 个在等。", "With $n+1$ inside, $n$ wait."),
        "put": ("代入分布。", "Put in the law."),
        "waiting": ("求和。", "Sum it."),
        "inside": ("平均人数已知。", "The mean number inside is known."),
        "less": ("换个写法。", "Written differently."),
        "busy": (
            "比系统内人数少 $\\rho$：服务台平均只有 $\\rho$ 个人，不是 1 个。",
            "Less than the number inside by $\\rho$, not by 1: the server holds $\\rho$ on average.",
        ),
    },
    "mean_times": {
        "title": ("M/M/1：平均逗留与平均等待", "M/M/1: mean sojourn and mean wait"),
        "conditions": (
            "与 M/M/1 的平均人数相同；不要求先到先服务，处理器共享也成立。",
            "as for the mean number of M/M/1; not FCFS alone, processor sharing too.",
        ),
        "inside": ("平均人数已知。", "The mean number inside is known."),
        "little": ("Little 关系。", "Little's law."),
        "solved": ("解出平均逗留时间。", "Solve for the mean sojourn."),
        "put": ("代入平均人数。", "Put in the mean number."),
        "rho": ("利用率的定义。", "What utilisation is."),
        "rates": ("换成两个速率。", "In the two rates."),
        "sojourn": ("化简：只看两个速率之差。", "Simplified: only the difference of the rates matters."),
        "parts": ("等待是逗留减去一次服务。", "The wait is the sojourn less one service."),
        "service": ("代入。", "Put it in."),
        "common": ("通分。", "Over one denominator."),
        "wait": ("等待是逗留的 $\\rho$ 倍。", "The wait is $\\rho$ times the sojourn."),
        "sojourn_80": ("λ = 80：平均逗留 50 毫秒。", "λ = 80: mean sojourn 50 ms."),
        "sojourn_95": ("λ = 95：200 毫秒。", "λ = 95: 200 ms."),
        "wait_80": ("其中等待 40 毫秒。", "Of which 40 ms are waiting."),
        "wait_95": ("其中等待 190 毫秒。", "Of which 190 ms are waiting."),
    },
    "price": {
        "title": ("推向饱和的代价", "The price of saturation"),
        "conditions": (
            "泊松到达、一个服务台、独立的指数服务时间、等待空间无限、无人放弃，$\\lambda<\\mu$。",
            (
                "Poisson arrivals, one server, independent exponential services, "
                "unlimited room, nobody gives up, $\\lambda<\\mu$."
            ),
        ),
        "mean": ("平均逗留时间。", "The mean sojourn time."),
        "slope": (
            "多一点负载，要多等多少：余量越小越陡。",
            "What a little more load costs: steeper as the gap closes.",
        ),
        "quarter": ("余量 $\\mu-\\lambda$ 缩到四分之一。", "Cut the gap $\\mu-\\lambda$ to a quarter."),
        "fourfold": ("平均逗留就是四倍。", "The mean is fourfold."),
        "asked": ("λ 从 80 到 95，正是这样。", "From λ = 80 to 95 it is just that."),
        "growth": ("负载增加的比例。", "By what share the load grows."),
        "load": ("负载只多了 18.75%。", "The load grows by 18.75 % only."),
    },
    "pasta": {
        "title": ("到达者看到的是稳态分布（PASTA）", "Arrivals find the stationary law (PASTA)"),
        "conditions": (
            "到达与系统状态无关（泊松到达）。",
            "arrivals that do not depend on the state (Poisson).",
        ),
        "all": ("各状态下的到达流之和。", "Arrivals from all states together."),
        "stationary": ("概率之和是 1。", "Probabilities add up to 1."),
        "rate": (
            "两边乘 $\\lambda$：到达率不因状态而变。",
            "Times $\\lambda$: the rate does not depend on the state.",
        ),
        "arrivals": ("所以总到达流就是 $\\lambda$。", "So all arrivals come at rate $\\lambda$."),
        "share": (
            "看到 $n$ 个的到达者，占 $\\lambda\\pi_n$ 这一份。",
            "Those who find $n$ are the share $\\lambda\\pi_n$.",
        ),
        "pasta": ("$\\lambda$ 约掉，剩下 $\\pi_n$。", "$\\lambda$ cancels; $\\pi_n$ remains."),
    },
    "sojourn_law": {
        "title": ("M/M/1：逗留时间的分布与 p99", "M/M/1: the sojourn's law and its p99"),
        "conditions": (
            "泊松到达、一个服务台、独立的指数服务时间、先到先服务、等待空间无限、无人放弃，$\\lambda<\\mu$。",
            (
                "Poisson arrivals, one server, independent exponential services, FCFS, "
                "unlimited room, nobody gives up, $\\lambda<\\mu$."
            ),
        ),
        **_STAGES,
        "conditional": (
            "看到 $n$ 个，就要经过 $n+1$ 次独立的服务。",
            "Finding $n$ means $n+1$ independent services.",
        ),
        "rates": ("换成速率，形式是一个指数分布。", "In the rates: the form of one exponential."),
        "density": (
            "只有一个分布有这个变换：速率 $\\mu-\\lambda$ 的指数分布。",
            "One law alone has this transform: the exponential of rate $\\mu-\\lambda$.",
        ),
        "tail": ("尾概率是密度从 $t$ 起的积分。", "The tail is the density's integral from $t$ on."),
        "law_t": ("逗留时间的尾部按指数下降。", "The sojourn's tail falls exponentially."),
        "quantile": ("取对数。p99 是平均值的 4.6 倍。", "Take logarithms. The p99 is 4.6 times the mean."),
        "p99_80": ("λ = 80：约 230 毫秒。", "λ = 80: about 230 ms."),
        "p99_95": ("λ = 95：约 921 毫秒。", "λ = 95: about 921 ms."),
    },
    "wait_law": {
        "title": (
            "M/M/1：等待另有分布，在 0 处有一团",
            "M/M/1: the wait has a law of its own, with an atom at 0",
        ),
        "conditions": (
            "泊松到达、一个服务台、独立的指数服务时间、先到先服务、等待空间无限、无人放弃，$\\lambda<\\mu$。",
            (
                "Poisson arrivals, one server, independent exponential services, FCFS, "
                "unlimited room, nobody gives up, $\\lambda<\\mu$."
            ),
        ),
        **_STAGES,
        "conditional": ("等待只要经过前面 $n$ 个的服务。", "The wait is the $n$ services ahead."),
        "split": (
            "先分出常数：它是 0 处的概率，连同逆变换会丢掉。",
            "Split off the constant: it is the probability at 0, which an inverse in one go would lose.",
        ),
        "atom": ("没人在内就不用等。", "Who finds nobody does not wait."),
        "density": (
            "余下的部分是指数密度，乘 $\\lambda/\\mu$。",
            "The rest is an exponential density times $\\lambda/\\mu$.",
        ),
        "tail": ("大于 0 的等待由密度给出。", "Waits above 0 follow the density."),
        "law_t": (
            "尾部快慢与逗留时间相同，高度乘 $\\rho$。",
            "The tail falls as the sojourn's does, scaled by $\\rho$.",
        ),
        "quantile": ("取对数。", "Take logarithms."),
        "p99_80": ("λ = 80：约 219 毫秒，不是 230。", "λ = 80: about 219 ms, not 230."),
        "p99_95": ("λ = 95：约 911 毫秒，不是 921。", "λ = 95: about 911 ms, not 921."),
    },
}
