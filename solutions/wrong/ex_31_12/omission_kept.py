# expects: slow omission

# %% a
def run(sends):
    ends, free = [], 0
    for t in sends:
        start = max(t, free)
        if stall_start <= start < stall_end:
            start = stall_end
        free = start + service
        ends.append(free)
    return ends


planned = [k * gap for k in range(count)]
single = []
for t in planned:
    single.append(max([t, *run(single)[-1:]]))
slower = [end - start > limit for start, end in zip(single, run(single))]
sent = {"open": sum(stall_start <= t < stall_end for t in planned), "closed": 1}
slow = {
    "open": sum(end - start > limit for start, end in zip(planned, run(planned))),
    "closed": 1,
    "connection_sent": sum(slower),
    "connection_intended": sum(slower),
}
