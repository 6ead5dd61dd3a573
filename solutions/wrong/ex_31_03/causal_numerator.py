# expects: attention causal

# %% a
linear = sum(lengths) / (len(lengths) * max(lengths))
attention = sum(p * (p + 1) / 2 for p in lengths) / (len(lengths) * max(lengths) ** 2)
