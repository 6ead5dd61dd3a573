# %% a
from fractions import Fraction

token_ratio = Fraction(tokens_a, tokens_b)
request_ratio = 1 / token_ratio
token_share_a = token_ratio / (1 + token_ratio)

# %% b
import sympy as sp

n, n_a, n_b = sp.symbols("n n_a n_b", integer=True, positive=True)
k, s, c0, c1, s_a, s_b, i = sp.symbols("k s c0 c1 s_a s_b i", nonnegative=True)
token_cost = sp.expand(c0 + c1 * s + c1 * k - c1)
request_cost = sp.summation(token_cost.subs(k, i), (i, 1, n))
mean_token_cost = sp.factor(request_cost / n)


def mean(length, history):
    return (2 * c0 + 2 * c1 * history + c1 * length - c1) / 2


time_ratio = sp.together(mean(n_b, s_b) / mean(n_a, s_a))
numbers = {n_a: tokens_a, n_b: tokens_b, s_a: history_a, s_b: history_b}
time_ratio_value = float(time_ratio.subs(numbers).subs({c0: sp.nsimplify(base), c1: sp.nsimplify(slope)}))

# %% c-shares
def shares(tenants):
    given = dict.fromkeys(tenants, Fraction(0))
    names = [name for name in tenants if tenants[name]["waiting"]]
    rest = Fraction(1)
    for name in names:
        given[name] = Fraction(tenants[name]["minimum"])
        rest -= given[name]
    total = sum(Fraction(tenants[name]["weight"]) for name in names)
    for name in names:
        given[name] += rest * Fraction(tenants[name]["weight"]) / total
    return given

# %% c
class Account:
    def __init__(self, grant, credit, cap, error, queue):
        self.credit = credit + grant if credit + grant < cap else cap
        self.error, self.served, self.queue = error, 0, list(queue)

    def run(self):
        while self.queue and self.queue[0]["predicted"] <= self.credit:
            job = self.queue.pop(0)
            self.served += 1
            self.credit -= job["actual"]
            self.error += job["actual"] - job["predicted"]
        return {"error": self.error, "served": self.served, "credit": self.credit}


def credit_round(tenants):
    return {name: Account(**tenant).run() for name, tenant in tenants.items()}
