# expects: coverage percentile-sum

# %% a
tail_bound = 1 - level
coverage = level
stage_level = level
claims = {"A": True, "B": True, "C": True, "D": False, "E": True, "F": True}
