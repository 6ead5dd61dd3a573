# %% a
import numpy as np

shares = np.array(lengths) / np.max(lengths)
linear, attention = shares.mean(), (shares**2).mean()

# %% b
def utilisation(lengths, executed):
    lengths, executed = np.array(lengths, dtype=float), np.array(executed, dtype=float)
    if not np.all(executed == lengths.max()):
        return None
    return {
        "linear": lengths.sum() / executed.sum(),
        "attention": np.square(lengths).sum() / np.square(executed).sum(),
    }

# %% c
def varlen_work(lengths, block):
    blocks = np.ceil(np.array(lengths) / block)
    lower_triangles = np.array([np.tri(int(n)).sum() for n in blocks])
    return {"positions": blocks.sum() * block, "pairs": lower_triangles.sum() * block**2}

# %% d
costs = np.array([launch_us, position_us, pair_us])
padded = np.array([1, len(lengths) * max(lengths), len(lengths) * max(lengths) ** 2])
varlen = np.array([1, *varlen_work(lengths, block).values()])
padded_us, varlen_us = costs @ padded, costs @ varlen + setup_us
speedup = padded_us / varlen_us
