# expects: gain numbers-not-symbols

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
numbers = {t1: one, t2: two}
gain = sp.expand(sum(static_formula) - sum(continuous_formula)).subs(numbers) / 3
delay_a = (continuous_formula[0] - static_formula[0]).subs(numbers)
break_even = two / one
