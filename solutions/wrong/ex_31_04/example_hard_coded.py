# expects: work constant

# %% d
def work(s, chunks):
    return {"pairs": 45, "history_reads": 19, "extra_launches": 2}
