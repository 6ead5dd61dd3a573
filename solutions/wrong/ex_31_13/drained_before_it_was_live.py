# expects: drained_at before-live

# %% c-drained
def drained_at(events, live_at):
    here = 0
    for number, e in enumerate(events):
        here += (e[1] == "submit") - (e[1] == "admit")
        following = events[number + 1][0] if number + 1 < len(events) else None
        if here == 0 and following != e[0]:
            if e[0] >= 0:
                return e[0]
            if following is not None and following > 0:
                return 0
    return None
