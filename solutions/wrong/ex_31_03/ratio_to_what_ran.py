# expects: utilisation executed-ratio

# %% b
def utilisation(lengths, executed):
    return {
        "linear": sum(lengths) / sum(executed),
        "attention": sum(p * p for p in lengths) / sum(e * e for e in executed),
    }
