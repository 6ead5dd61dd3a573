# expects: breaks_fence breaks-earlier

# %% b
breaks_fence = [
    make("acquire", "r", "p", 1, 0),
    make("launch", "p", 0),
    make("release", "r", "p", 1),
    make("fence", "p", 0),
]
