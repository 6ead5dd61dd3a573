# expects: continuous_ms late-join

# %% continuous
def continuous_ms(remaining, round_ms):
    left, now, done, freed = {}, 0, [0] * len(remaining), False
    waiting = list(range(len(remaining)))
    while waiting or left:
        if not freed or not left:
            while waiting and len(left) < len(round_ms):
                i = waiting.pop(0)
                left[i] = remaining[i]
        freed = False
        now += round_ms[len(left) - 1]
        for i in list(left):
            left[i] -= 1
            if left[i] == 0:
                del left[i]
                done[i], freed = now, True
    return done
