# expects: grow not-there

# %% b
def grow(lengths, more, page_tokens, token_kib):
    from labkit.core.pages import PagePool

    pool = PagePool(None)
    before = [len(pool.take(-(-n // page_tokens))) for n in lengths]
    after = [-(-(n + m) // page_tokens) for n, m in zip(lengths, more)]
    new = sum(len(pool.take(late - early)) for early, late in zip(before, after))
    return {
        "pages": after,
        "room": [p * page_tokens - n - m for p, n, m in zip(after, lengths, more)],
        "new_pages": new,
        "allocated_kib": new * page_tokens * token_kib,
        "payload_kib": sum(more) * token_kib,
    }
