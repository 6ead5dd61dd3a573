# expects: token_cost history-ignored

# %% b
import sympy as sp

n, k, s, c0, c1, n_a, n_b, s_a, s_b = sp.symbols("n k s c0 c1 n_a n_b s_a s_b")
token_cost = c0 + c1 * k
request_cost = n * c0 + c1 * n * (n + 1) / 2
mean_token_cost = request_cost / n
time_ratio = 1
time_ratio_value = 1
