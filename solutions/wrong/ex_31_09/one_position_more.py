# expects: mean_token_cost position-off-by-one

# %% b
import sympy as sp

n, k, s, c0, c1, n_a, n_b, s_a, s_b, i = sp.symbols("n k s c0 c1 n_a n_b s_a s_b i")
token_cost = c0 + c1 * (s + k)
request_cost = sp.summation(c0 + c1 * (s + i), (i, 1, n))
mean_token_cost = sp.simplify(request_cost / n)
time_ratio = mean_token_cost.subs({n: n_b, s: s_b}) / mean_token_cost.subs({n: n_a, s: s_a})
time_ratio_value = time_ratio.subs({n_a: tokens_a, n_b: tokens_b, s_a: history_a, s_b: history_b, c0: base, c1: slope})
