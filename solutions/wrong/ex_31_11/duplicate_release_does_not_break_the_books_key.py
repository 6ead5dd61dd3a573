# expects: breaks_key does-not-break

# %% b
breaks_key = [make("acquire", "r", "p", 1, 0), make("release", "r", "p", 1), make("release", "r", "p", 1)]
