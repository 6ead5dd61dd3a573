# expects: slow only-the-stall

# %% a
held = sum(stall_start <= k * gap < stall_end for k in range(count))
sent = {"open": held, "closed": 1}
slow = {"open": held, "closed": 1, "connection_sent": 1, "connection_intended": held}
