# expects: pairs form

# %% a
visible = s + r
history_part = q * s
new_part = q * (q + 1) / 2
pairs = sp.Sum(visible, (r, 1, q))
