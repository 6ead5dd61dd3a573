# expects: drained_at server-empty

# %% c-drained
def drained_at(events, live_at):
    here = 0
    for number, e in enumerate(events):
        here += (e[1] == "submit") - (e[1] == "finish")
        following = events[number + 1][0] if number + 1 < len(events) else None
        if here == 0 and following != e[0]:
            if e[0] >= live_at:
                return e[0]
            if following is not None and following > live_at:
                return live_at
    return None
