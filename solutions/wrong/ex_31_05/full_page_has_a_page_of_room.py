# expects: grow room-full

# %% b
import math


def grow(lengths, more, page_tokens, token_kib):
    after = [math.ceil((n + m) / page_tokens) for n, m in zip(lengths, more)]
    new = sum(after) - sum(math.ceil(n / page_tokens) for n in lengths)
    return {
        "pages": after,
        "room": [page_tokens - (n + m) % page_tokens for n, m in zip(lengths, more)],
        "new_pages": new,
        "allocated_kib": new * page_tokens * token_kib,
        "payload_kib": sum(more) * token_kib,
    }
