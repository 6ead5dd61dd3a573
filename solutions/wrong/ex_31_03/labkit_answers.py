# expects: utilisation not-there

# %% b
def utilisation(lengths, executed):
    from labkit.executors.costs import PaddedCost

    return PaddedCost(lengths, executed)
