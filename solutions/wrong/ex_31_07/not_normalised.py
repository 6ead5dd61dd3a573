# expects: law unnormalised

# %% a
flow_up = lam * p
flow_down = mu * q
law_from_empty = p0 * rho**n
empty = sp.Integer(1)
law = rho**n
