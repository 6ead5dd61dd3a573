# expects: Lq waiting-is-all

# %% b
L = rho / (1 - rho)
busy = rho
waiting_term = n * (1 - rho) * rho**n
Lq = L
