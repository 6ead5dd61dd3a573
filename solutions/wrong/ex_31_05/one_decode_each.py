# expects: pages_after one-step

# %% a
lengths_after = [n + 1 for n in lengths]
pages_before = [-(-n // page_tokens) for n in lengths]
pages_after = [-(-n // page_tokens) for n in lengths_after]
page_of_new = [[n] * more for n in pages_before]
new_pages = sum(pages_after) - sum(pages_before)
allocated_mib = new_pages * page_tokens * token_kib / 1024
payload_kib = 2 * token_kib
