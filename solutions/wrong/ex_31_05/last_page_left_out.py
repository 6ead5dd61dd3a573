# expects: pages_before floor

# %% a
lengths_after = [n + more for n in lengths]
pages_before = [n // page_tokens for n in lengths]
pages_after = [n // page_tokens for n in lengths_after]
page_of_new = [[(n + j) // page_tokens for j in range(1, more + 1)] for n in lengths]
new_pages = sum(pages_after) - sum(pages_before)
allocated_mib = new_pages * page_tokens * token_kib / 1024
payload_kib = 2 * more * token_kib
