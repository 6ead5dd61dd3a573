# expects: empty empty-is-busy

# %% a
flow_up = lam * p
flow_down = mu * q
law_from_empty = p0 * rho**n
empty = rho
law = rho * rho**n
