# expects: flow_up flow-swapped

# %% a
flow_up = mu * p
flow_down = lam * q
law_from_empty = p0 * rho**n
empty = 1 - rho
law = empty * rho**n
