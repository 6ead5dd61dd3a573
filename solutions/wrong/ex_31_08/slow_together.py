# expects: attaining same-requests

# %% attaining
def attaining(x_high, y_high, level):
    return [
        {"x": x_high, "y": y_high, "p": level},
        {"x": x_high + 5, "y": y_high + 5, "p": 1 - level},
    ]
