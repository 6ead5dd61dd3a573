# expects: token_ratio one-fairness

# %% a
token_ratio = 1
token_share_a = 0.5
request_ratio = 1
