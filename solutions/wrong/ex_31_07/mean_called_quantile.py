# expects: quantile mean-is-quantile

# %% c
stage = mu / (mu + z)
given_n = stage ** (n + 1)
transform = (mu - lam) / (mu - lam + z)
tail = sp.exp(-(mu - lam) * t)
quantile = 1 / (mu - lam)
