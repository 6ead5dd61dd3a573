# expects: apart still-adds

# %% apart
def apart(x_high, y_high, level):
    u = 1 - level
    return [
        {"x": x, "y": y, "p": p * r}
        for x, p in ((x_high, 1 - u / 4), (2 * x_high, u / 4))
        for y, r in ((y_high, 1 - u / 4), (2 * y_high, u / 4))
    ]
