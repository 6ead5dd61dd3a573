# expects: observe negative

# %% d
def observe(residences, start, end):
    clipped = [min(end if c is None else c, end) - max(a, start) for a, c in residences]
    completions = sum(c is not None and start < c <= end for _, c in residences)
    return {
        "clipped": clipped,
        "area": sum(clipped),
        "mean_number": sum(clipped) / (end - start),
        "completions": completions,
        "rate": completions / (end - start),
    }
