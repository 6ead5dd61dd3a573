# expects: speedup reciprocal

# %% d
count, longest = len(lengths), max(lengths)
padded_us = launch_us + count * longest * position_us + count * longest**2 * pair_us
varlen_us = padded_us * attention
speedup = 1 / attention
