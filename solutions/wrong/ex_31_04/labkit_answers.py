# expects: work not-there

# %% d
def work(s, chunks):
    from labkit.theory.chunks import any_split

    return any_split()
