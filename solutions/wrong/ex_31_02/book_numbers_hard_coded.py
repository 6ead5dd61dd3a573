# expects: continuous_ms constant

# %% continuous
def continuous_ms(remaining, round_ms):
    return [32, 10, 20]
