# expects: attention waste

# %% a
square = len(lengths) * max(lengths) ** 2
linear = sum(max(lengths) - p for p in lengths) / (len(lengths) * max(lengths))
attention = sum(max(lengths) ** 2 - p**2 for p in lengths) / square
