# expects: claims independent-adds

# %% a
tail_bound = 2 * (1 - level)
coverage = 1 - tail_bound
stage_level = 1 - (1 - level) / 2
claims = {"A": False, "B": True, "C": True, "D": False, "E": True, "F": True}
