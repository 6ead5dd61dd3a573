# expects: occupancy not-there

# %% e
def occupancy(arrival, rates):
    from labkit.theory.chains import number_inside

    return number_inside(float(arrival), float(rates[0]))[: len(rates) + 1]
