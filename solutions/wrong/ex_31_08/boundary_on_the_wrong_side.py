# expects: together margins

# %% together
def together(x_high, y_high, level):
    return [
        {"x": 0, "y": 0, "p": level},
        {"x": x_high, "y": y_high, "p": 1 - level},
    ]
