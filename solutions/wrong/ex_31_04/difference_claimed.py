# expects: difference not-derived

# %% b
second_history = s + q1
first_pairs = s * q1 + q1**2
second_pairs = (s + q1) * q2 + q2**2
difference = 0
chunk_history = s + (j - 1) * q
chunk_pairs = chunk_history * q + q**2
total_pairs = k * q * s + (k * q) ** 2
