# expects: given_n stages-n

# %% c
stage = mu / (mu + z)
given_n = stage**n
transform = sp.simplify(((1 - rho) / (1 - rho * stage)).subs(rho, lam / mu))
tail = sp.exp(-(mu - lam) * t)
quantile = sp.log(1 / (1 - p)) / (mu - lam)
