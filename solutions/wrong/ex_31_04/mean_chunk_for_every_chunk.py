# expects: work equal-chunks

# %% d
def work(s, chunks):
    total, k = sum(chunks), len(chunks)
    return {
        "pairs": total * s + total * (total + 1) // 2,
        "history_reads": k * s + total * (k - 1) // 2,
        "extra_launches": k - 1,
    }
