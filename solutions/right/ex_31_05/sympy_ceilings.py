# %% a
import sympy as sp

page_mib = sp.Rational(page_tokens * token_kib, 1024)
lengths_after = [sp.Integer(n + more) for n in lengths]
pages_before = [sp.ceiling(sp.Rational(n, page_tokens)) for n in lengths]
pages_after = [sp.ceiling(n / page_tokens) for n in lengths_after]
page_of_new = [[sp.ceiling(sp.Rational(n + j, page_tokens)) for j in range(1, more + 1)] for n in lengths]
new_pages = sum(late - early for early, late in zip(pages_before, pages_after))
allocated_mib = new_pages * page_mib
payload_kib = sp.Integer(token_kib) * more * 2

# %% b
def grow(lengths, more, page_tokens, token_kib):
    pages, room, new = [], [], sp.Integer(0)
    for had, gets in zip(lengths, more):
        left = -had % page_tokens
        extra = sp.ceiling(sp.Rational(max(0, gets - left), page_tokens))
        pages.append(sp.ceiling(sp.Rational(had, page_tokens)) + extra)
        room.append(left + extra * page_tokens - gets)
        new += extra
    return {
        "payload_kib": sum(more) * token_kib,
        "new_pages": new,
        "room": room,
        "pages": tuple(pages),
        "allocated_kib": new * page_tokens * token_kib,
    }
