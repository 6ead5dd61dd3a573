# expects: pairs history-only

# %% a
visible = s
history_part = q * s
new_part = 0
pairs = q * s
