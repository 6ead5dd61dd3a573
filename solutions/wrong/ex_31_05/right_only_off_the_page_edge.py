# expects: grow plus-one

# %% b
def grow(lengths, more, page_tokens, token_kib):
    now = [n + m for n, m in zip(lengths, more)]
    before = [n // page_tokens + 1 for n in lengths]
    after = [n // page_tokens + 1 for n in now]
    new = sum(after) - sum(before)
    return {
        "pages": after,
        "room": [p * page_tokens - n for p, n in zip(after, now)],
        "new_pages": new,
        "allocated_kib": new * page_tokens * token_kib,
        "payload_kib": sum(more) * token_kib,
    }
