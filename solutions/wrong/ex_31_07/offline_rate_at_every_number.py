# expects: occupancy offline-rate

# %% e
def occupancy(arrival, rates):
    load = arrival / rates[-1]
    weights = [load**k for k in range(len(rates) + 1)]
    return [weight / sum(weights) for weight in weights]
