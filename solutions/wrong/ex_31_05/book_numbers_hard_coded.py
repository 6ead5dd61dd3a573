# expects: grow constant

# %% b
def grow(lengths, more, page_tokens, token_kib):
    return {"pages": [17, 17], "room": [13, 15], "new_pages": 1, "allocated_kib": 1024, "payload_kib": 256}
