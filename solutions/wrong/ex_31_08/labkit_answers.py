# expects: apart not-there

# %% apart
def apart(x_high, y_high, level):
    from labkit.theory.two_stages import independent

    return independent()
