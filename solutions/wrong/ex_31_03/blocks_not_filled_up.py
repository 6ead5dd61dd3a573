# expects: varlen_work no-alignment

# %% c
def varlen_work(lengths, block):
    return {"positions": sum(lengths), "pairs": sum(sum(range(1, p + 1)) for p in lengths)}
