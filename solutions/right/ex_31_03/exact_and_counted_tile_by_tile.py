# %% a
from fractions import Fraction

import sympy as sp

linear = sum(Fraction(p, max(lengths)) for p in lengths) / len(lengths)
attention = sp.Add(*(sp.Rational(p, max(lengths)) ** 2 for p in lengths)) / len(lengths)

# %% b
def utilisation(lengths, executed):
    shape = {*executed, max(lengths)}
    if len(shape) > 1:
        return None
    (side,) = shape
    shares = [Fraction(p, side) for p in lengths]
    return {
        "attention": sum(x * x for x in shares) / len(shares),
        "linear": sum(shares) / len(shares),
    }

# %% c
def varlen_work(lengths, block):
    positions = pairs = 0
    for length in lengths:
        starts = range(0, length, block)
        positions += len(starts) * block
        for query in starts:
            for key in starts:
                if key <= query + block - 1:  # the first key is seen by the block's last query
                    pairs += block * block
    return {"positions": positions, "pairs": pairs}

# %% d
exact = [Fraction(str(number)) for number in (launch_us, setup_us, position_us, pair_us)]


def time(positions, pairs, setup=0):
    return exact[0] + setup + positions * exact[2] + pairs * exact[3]


padded_us = time(*(sum(max(lengths) ** power for _ in lengths) for power in (1, 2)))
varlen_us = time(**varlen_work(lengths, block), setup=exact[1])
speedup = padded_us / varlen_us
