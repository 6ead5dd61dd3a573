# expects: breaks_queue does-not-break

# %% b
breaks_queue = [make("preempted", "r"), make("cancel", "r")]
