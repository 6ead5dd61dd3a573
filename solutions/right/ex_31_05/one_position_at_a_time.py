# %% a
import numpy as np

held = np.array(lengths)
lengths_after = held + more
pages_before = np.ceil(held / page_tokens)
pages_after = np.ceil(lengths_after / page_tokens)
page_of_new = [(np.arange(n, n + more) // page_tokens + 1) for n in held]
new_pages = (pages_after - pages_before).sum()
allocated_mib = float(new_pages) * page_tokens * token_kib / 2**10
payload_kib = np.full(2, more).sum() * token_kib

# %% b
class Table:
    """Fills pages position by position, as a cache would."""

    def __init__(self, page_tokens):
        self.page_tokens, self.pages, self.room, self.taken = page_tokens, 0, 0, 0

    def write(self, count):
        for _ in range(count):
            if self.room == 0:
                self.pages, self.room, self.taken = self.pages + 1, self.page_tokens, self.taken + 1
            self.room -= 1


def grow(lengths, more, page_tokens, token_kib):
    tables = []
    for had, gets in zip(lengths, more):
        table = Table(page_tokens)
        table.write(had)
        table.taken = 0
        table.write(gets)
        tables.append(table)
    taken = sum(table.taken for table in tables)
    return {
        "pages": [table.pages for table in tables],
        "room": [table.room for table in tables],
        "new_pages": taken,
        "allocated_kib": float(taken * page_tokens * token_kib),
        "payload_kib": np.sum(np.array(more, dtype=int)) * token_kib,
    }
