# expects: tail density

# %% c
stage = mu / (mu + z)
given_n = stage ** (n + 1)
transform = (mu - lam) / (mu - lam + z)
tail = 1 - sp.exp(-(mu - lam) * t)
quantile = -sp.log(1 - p) / (mu - lam)
