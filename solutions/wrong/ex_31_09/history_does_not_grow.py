# expects: request_cost history-frozen

# %% b
import sympy as sp

n, k, s, c0, c1, n_a, n_b, s_a, s_b = sp.symbols("n k s c0 c1 n_a n_b s_a s_b")
token_cost = c0 + c1 * (s + k - 1)
request_cost = n * (c0 + c1 * s)
mean_token_cost = c0 + c1 * s
time_ratio = (c0 + c1 * s_b) / (c0 + c1 * s_a)
time_ratio_value = (base + slope * history_b) / (base + slope * history_a)
