# expects: quantile log-base

# %% c
stage = mu / (mu + z)
given_n = stage ** (n + 1)
transform = (mu - lam) / (mu - lam + z)
tail = sp.exp(-(mu - lam) * t)
quantile = sp.log(1 / (1 - p), 10) / (mu - lam)
