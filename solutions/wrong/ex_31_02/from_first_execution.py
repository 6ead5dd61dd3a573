# expects: continuous_ms from-start

# %% continuous
def continuous_ms(remaining, round_ms):
    left, begun, now, done = {}, {}, 0, [0] * len(remaining)
    waiting = list(range(len(remaining)))
    while waiting or left:
        while waiting and len(left) < len(round_ms):
            i = waiting.pop(0)
            left[i], begun[i] = remaining[i], now
        now += round_ms[len(left) - 1]
        for i in list(left):
            left[i] -= 1
            if left[i] == 0:
                del left[i]
                done[i] = now - begun[i]
    return done
