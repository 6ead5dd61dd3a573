# expects: steps steps-gap

# %% a
start, end = window
steps = [{"start": a, "end": c, "count": 1} for a, c in residences]
area = sum(c - a for a, c in residences)
mean_number = area / (end - start)
rate = len(residences) / (end - start)
mean_residence = area / len(residences)
rate_half_open = (len(residences) - 1) / (end - start)
