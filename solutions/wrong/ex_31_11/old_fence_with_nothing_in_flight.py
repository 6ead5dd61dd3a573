# expects: breaks_generation does-not-break

# %% b
breaks_generation = [
    make("acquire", "r", "p", 1, 0),
    make("launch", "p", 0),
    make("fence", "p", 0),
    make("release", "r", "p", 1),
    make("acquire", "s", "p", 1, 1),
    make("fence", "p", 0),
]
