# expects: time_ratio_value equal-tokens-equal-time

# %% b
import sympy as sp

n, k, s, c0, c1 = sp.symbols("n k s c0 c1")
token_cost = c0 + c1 * (s + k - 1)
request_cost = n * c0 + c1 * (n * s + n * (n - 1) / 2)
mean_token_cost = request_cost / n
time_ratio = sp.Integer(1)
time_ratio_value = 1.0
