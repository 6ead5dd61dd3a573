# expects: pairs future-keys

# %% a
visible = s + r
history_part = q * s
new_part = q**2
pairs = q * (s + q)
