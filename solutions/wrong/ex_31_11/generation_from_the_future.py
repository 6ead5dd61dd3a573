# expects: breaks_key not-sendable

# %% b
breaks_key = [
    make("acquire", "r", "p", 1, 0),
    make("acquire", "s", "p", 1, 0),
    make("release", "r", "p", 1),
    make("acquire", "r", "p", 2, 1),
    make("release", "r", "p", 2),
]
