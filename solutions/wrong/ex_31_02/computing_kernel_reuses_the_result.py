# expects: members computing-ignored

# %% b
members = static
seats = dict(static)
