# expects: varlen_work padded-lengths

# %% c
def varlen_work(lengths, block):
    return {"positions": len(lengths) * max(lengths), "pairs": len(lengths) * max(lengths) ** 2}
