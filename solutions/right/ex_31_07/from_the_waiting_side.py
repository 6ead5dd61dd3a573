# %% a
flow_up = p / (1 / lam)
flow_down = q * mu
law_from_empty = sp.exp(n * sp.log(rho)) * p0
empty = (1 - rho**2) / (1 + rho)
law = empty * rho**n

# %% b
waiting_term = (n - 1) * law
Lq = rho**2 / (1 - rho)
busy = sp.solve(1 - p - empty, p)[0]
L = Lq + busy

# %% c
stage = mu / (mu + z)
given_n = (mu + z) ** (-n - 1) * mu ** (n + 1)
# T 与速率 mu − lam 的指数变量同分布：由变换的唯一性反推。
rate = mu * (1 - lam / mu)
transform = sp.integrate(rate * sp.exp(-(p + z) * t), (t, 0, sp.oo)).subs(p, rate)
tail = 1 - (1 - sp.exp(-rate * t))
quantile = (sp.log(100) + sp.log(1 / (100 - 100 * p))) / rate

# %% e
import numpy as np


def occupancy(arrival, rates):
    ratios = np.array([float(arrival / rate) for rate in rates])
    weights = np.concatenate([[1.0], np.cumprod(ratios)])
    return weights / weights.sum()
