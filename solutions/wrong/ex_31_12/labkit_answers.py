# expects: work not-there

# %% d-work
def work(events):
    from labkit.measure.fold import Measures

    done = Measures().feed_all(events).close().work
    return {
        "recompute": [done.recomputed, done.executed - done.recomputed],
        "new": [done.generated, done.executed],
        "preemptions": sum(done.preemptions.values()),
    }
