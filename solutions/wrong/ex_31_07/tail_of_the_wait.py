# expects: tail wait-tail

# %% c
stage = mu / (mu + z)
given_n = stage ** (n + 1)
transform = (mu - lam) / (mu - lam + z)
tail = lam / mu * sp.exp(-(mu - lam) * t)
quantile = sp.log(lam / mu / (1 - p)) / (mu - lam)
