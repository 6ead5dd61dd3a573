# expects: utilisation always-applies

# %% b
def utilisation(lengths, executed):
    square = len(lengths) * max(lengths) ** 2
    return {
        "linear": sum(lengths) / (len(lengths) * max(lengths)),
        "attention": sum(p * p for p in lengths) / square,
    }
