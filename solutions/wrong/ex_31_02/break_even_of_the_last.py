# expects: break_even ratio-of-makespan

# %% c
static_formula = [
    left_b * t2 + (left_a - left_b) * t1,
    left_b * t2,
    left_b * t2 + (left_a - left_b + left_c) * t1,
]
continuous_formula = [
    (left_b + left_c) * t2 + (left_a - left_b - left_c) * t1,
    left_b * t2,
    (left_b + left_c) * t2,
]
gain = (sum(static_formula) - sum(continuous_formula)) / 3
delay_a = continuous_formula[0] - static_formula[0]
break_even = sp.solve((static_formula[2] - continuous_formula[0]).subs(t1, 1), t2)[0]
