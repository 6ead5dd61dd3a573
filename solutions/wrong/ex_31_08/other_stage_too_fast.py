# expects: attaining slow-but-not-over

# %% attaining
def attaining(x_high, y_high, level):
    return [
        {"x": x_high, "y": y_high, "p": 1 - 2 * (1 - level)},
        {"x": x_high + 1, "y": 0, "p": 1 - level},
        {"x": 0, "y": y_high + 1, "p": 1 - level},
    ]
