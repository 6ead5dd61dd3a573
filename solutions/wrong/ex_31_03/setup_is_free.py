# expects: varlen_us setup-forgotten

# %% d
count, longest = len(lengths), max(lengths)
padded_us = launch_us + count * longest * position_us + count * longest**2 * pair_us
done = varlen_work(lengths, block)
varlen_us = launch_us + done["positions"] * position_us + done["pairs"] * pair_us
speedup = padded_us / varlen_us
