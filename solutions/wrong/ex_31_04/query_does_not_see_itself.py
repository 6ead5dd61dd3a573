# expects: pairs self-excluded

# %% a
visible = s + r - 1
history_part = q * s
new_part = q * (q - 1) / 2
pairs = history_part + new_part
