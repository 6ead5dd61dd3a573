# expects: utilisation longer-shape

# %% b
def utilisation(lengths, executed):
    if min(executed) != max(executed):
        return None
    shape = executed[0]
    return {
        "linear": sum(lengths) / (len(lengths) * shape),
        "attention": sum(p * p for p in lengths) / (len(lengths) * shape**2),
    }
