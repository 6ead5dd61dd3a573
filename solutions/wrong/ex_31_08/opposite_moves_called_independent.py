# expects: apart not-independent

# %% apart
def apart(x_high, y_high, level):
    u = 1 - level
    slow = min(0.5, 2 * u / (1 + u))
    return [
        {"x": x_high, "y": 0, "p": slow},
        {"x": 0, "y": y_high, "p": slow},
        {"x": 0, "y": 0, "p": 1 - 2 * slow},
    ]
