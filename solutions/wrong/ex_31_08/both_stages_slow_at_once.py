# expects: tail_bound both-slow

# %% a
tail_bound = (1 - level) ** 2
coverage = 1 - tail_bound
stage_level = 1 - (1 - level) / 2
claims = {"A": False, "B": True, "C": False, "D": False, "E": True, "F": True}
