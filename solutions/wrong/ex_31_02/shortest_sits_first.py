# expects: continuous_ms shortest-first

# %% continuous
def continuous_ms(remaining, round_ms):
    left, now, done = {}, 0, [0] * len(remaining)
    waiting = sorted(range(len(remaining)), key=lambda i: remaining[i])
    while waiting or left:
        while waiting and len(left) < len(round_ms):
            i = waiting.pop(0)
            left[i] = remaining[i]
        now += round_ms[len(left) - 1]
        for i in list(left):
            left[i] -= 1
            if left[i] == 0:
                del left[i]
                done[i] = now
    return done
