# expects: stage_level level-lowered

# %% a
tail_bound = 2 * (1 - level)
coverage = 1 - tail_bound
stage_level = 1 - 2 * (1 - level)
claims = {"A": False, "B": True, "C": False, "D": False, "E": False, "F": True}
