# expects: residual boundary-off-by-one

# %% c
full = H * d
residual = d * (d + 1) / 2
inside = full - residual
residual_rate = residual / H
residual_limit = sp.limit(residual_rate, H, sp.oo)
mean_limit = d
