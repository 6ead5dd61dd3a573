# %% a
def triangle(n):
    return n * (n + 1) / 2


visible = r + s
pairs = triangle(s + q) - triangle(s)
new_part = triangle(q)
history_part = sp.simplify(pairs - new_part)

# %% b
second_history = q1 + s
first_pairs = triangle(s + q1) - triangle(s)
second_pairs = triangle(s + q1 + q2) - triangle(s + q1)
difference = first_pairs + second_pairs - (triangle(s + q1 + q2) - triangle(s))
chunk_history = s + j * q - q
chunk_pairs = triangle(s + j * q) - triangle(chunk_history)
total_pairs = triangle(s + k * q) - triangle(s)

# %% c
history_reads = k * (2 * s + (k - 1) * q) / 2
extra_launches = -(1 - k)
extra_time = (k - 1) * (launch + read * (s + k * q / 2))
conserved = ("配对总数", "每个查询可见的键")

# %% d
def work(s, chunks):
    last = s + sum(chunks)
    tops = [last * (last + 1) // 2, s * (s + 1) // 2]
    reads = sum(s + sum(chunks[:n]) for n in range(len(chunks)))
    return {"extra_launches": len(chunks[1:]), "pairs": tops[0] - tops[1], "history_reads": reads}
