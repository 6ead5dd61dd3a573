"""Hidden checks of exercise 31.9 (Q31.9; C24, C25)."""

import random
from fractions import Fraction

import sympy as sp

from labkit.grade.checks import Trial, Verdict, function, right, value, wrong

n, k, s, c0, c1 = sp.symbols("n k s c0 c1")
A, B = {n: sp.Symbol("n_a"), s: sp.Symbol("s_a")}, {n: sp.Symbol("n_b"), s: sp.Symbol("s_b")}
REQUEST = n * c0 + c1 * (n * s + n * (n - 1) / 2)
MEAN = c0 + c1 * (s + (n - 1) / 2)


def expression(reference, ways):
    """An expression is right, or wrong in the first way that gives the same."""

    def check(trial: Trial) -> Verdict:
        answer = trial.answer()
        if trial.same(answer, reference):
            return right()
        return wrong(next((key for key, way in ways if trial.same(answer, way)), ""))

    return check


def ratio(mean, over=B, under=A):
    return mean.subs(over, simultaneous=True) / mean.subs(under, simultaneous=True)


def cost(g, who, per=1):
    """Seconds of a token of A or B on average; `per` is multiplied in."""
    return g["base"] + g["slope"] * (g[f"history_{who}"] + Fraction(g[f"tokens_{who}"] - 1, 2)) * per


def times(g):
    return cost(g, "b") / cost(g, "a")


def frozen(g):
    return (g["base"] + g["slope"] * g["history_b"]) / (g["base"] + g["slope"] * g["history_a"])


def late(g):
    return (cost(g, "b") + g["slope"]) / (cost(g, "a") + g["slope"])


# ------------------------------------------------------------------------------------------------ shares


def shares(tenants):
    waiting = [t for t in tenants.values() if t["waiting"]]
    rest = 1 - sum(Fraction(t["minimum"]) for t in waiting)
    weights = sum(Fraction(t["weight"]) for t in waiting)
    return {
        name: Fraction(t["minimum"]) + rest * Fraction(t["weight"]) / weights if t["waiting"] else Fraction(0)
        for name, t in tenants.items()
    }


def plain(t, tenants, everyone=False):
    """The share by weight alone."""
    return Fraction(t["weight"]) / sum(
        Fraction(o["weight"]) for o in tenants.values() if o["waiting"] or everyone
    )


def by(rule):
    return lambda tenants: {name: Fraction(rule(t, tenants)) for name, t in tenants.items()}


def reserved(tenants, everyone=False):
    return sum(Fraction(t["minimum"]) for t in tenants.values() if t["waiting"] or everyone)


SHARE_WAYS = {
    "no-minimum": by(lambda t, o: plain(t, o) if t["waiting"] else 0),
    "minimum-as-floor": by(lambda t, o: max(Fraction(t["minimum"]), plain(t, o)) if t["waiting"] else 0),
    "minimum-on-top": by(lambda t, o: Fraction(t["minimum"]) + plain(t, o) if t["waiting"] else 0),
    "idle-gets-share": by(
        lambda t, o: Fraction(t["minimum"]) + (1 - reserved(o, True)) * plain(t, o, everyone=True)
    ),
    "idle-weight-counts": by(
        lambda t, o: (
            Fraction(t["minimum"]) + (1 - reserved(o)) * plain(t, o, everyone=True) if t["waiting"] else 0
        )
    ),
}


def tenants(rng: random.Random):
    """Two to four tenants, at least one of them waiting and one idle; minimum shares in sixteenths."""
    count = rng.randint(2, 4)
    waits = [True, False, *(rng.random() < 0.7 for _ in range(count - 2))]
    rng.shuffle(waits)
    return (
        {
            name: {"weight": rng.randint(1, 9), "minimum": rng.randint(1, 4) / 16, "waiting": waits[i]}
            for i, name in enumerate(rng.sample("ABCDEFGH", count))
        },
    )


def tenant(weight, minimum, waiting=True):
    return {"weight": weight, "minimum": minimum, "waiting": waiting}


TELLING_TENANTS = (
    ({"A": tenant(1, 0.25), "B": tenant(9, 0.125), "C": tenant(2, 0.125, waiting=False)},),
    ({"A": tenant(1, 0.5), "B": tenant(5, 0.5)},),
    ({"A": tenant(3, 0.25, waiting=False)},),
)

# ------------------------------------------------------------------------------------------------ credit


def rounds(flaw=""):
    """The credit round; `flaw` is a misconception to make on purpose."""

    def one(tenant):
        credit, served = Fraction(tenant["credit"]), 0
        if flaw == "credit-lost":
            credit = Fraction(0)
        credit += Fraction(tenant["grant"])
        if flaw != "no-cap":
            credit = min(credit, Fraction(tenant["cap"]))
        error = Fraction(0) if flaw == "error-forgotten" else Fraction(tenant["error"])
        for job in tenant["queue"]:
            predicted, actual = Fraction(job["predicted"]), Fraction(job["actual"])
            if (actual if flaw == "sees-the-future" else predicted) > credit:
                break
            if flaw == "one-a-round" and served:
                break
            credit -= predicted if flaw == "charge-predicted" else actual
            if flaw == "debt-forgiven":
                credit = max(credit, Fraction(0))
            error += abs(actual - predicted) if flaw == "error-unsigned" else actual - predicted
            served += 1
        return {"served": served, "credit": credit, "error": error}

    return lambda accounts: {name: one(tenant) for name, tenant in accounts.items()}


ROUND_WAYS = {
    key: rounds(key)
    for key in (
        "charge-predicted", "debt-forgiven", "no-cap", "credit-lost", "sees-the-future", "one-a-round",
        "error-unsigned", "error-forgotten",
    )
}  # fmt: skip


