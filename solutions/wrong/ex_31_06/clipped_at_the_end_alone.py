# expects: clipped clip-one-end

# %% b
clipped = [min(c, cut[1]) - a for a, c in residences]
cut_area = sum(clipped)
excess = sum(c - a for a, c in residences) - cut_area
