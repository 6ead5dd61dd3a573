# expects: static held

# %% a
a, b, c = remaining
one, two = round_ms
end = b * two + (a - b) * one
static = {"A": end, "B": end, "C": end + c * one, "mean": end + c * one / 3}
continuous = {
    "A": (b + c) * two + (a - b - c) * one,
    "B": b * two,
    "C": (b + c) * two,
    "mean": (3 * b + 2 * c) * two / 3 + (a - b - c) * one / 3,
}
later = ["A"]
