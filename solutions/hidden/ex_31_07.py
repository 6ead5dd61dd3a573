"""Hidden checks of exercise 31.7 (Q31.7)."""

import random
from fractions import Fraction

import sympy as sp

from labkit.grade.checks import Trial, Verdict, function, right, wrong

lam, mu, rho, z, t = sp.symbols("lam mu rho z t", positive=True)
p, q, p0, n = sp.symbols("p q p0 n", positive=True)
GAP = mu - lam
STAGE = mu / (mu + z)
WAITING = rho**2 / (1 - rho)


def expression(reference, **wrong_ways):
    """A check of an expression; `flow_swapped=…` recognises `flow-swapped` by one expression or by several."""

    def check(trial: Trial) -> Verdict:
        answer = trial.answer()
        if trial.same(answer, reference):
            return right()
        for name, ways in wrong_ways.items():
            if any(trial.same(answer, way) for way in (ways if isinstance(ways, tuple) else (ways,))):
                return wrong(name.replace("_", "-"))
        return wrong()

    return check


BREAKS = {
    "A": "单服务台",
    "B": "独立指数服务",
    "C": "先到先服务",
    "D": "无限等待空间",
    "E": "泊松到达",
    "F": "无放弃",
    "G": "不违反",
}
OVERLOOKED = {
    "A": "batch-is-one-server",
    "B": "round-time-independent",
    "C": "priority-is-fcfs",
    "G": "load-is-assumption",
}


def breaks(trial: Trial) -> Verdict:
    """The first one that is wrong is named; the chapter's three come first."""
    given = trial.answer()
    for key in "ABCGDEF":
        if given[key] != BREAKS[key]:
            return wrong(OVERLOOKED.get(key, "limits-overlooked"))
    return right()


def chain(arrival, rates):
    """Stationary probabilities of a birth-death chain with these death rates, from 0 to their number."""
    weights = [Fraction(1)]
    for rate in rates:
        weights.append(weights[-1] * Fraction(arrival) / Fraction(rate))
    return [weight / sum(weights) for weight in weights]


def weights(arrival, rates):
    first = chain(arrival, rates)[0]
    return [probability / first for probability in chain(arrival, rates)]


def server(rng: random.Random):
    """Rates that differ at every number, as a batching server's do."""
    rates = [Fraction(rng.randint(4, 12), rng.randint(2, 5))]
    for _ in range(rng.randint(1, 6)):
        rates.append(rates[-1] + Fraction(rng.randint(1, 9), rng.randint(2, 7)))
    return Fraction(rng.randint(3, 30), rng.randint(2, 7)), rates


CHECKS = {
    "flow_up": expression(lam * p, flow_swapped=mu * p),
    "flow_down": expression(mu * q, flow_swapped=lam * q),
    "law_from_empty": expression(
        rho**n * p0, power_off_by_one=(rho ** (n + 1) * p0, rho ** (n - 1) * p0), unnormalised=rho**n
    ),
    "empty": expression(1 - rho, empty_is_busy=rho, unnormalised=1, infinite_servers=sp.exp(-rho)),
    "law": expression(
        (1 - rho) * rho**n,
        unnormalised=rho**n,
        empty_is_busy=(rho ** (n + 1), rho * (1 - rho) ** n),
        power_off_by_one=((1 - rho) * rho ** (n + 1), (1 - rho) * rho ** (n - 1)),
        infinite_servers=sp.exp(-rho) * rho**n / sp.factorial(n),
    ),
    "L": expression(
        rho / (1 - rho),
        unnormalised=rho / (1 - rho) ** 2,
        waiting_is_all=WAITING,
        power_off_by_one=1 / (1 - rho),
        infinite_servers=rho,
    ),
    "busy": expression(rho, always_one_in_service=1, empty_is_busy=1 - rho, infinite_servers=rho / (1 - rho)),
    "waiting_term": expression(
        (n - 1) * (1 - rho) * rho**n,
        waiting_is_all=n * (1 - rho) * rho**n,
        always_one_in_service=n * (1 - rho) * rho**n - 1,
        unnormalised=(n - 1) * rho**n,
    ),
    "Lq": expression(
        WAITING,
        waiting_is_all=rho / (1 - rho),
        always_one_in_service=rho / (1 - rho) - 1,
        unnormalised=WAITING / (1 - rho),
    ),
    "stage": expression(STAGE, density=(1 / (mu + z), mu * sp.exp(-mu * z), sp.exp(-mu * z))),
    "given_n": expression(STAGE ** (n + 1), stages_n=STAGE**n, one_stage=STAGE),
    "transform": expression(
        GAP / (GAP + z),
        stages_n=GAP * (mu + z) / (mu * (GAP + z)),
        one_stage=STAGE,
        unnormalised=mu / (GAP + z),
    ),
    "tail": expression(
        sp.exp(-GAP * t),
        wait_tail=lam / mu * sp.exp(-GAP * t),
        density=(GAP * sp.exp(-GAP * t), 1 - sp.exp(-GAP * t)),
        tail_of_service=sp.exp(-mu * t),
    ),
    "quantile": expression(
        -sp.log(1 - p) / GAP,
        level_swapped=-sp.log(p) / GAP,
        mean_is_quantile=1 / GAP,
        log_base=-sp.log(1 - p) / sp.log(10) / GAP,
        wait_tail=sp.log(lam / mu / (1 - p)) / GAP,
        tail_of_service=-sp.log(1 - p) / mu,
    ),
    "breaks": breaks,
    "occupancy": function(
        chain,
        server,
        always=(
            (Fraction(1, 2), [Fraction(3)]),
            (Fraction(3), [Fraction(2), Fraction(3), Fraction(7, 2), Fraction(15, 4)]),
        ),
        wrong_ways={
            "offline-rate": lambda arrival, rates: chain(arrival, [rates[-1]] * len(rates)),
            "rate-shifted": lambda arrival, rates: chain(arrival, [*rates[1:], rates[-1]]),
            "unnormalised": weights,
            "infinite-servers": lambda arrival, rates: chain(
                arrival, [rate * (k + 1) for k, rate in enumerate(rates)]
            ),
            "flow-swapped": lambda arrival, rates: chain(1, [arrival / rate for rate in rates]),
        },
    ),
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "f": (
        "1 分：至少说出两条被违反的假设，各有原因（共同推进、轮时、优先级）。1 分："
        "完成率随在场人数变化，a 到 c 的分布和尾部不再成立；说出该改测什么。"
    ),
}
