# expects: breaks_generation not-sendable

# %% b
breaks_generation = [make("acquire", "r", "p", 1, 0), make("release", "r", "p", 1), make("fence", "p", 0)]
