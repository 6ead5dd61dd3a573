# expects: Lq always-one-in-service

# %% b
L = rho / (1 - rho)
busy = 1
waiting_term = (n - 1) * (1 - rho) * rho**n
Lq = L - 1
