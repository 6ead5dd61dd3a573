# %% a
def convergent(expr):
    """The branch of a sum that converges."""
    return expr.args[0][0] if isinstance(expr, sp.Piecewise) else expr


flow_up = lam * p
flow_down = mu * q
law_from_empty = (lam / mu).subs(lam, rho * mu) ** n * p0
empty = 1 / convergent(sp.summation(rho**n, (n, 0, sp.oo)))
law = rho**n - rho ** (n + 1)

# %% b
x = sp.Symbol("x")
L = convergent(sp.summation(n * law_from_empty.subs(p0, 1), (n, 0, sp.oo))) * (1 - rho)
busy = rho
waiting_term = (n - 1) * rho**n - (n - 1) * rho ** (n + 1)
Lq = rho**2 * sp.diff(sp.log(1 / (1 - rho)), rho)

# %% c
stage = 1 / (1 + z / mu)
given_n = sp.exp((n + 1) * sp.log(mu / (mu + z)))
transform = 1 / (1 + z / (mu - lam))
tail = sp.exp(lam * t) / sp.exp(mu * t)
quantile = sp.solve(sp.Eq(sp.exp(-(mu - lam) * t), 1 - p), t)[0]

# %% e
def occupancy(arrival, rates):
    K = len(rates)
    generator = sp.zeros(K + 1, K + 1)
    for k in range(K):
        generator[k, k + 1] = sp.Rational(arrival.numerator, arrival.denominator)
        generator[k + 1, k] = sp.Rational(rates[k].numerator, rates[k].denominator)
    for k in range(K + 1):
        generator[k, k] = -sum(generator[k, :])
    null = generator.T.nullspace()[0]
    return [value / sum(null) for value in null]
