# expects: cut_area only-inside

# %% b
clipped = [c - a if cut[0] <= a and c <= cut[1] else 0 for a, c in residences]
cut_area = sum(clipped)
excess = sum(c - a for a, c in residences) - cut_area
