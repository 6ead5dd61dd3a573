# expects: grow pages-by-bytes

# %% b
def grow(lengths, more, page_tokens, token_kib):
    after = [-(-(n + m) // page_tokens) for n, m in zip(lengths, more)]
    payload = sum(more) * token_kib
    return {
        "pages": after,
        "room": [p * page_tokens - n - m for p, n, m in zip(after, lengths, more)],
        "new_pages": sum(after) - sum(-(-n // page_tokens) for n in lengths),
        "allocated_kib": payload,
        "payload_kib": payload,
    }
