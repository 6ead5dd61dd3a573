# expects: allocated_mib pages-by-bytes

# %% a
lengths_after = [n + more for n in lengths]
pages_before = [-(-n // page_tokens) for n in lengths]
pages_after = [-(-n // page_tokens) for n in lengths_after]
page_of_new = [[(n + j - 1) // page_tokens + 1 for j in range(1, more + 1)] for n in lengths]
new_pages = sum(pages_after) - sum(pages_before)
payload_kib = 2 * more * token_kib
allocated_mib = payload_kib / 1024
