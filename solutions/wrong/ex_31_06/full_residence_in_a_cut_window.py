# expects: cut_area full-residence

# %% b
clipped = [c - a for a, c in residences]
cut_area = sum(clipped)
excess = 0
