# expects: tail_bound independence-assumed

# %% a
coverage = level**2
tail_bound = 1 - coverage
stage_level = level**0.5
claims = {"A": False, "B": True, "C": False, "D": True, "E": True, "F": True}
