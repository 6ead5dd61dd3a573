# expects: linear inverse

# %% a
linear = len(lengths) * max(lengths) / sum(lengths)
attention = len(lengths) * max(lengths) ** 2 / sum(p**2 for p in lengths)
