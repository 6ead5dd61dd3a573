# expects: attaining constant

# %% attaining
def attaining(x_high, y_high, level):
    return [
        {"x": 100, "y": 200, "p": 0.98},
        {"x": 101, "y": 200, "p": 0.01},
        {"x": 100, "y": 201, "p": 0.01},
    ]
