"""Words that all derivations share: how a step follows, and what the machine did."""

from __future__ import annotations

COMMON: dict[str, tuple[str, str]] = {
    "rule.given": ("前提或定义", "premise or definition"),
    "rule.cite": ("引用", "cited"),
    "rule.rewrite": ("改写", "rewritten"),
    "rule.rearrange": ("两边同乘，再移项", "both sides multiplied, terms moved across"),
    "rule.move": ("移项", "terms moved across"),
    "rule.substitute": ("代入", "substituted"),
    "rule.raise": ("放大右边", "the right side raised"),
    "rule.sum": ("裂项求和", "summed by telescoping"),
    "rule.last_term": ("分出最后一项", "last term split off"),
    "rule.induction": ("归纳：起点与递推都核对", "by induction, base and step both checked"),
    "rule.differentiate": ("求导", "differentiated"),
    "rule.integrate_both": ("两边积分", "both sides integrated"),
    "rule.integrate": ("积分", "integrated"),
    "rule.limit": ("取极限", "limit taken"),
    "rule.solve": ("解方程，解唯一", "solved, the solution is unique"),
    "rule.evaluate": ("代入取值", "values put in"),
    "rule.cases": ("逐一检查所有大小次序", "every order of the points checked"),
    "rule.expectation": ("按概率加权求和", "weighted by probability and summed"),
    "rule.invert": ("逆变换", "transform inverted"),
    "by": ("{rule}（{steps}）", "{rule} ({steps})"),
    "by.substitute": ("把{used}代入{into}", "{used} put into {into}"),
    "by.cite": ("引用《{title}》第 {step} 步", "cited: “{title}”, step {step}"),
    "step": ("第 {n} 步", "step {n}"),
    "and": ("、", ", "),
    "with.sum": ("裂项用的 G，通项等于 G 的后项减前项：", "G, whose differences are the terms:"),
    "with.integrate": ("原函数：", "Antiderivative:"),
    "with.factor": ("乘数：", "Factor:"),
    "with.values": ("取值：", "Values:"),
    "exact": ("两边相等", "both sides equal"),
    "error": ("最大误差 {error}", "largest error {error}"),
    "proved": (
        "机器核对：符号推导成立；{points} 个随机点上与另一种算法对照，{error}。",
        (
            "Checked by machine: follows symbolically by its rule; at {points} "
            "random points against another computation: {error}."
        ),
    ),
    "proved.at": (
        "机器核对：符号推导成立；在所取的值上与另一种算法对照，{error}。",
        "Checked by machine: follows symbolically by its rule; at these values against another computation: {error}.",
    ),
    "premise": (
        "机器核对：这是前提，不由前面推出；{points} 个随机点上与另一种算法对照，{error}。",
        (
            "Checked by machine: a premise, it follows from nothing before; at {points} "
            "random points against another computation: {error}."
        ),
    ),
    "symbols": ("符号", "Symbols"),
    "symbols.symbol": ("符号", "symbol"),
    "symbols.what": ("含义", "meaning"),
    "symbols.labkit": ("labkit 名", "name in labkit"),
    "symbols.unit": ("单位", "unit"),
    "conditions": ("条件：{conditions}", "Holds for: {conditions}"),
    "source": ("出处：{source}", "Source: {source}"),
    "summary": (
        "共 {steps} 步：{proved} 步由符号推出，{premises} 步是前提或定义。每一步都作过数值对照，{error}。",
        (
            "{steps} steps: {proved} proved symbolically, {premises} premises or "
            "definitions; each one compared numerically: {error}."
        ),
    ),
}
