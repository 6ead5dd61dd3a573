# expects: seats empty-seat-ignored

# %% b
members = record(left_a * two, left_b * two, left_a * two + left_c * one)
seats = members
