# expects: transitions overflow

# %% c
end = ["record-outcome", "record-acknowledged", "release"]
give_up = ["cancel-generation", *end]
transitions = [
    row("generating", "chunk", "generating", "append"),
    row("generating", "end", "flushing", "start-deadline"),
    row("generating", "disconnect", "cancelled", *give_up),
    row("paused", "chunk", "paused", "append"),
    row("paused", "low-water", "generating", "clear-deadline", "resume-generation"),
    row("paused", "end", "flushing", "start-deadline"),
    row("paused", "cannot-pause", "cancelled", *give_up),
    row("paused", "deadline", "cancelled", *give_up),
    row("paused", "disconnect", "cancelled", *give_up),
    row("flushing", "empty", "completed", *end),
    row("flushing", "deadline", "cancelled", *give_up),
    row("flushing", "disconnect", "cancelled", *give_up),
]
