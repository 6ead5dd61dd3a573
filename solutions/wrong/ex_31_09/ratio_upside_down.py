# expects: request_ratio inverted

# %% a
token_ratio = tokens_a / tokens_b
token_share_a = tokens_a / (tokens_a + tokens_b)
request_ratio = tokens_a / tokens_b
