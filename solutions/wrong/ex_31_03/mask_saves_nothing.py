# expects: varlen_work no-mask

# %% c
def varlen_work(lengths, block):
    filled = [(p + block - 1) // block * block for p in lengths]
    return {"positions": sum(filled), "pairs": sum(p * p for p in filled)}
