# expects: grow pooled

# %% b
def grow(lengths, more, page_tokens, token_kib):
    def pages(n):
        return -(-n // page_tokens)

    now = [n + m for n, m in zip(lengths, more)]
    new = pages(sum(now)) - pages(sum(lengths))
    return {
        "pages": [pages(n) for n in now],
        "room": [-n % page_tokens for n in now],
        "new_pages": new,
        "allocated_kib": new * page_tokens * token_kib,
        "payload_kib": sum(more) * token_kib,
    }
