# expects: mean_number mean-over-requests

# %% a
start, end = window
marks = sorted({start, end, *(t for pair in residences for t in pair)})
steps = [
    {"start": early, "end": late, "count": sum(a <= early < c for a, c in residences)}
    for early, late in zip(marks, marks[1:])
]
area = sum(c - a for a, c in residences)
mean_number = area / len(residences)
rate = len(residences) / (end - start)
mean_residence = area / (end - start)
rate_half_open = (len(residences) - 1) / (end - start)
