# expects: breaks_fence breaks-earlier

# %% b
everything = [
    make("acquire", "r", "p", 1, 0),
    make("launch", "p", 0),
    make("release", "r", "p", 1),
    make("fence", "p", 0),
    make("acquire", "r", "p", 2, 1),
    make("launch", "p", 1),
    make("fence", "p", 0),
    make("release", "r", "p", 2),
    make("cancel", "r"),
    make("preempted", "r"),
]
breaks_key = breaks_queue = breaks_fence = breaks_generation = everything
