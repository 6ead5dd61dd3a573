# expects: chunk_history chunk-index

# %% b
def chunk(history, new):
    return pairs.subs({s: history, q: new}, simultaneous=True)


second_history = s + q1
first_pairs = chunk(s, q1)
second_pairs = chunk(s + q1, q2)
difference = 0
chunk_history = s + j * q
chunk_pairs = chunk(chunk_history, q)
total_pairs = sp.summation(chunk_pairs, (j, 0, k - 1))
