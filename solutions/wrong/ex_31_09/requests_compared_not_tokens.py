# expects: time_ratio request-not-token

# %% b
import sympy as sp

n, k, s, c0, c1, n_a, n_b, s_a, s_b = sp.symbols("n k s c0 c1 n_a n_b s_a s_b")
token_cost = c0 + c1 * (s + k - 1)
request_cost = n * c0 + c1 * (n * s + n * (n - 1) / 2)
mean_token_cost = request_cost / n
time_ratio = request_cost.subs({n: n_b, s: s_b}) / request_cost.subs({n: n_a, s: s_a})
time_ratio_value = time_ratio.subs({n_a: tokens_a, n_b: tokens_b, s_a: history_a, s_b: history_b, c0: base, c1: slope})
