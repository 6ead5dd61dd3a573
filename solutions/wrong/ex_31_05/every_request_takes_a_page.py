# expects: new_pages always-new

# %% a
lengths_after = [n + more for n in lengths]
pages_before = [-(-n // page_tokens) for n in lengths]
pages_after = [n + 1 for n in pages_before]
page_of_new = [[n] * more for n in pages_after]
new_pages = 2
allocated_mib = new_pages * page_tokens * token_kib / 1024
payload_kib = 2 * more * token_kib