def account(grant, credit, cap, error, *jobs):
    queue = [{"predicted": predicted, "actual": actual} for predicted, actual in jobs]
    return {"grant": grant, "credit": credit, "cap": cap, "error": error, "queue": queue}


def accounts(rng: random.Random):
    """Sums in eighths of a second: floats that add without rounding."""

    def eighths(low, high):
        return rng.randint(low, high) / 8

    def job():
        predicted = rng.randint(2, 24)
        return predicted / 8, max(1, predicted + rng.randint(-4, 6)) / 8

    return (
        {
            name: account(eighths(1, 30), eighths(-10, 20), eighths(20, 60), eighths(-8, 8),
                          *(job() for _ in range(rng.randint(0, 6))))
            for name in rng.sample("ABCDEFGH", rng.randint(1, 3))
        },
    )  # fmt: skip


TELLING_ACCOUNTS = (
    # A debtor, one who saves for a large request, one who was away.
    (
        {
            "A": account(1, 0, 4, 0.5, (1, 3), (1, 1)),
            "B": account(1, 2, 4, 0, (3, 2), (1, 1)),
            "C": account(2, 4, 5, 0),
        },
    ),
    ({"A": account(1, -3, 4, 0, (0.5, 0.5))},),
    ({"A": account(4, 0, 8, -1, (1, 1), (1, 0.5), (1, 1.25), (1, 5), (1, 1))},),
    ({"A": account(2, 0, 4, 0, (2, 3))},),
    ({"A": account(2, 0, 4, 0, (2, 2), (4, 4)), "B": account(2, 1, 4, 0, (3.125, 1))},),
    ({},),
)

CHECKS = {
    "token_ratio": value(
        lambda g: Fraction(g["tokens_a"], g["tokens_b"]),
        {
            "inverted": lambda g: Fraction(g["tokens_b"], g["tokens_a"]),
            "one-fairness": lambda g: 1,
            "share-is-ratio": lambda g: Fraction(g["tokens_a"], g["tokens_a"] + g["tokens_b"]),
        },
    ),
    "token_share_a": value(
        lambda g: Fraction(g["tokens_a"], g["tokens_a"] + g["tokens_b"]),
        {
            "share-is-ratio": lambda g: Fraction(g["tokens_a"], g["tokens_b"]),
            "inverted": lambda g: Fraction(g["tokens_b"], g["tokens_a"] + g["tokens_b"]),
            "one-fairness": lambda g: Fraction(1, 2),
        },
    ),
    "request_ratio": value(
        lambda g: Fraction(g["tokens_b"], g["tokens_a"]),
        {"inverted": lambda g: Fraction(g["tokens_a"], g["tokens_b"]), "one-fairness": lambda g: 1},
    ),
    "token_cost": expression(
        c0 + c1 * (s + k - 1),
        [
            ("position-off-by-one", c0 + c1 * (s + k)),
            ("history-frozen", c0 + c1 * s),
            ("history-ignored", c0 + c1 * (k - 1)),
            ("history-ignored", c0 + c1 * k),
            ("history-ignored", c0),
            ("history-ignored", c0 + c1),
        ],
    ),
    "request_cost": expression(
        REQUEST,
        [
            ("position-off-by-one", REQUEST + c1 * n),
            ("history-frozen", n * (c0 + c1 * s)),
            ("history-ignored", REQUEST.subs(s, 0)),
            ("history-ignored", REQUEST.subs(s, 1)),
            ("history-ignored", n * c0),
            ("history-ignored", n * (c0 + c1)),
        ],
    ),
    "mean_token_cost": expression(
        MEAN,
        [
            ("position-off-by-one", MEAN + c1),
            ("history-frozen", c0 + c1 * s),
            ("history-ignored", MEAN.subs(s, 0)),
            ("history-ignored", MEAN.subs(s, 1)),
            ("history-ignored", c0),
            ("request-not-token", REQUEST),
        ],
    ),
    "time_ratio": expression(
        ratio(MEAN),
        [
            ("inverted", ratio(MEAN, A, B)),
            ("request-not-token", ratio(REQUEST)),
            ("request-not-token", ratio(REQUEST, A, B)),
            ("position-off-by-one", ratio(MEAN + c1)),
            ("history-frozen", ratio(c0 + c1 * s)),
            ("history-ignored", ratio(MEAN.subs(s, 0))),
            ("history-ignored", ratio(MEAN.subs(s, 1))),
            ("equal-tokens-equal-time", sp.Integer(1)),
        ],
    ),
    "time_ratio_value": value(
        times,
        {
            "equal-tokens-equal-time": lambda g: 1,
            "inverted": lambda g: 1 / times(g),
            "request-not-token": lambda g: times(g) * g["tokens_b"] / g["tokens_a"],
            "position-off-by-one": late,
            "history-frozen": frozen,
        },
    ),
    "shares": function(shares, tenants, SHARE_WAYS, always=TELLING_TENANTS),
    "credit_round": function(rounds(), accounts, ROUND_WAYS, always=TELLING_ACCOUNTS),
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "d": (
        "1 分：两种策略公平的对象不同（请求、词元），请求长短不一时结论相反。1 分：历史更长，"
        "一个输出词元读的键值更多，词元数相同而设备时间不同；所以用校准过的设备时间记账。1 分："
        "最低份额使小权重或大请求的租户不致饿死。1 分：成本是估计的，误差要监测，"
        "不能长期由别的租户承担；共享批次的成本没有唯一的真值，只有固定的口径。"
    ),
}
