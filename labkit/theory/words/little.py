"""Words of the derivations of Little's law."""

from __future__ import annotations

from collections.abc import Mapping

_LAW = {
    "mean": ("除以窗长。", "Divide by the window's length."),
    "rate": (
        "窗内终止率与长期到达率差 $x$。",
        "The window's rate of endings differs from $\\lambda$ by $x$.",
    ),
    "stay": ("窗内均值与长期均值差 $y$。", "The window's mean differs from the long-run mean by $y$."),
    "rest": ("边界面积摊到窗长上是 $z$。", "The boundary's area over the window's length is $z$."),
    "errors": ("代入三个差。", "Put in the three differences."),
}

WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "one_stay": {
        "title": ("一个请求在窗内留了多久", "How long one request stays inside the window"),
        "conditions": ("$a<c$，$H>0$。", "$a<c$, $H>0$."),
        "split": ("在系统内，就是已到达而未终止。", "Inside means arrived and not yet ended."),
        "area": (
            "窗内驻留时间，是指示函数的面积。",
            "Residence inside the window is the area of the indicator.",
        ),
        "put": ("换成两个阶跃之差。", "As a difference of two steps."),
        "integral": ("阶跃的积分是一条折线，两端相减。", "A step integrates to a bent line; take its ends."),
        "clipped": (
            "0、H、a、c 的每种次序都一样：截到窗内的长度。",
            "In every order of 0, H, a, c: the length clipped to the window.",
        ),
    },
    "residence_area": {
        "title": ("人数的面积等于驻留时间之和", "The area under the number is the sum of residences"),
        "conditions": (
            "任意的到达与终止时刻，不问分布。",
            "any moments of arrival and end; no distribution is asked for.",
        ),
        "number": ("人数是指示函数之和。", "The number inside is a sum of indicators."),
        "one_more": ("多一个请求，多一个指示函数。", "One request more, one indicator more."),
        "area": ("面积是人数在窗上的积分。", "The area is the number integrated over the window."),
        "stay": ("一个请求的驻留时间记作 $\\ell$。", "Call one request's residence $\\ell$."),
        "integrated": ("两边积分，面积多出这一块。", "Integrate: the area grows by that piece."),
        "clipped": ("这一块就是截到窗内的驻留时间。", "That piece is the residence clipped to the window."),
        "put": ("代入。", "Put it in."),
        "none": ("没有请求，没有面积。", "No request, no area."),
        "sum": (
            "对请求数归纳。窗外的部分从不计入。",
            "By induction over requests. What lies outside never counts.",
        ),
        "asked": (
            "习题 31.6：[0, 2) 与 [1, 3)，窗 [0, 3]，面积 4。",
            "Exercise 31.6: [0, 2) and [1, 3) on [0, 3], area 4.",
        ),
    },
    "long_run": {
        "title": ("Little 关系：从一个窗到长期", "Little's law: from one window to the long run"),
        "conditions": (
            "长期到达率与平均逗留时间存在，边界项趋于零。人数、到达、逗留出自同一边界与同一总体。",
            (
                "the long-run rate and mean exist and the boundary term vanishes; number, "
                "arrivals and sojourns are of one system and one population."
            ),
        ),
        "area": (
            "面积分两份：窗内终止的请求，和窗末还在的请求。",
            "The area has two parts: requests that end inside, and those still there at the end.",
        ),
        "closed": (
            "习题 31.6，闭窗：终止率 2/3 乘平均 2。",
            "Exercise 31.6, closed window: rate 2/3 times mean 2.",
        ),
        "half_open": (
            "窗不含 t = 3：终止率只有 1/3，第二个请求的 2 秒成了边界项，平均不变。",
            (
                "Window without t = 3: the rate is 1/3, the second request's 2 s "
                "become the boundary term, the mean is the same."
            ),
        ),
        **_LAW,
        "law": ("三个差都趋于零，就得到 Little 关系。", "All three go to zero, and Little's law remains."),
        "asked": (
            "每秒完成 20 个、平均 0.4 秒：系统内平均 8 个，但 p99 无从得知。",
            "20 a second, 0.4 s on average: 8 inside; nothing about p99.",
        ),
    },
    "long_run_waiting": {
        "title": ("Little 关系：只看等待", "Little's law for waiting"),
        "conditions": ("同逗留时间的 Little 关系。", "as for the sojourn time."),
        "area": (
            "只数等待中的人数。一个请求等几次，就有几段。",
            "Count those waiting. A request that waits several times has several pieces.",
        ),
        **_LAW,
        "law": ("所以 Wq 是全部等待，不是首次等待。", "So Wq is all waiting, not the first wait alone."),
        "asked": (
            "每秒 20 个、平均共等 0.1 秒：平均 2 个在等。",
            "20 a second, 0.1 s of waiting each: 2 waiting on average.",
        ),
    },
}
