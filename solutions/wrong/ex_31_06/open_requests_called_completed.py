# expects: observe never-left

# %% d
def observe(residences, start, end):
    closed = [(a, end if c is None else c) for a, c in residences]
    clipped = [max(0, min(c, end) - max(a, start)) for a, c in closed]
    completions = sum(start < c <= end for _, c in closed)
    return {
        "clipped": clipped,
        "area": sum(clipped),
        "mean_number": sum(clipped) / (end - start),
        "completions": completions,
        "rate": completions / (end - start),
    }
