# expects: residual_limit residual-grows

# %% c
full = H * d
residual = H * d / 2
inside = full - residual
residual_rate = residual / H
residual_limit = d / 2
mean_limit = d / 2
