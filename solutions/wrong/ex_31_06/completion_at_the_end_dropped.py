# expects: rate half-open

# %% a
start, end = window
marks = sorted({start, end, *(t for pair in residences for t in pair)})
steps = [
    {"start": early, "end": late, "count": sum(a <= early < c for a, c in residences)}
    for early, late in zip(marks, marks[1:])
]
area = sum(c - a for a, c in residences)
mean_number = area / (end - start)
rate = sum(start <= c < end for _, c in residences) / (end - start)
mean_residence = area / len(residences)
rate_half_open = rate
