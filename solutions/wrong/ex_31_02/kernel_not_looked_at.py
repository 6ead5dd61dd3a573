# expects: static_ms computing-ignored

# %% static
def static_ms(remaining, round_ms, kernel):
    now, done, size = 0, [], len(round_ms)
    for first in range(0, len(remaining), size):
        batch = remaining[first : first + size]
        ends = []
        for turn in range(max(batch)):
            now += round_ms[sum(left > turn for left in batch) - 1]
            ends.append(now)
        done += [ends[left - 1] for left in batch]
    return done
