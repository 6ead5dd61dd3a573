# expects: attention square-of-linear

# %% a
linear = sum(lengths) / (len(lengths) * max(lengths))
attention = sum(lengths) ** 2 / (len(lengths) * max(lengths)) ** 2
