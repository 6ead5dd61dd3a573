# expects: static_ms not-there

# %% static
def static_ms(remaining, round_ms, kernel):
    from labkit.scenario.run import run_scenario

    return run_scenario(remaining, round_ms, kernel)
