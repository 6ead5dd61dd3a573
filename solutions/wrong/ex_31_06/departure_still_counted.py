# expects: steps closed-end

# %% a
start, end = window
marks = sorted({start, end, *(t for pair in residences for t in pair)})
steps = [
    {"start": early, "end": late, "count": sum(a <= early <= c for a, c in residences)}
    for early, late in zip(marks, marks[1:])
]
area = sum(step["count"] * (step["end"] - step["start"]) for step in steps)
mean_number = area / (end - start)
rate = len(residences) / (end - start)
mean_residence = area / len(residences)
rate_half_open = (len(residences) - 1) / (end - start)
