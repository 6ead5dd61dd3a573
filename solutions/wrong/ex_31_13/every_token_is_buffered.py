# expects: signals direct-unread

# %% a
def signals(events, times):
    queue_age = []
    for t in times:
        waiting = {}
        for e in events:
            if e[0] <= t and e[1] == "submit":
                waiting[e[2]] = e[0]
            elif e[0] <= t and e[1] == "admit":
                waiting.pop(e[2], None)
        queue_age.append(max((t - at for at in waiting.values()), default=0))
    rounds = [e for e in events if e[1] == "round"]
    chunk_time = max((e[0] - e[2] for e in rounds if any(i[2] == "prefill" for i in e[3])), default=None)
    last, token_gap, unread, most = {}, None, {}, 0
    direct = {e[2] for e in events if e[1] == "submit" and e[4]}
    for e in events:
        if e[1] == "token":
            before, last[e[2]] = last.get(e[2]), e[0]
            if before is not None:
                token_gap = max(token_gap or 0, e[0] - before)
            if True:
                unread[e[2]] = unread.get(e[2], 0) + 1
                most = max(most, unread[e[2]])
        elif e[1] == "deliver":
            unread[e[2]] -= 1
    return {"queue_age": queue_age, "chunk_time": chunk_time, "token_gap": token_gap, "output_buffer": most}
