# expects: sent closed-keeps-rate

# %% a
planned = [k * gap for k in range(count)]
in_stall = sum(stall_start <= t < stall_end for t in planned)
sent = {"open": in_stall, "closed": in_stall}
slow = {"open": in_stall, "closed": in_stall, "connection_sent": 1, "connection_intended": in_stall}
