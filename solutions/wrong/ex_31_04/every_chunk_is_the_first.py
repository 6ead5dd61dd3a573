# expects: work history-forgotten

# %% d
def work(s, chunks):
    return {
        "pairs": sum(new * s + new * (new + 1) // 2 for new in chunks),
        "history_reads": s * len(chunks),
        "extra_launches": len(chunks) - 1,
    }
