# expects: static_ms refilled

# %% static
def static_ms(remaining, round_ms, kernel):
    return continuous_ms(remaining, round_ms)
