# expects: second_pairs history-forgotten

# %% b
def chunk(history, new):
    return pairs.subs({s: history, q: new}, simultaneous=True)


second_history = s
first_pairs = chunk(s, q1)
second_pairs = chunk(s, q2)
difference = sp.expand(first_pairs + second_pairs - chunk(s, q1 + q2))
chunk_history = s
chunk_pairs = pairs
total_pairs = k * pairs
