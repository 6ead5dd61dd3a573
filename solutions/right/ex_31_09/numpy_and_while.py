# %% a
import numpy as np

per_round = np.array([tokens_a, tokens_b])
token_ratio = per_round[0] / per_round[1]
token_share_a = per_round[0] / per_round.sum()
request_ratio = (1 / per_round)[0] / (1 / per_round)[1]

# %% b
import sympy as sp

n, k, s, c0, c1, n_a, n_b, s_a, s_b = sp.symbols("n k s c0 c1 n_a n_b s_a s_b", positive=True)
token_cost = c0 + c1 * (s + k - 1)
request_cost = n * (token_cost.subs(k, 1) + token_cost.subs(k, n)) / 2
mean_token_cost = (token_cost.subs(k, 1) + token_cost.subs(k, n)) / 2
time_a, time_b = (request_cost.subs({n: x, s: y}) for x, y in ((n_a, s_a), (n_b, s_b)))
time_ratio = (time_b / n_b) / (time_a / n_a)
reads_a = np.arange(history_a, history_a + tokens_a)
reads_b = np.arange(history_b, history_b + tokens_b)
time_ratio_value = (base + slope * reads_b).mean() / (base + slope * reads_a).mean()

# %% c-shares
def shares(tenants):
    on = np.array([tenant["waiting"] for tenant in tenants.values()], dtype=float)
    weight = np.array([tenant["weight"] for tenant in tenants.values()]) * on
    least = np.array([tenant["minimum"] for tenant in tenants.values()]) * on
    if not on.any():
        return dict.fromkeys(tenants, 0)
    return dict(zip(tenants, least + (1 - least.sum()) * weight / weight.sum()))

# %% c
def credit_round(tenants):
    answer = {}
    for name in sorted(tenants):
        tenant = tenants[name]
        predicted = [job["predicted"] for job in tenant["queue"]]
        actual = [job["actual"] for job in tenant["queue"]]
        start = min(tenant["credit"] + tenant["grant"], tenant["cap"])
        served = 0
        while served < len(actual) and predicted[served] <= start - sum(actual[:served]):
            served += 1
        answer[name] = {
            "served": served,
            "credit": start - sum(actual[:served]),
            "error": tenant["error"] + sum(actual[:served]) - sum(predicted[:served]),
        }
    return answer
