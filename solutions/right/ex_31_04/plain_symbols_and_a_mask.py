# %% a
import numpy as np

x, y = sp.symbols("s q")
visible = sp.Symbol("s") + sp.Symbol("r")
history_part = x * y
new_part = sp.binomial(y + 1, 2)
pairs = y * (2 * x + y + 1) / 2

# %% b
a, b, n, m = sp.symbols("q1 q2 j k")
second_history = x + a
first_pairs = sp.Rational(1, 2) * a * (2 * x + a + 1)
second_pairs = b * x + a * b + b**2 / 2 + 0.5 * b
difference = sp.Integer(0)
chunk_history = x - y + n * y
chunk_pairs = y * x + y**2 * (n - 1) + y**2 / 2 + y / 2
total_pairs = m * y * x + m * y * (m * y + 1) / 2

# %% c
history_reads = sp.Sum(x + (n - 1) * y, (n, 1, m)).doit()
extra_launches = m - 1
models = {
    count: count * launch + total_pairs * pair + reads * read
    for count, reads in ((m, history_reads), (1, x))
}
extra_time = sp.simplify(models[m] - models[1])
conserved = ["每个查询可见的键", "配对总数"]

# %% d
def work(s, chunks):
    ends = s + np.cumsum(chunks)
    starts = ends - chunks
    seen = np.tri(int(ends[-1]), dtype=int)  # row: query, column: key
    return {
        "pairs": seen[s:].sum(),
        "history_reads": int(starts.sum()),
        "extra_launches": float(len(starts) - 1),
    }
