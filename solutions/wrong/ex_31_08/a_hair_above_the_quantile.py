# expects: attaining margins

# %% attaining
def attaining(x_high, y_high, level):
    slow = 2 * (1 - level)
    return [
        {"x": x_high, "y": y_high, "p": 1 - slow},
        {"x": x_high * (1 + slow / 10**11), "y": y_high, "p": slow},
    ]
