# %% a
class Ledger:
    """The whole truth is the list of what was accepted; everything is worked out from it again."""

    def __init__(self, log):
        self.outcome, self.live, self.done = {}, [], []
        self.generation, self.flying = {"p": 0, "q": 0}, {"p": 0, "q": 0}
        for entry in log:
            self.commit(entry)

    def commit(self, entry):
        what, *key = entry
        if what == "end":
            self.outcome[key[0]] = key[1]
        elif what == "take":
            self.live.append(key)
        elif what == "give":
            self.live.remove(key)
        elif what == "recycle":
            self.generation[key[0]] += 1
        else:
            self.flying[key[0]] = 1 if what == "fly" else 0

    def free(self, page):
        return self.flying[page] == 0 and all(held != page for _, held, _ in self.live)


def handle(state, event):
    log = list(state.get("log", []))
    now = Ledger(log)
    kind, who, page = event["kind"], event["request"], event["page"]
    entries, said = [], []
    if kind in ("cancel", "finish"):
        if who in now.outcome:
            said = [("report-" + now.outcome[who], who)]
        else:
            entries = [["end", who, {"cancel": "cancelled", "finish": "finished"}[kind]]]
            said = [("end-" + entries[0][2], who)]
    elif kind == "preempted":
        said = [("enqueue" if who not in now.outcome else "refuse", who)]
    elif kind == "release":
        key = [who, page, event["number"]]
        if key in now.live:
            entries, said = [["give", *key]], [("drop", page)]
        else:
            said = [("refuse", page)]
    elif event["generation"] != now.generation[page]:
        said = [("refuse", page)]
    elif kind == "acquire" and who not in now.outcome:
        entries = [["take", who, page, event["number"]]]
    elif kind == "launch" and any(held == page for _, held, _ in now.live):
        entries = [["fly", page]]
    elif kind == "fence" and now.flying[page]:
        entries = [["land", page]]
    else:
        said = [("refuse", page)]
    if entries and entries[0][0] in ("give", "land"):
        after = Ledger(log + entries)
        if after.free(page):
            entries.append(["recycle", page])
            said.append(("recycle", page))
    return {"state": {"log": log + entries}, "actions": [{"of": of, "do": do} for do, of in said]}

# %% b
def with_shared_page():
    yield make("acquire", "s", "q", 1, 0)
    yield make("acquire", "r", "q", 1, 0)
    yield make("release", "r", "q", 1)
    yield make("acquire", "r", "q", 2, 0)
    yield make("release", "r", "q", 2)


breaks_key = list(with_shared_page())
breaks_queue = [make("preempted", "s"), make("cancel", "r"), make("cancel", "r"), make("preempted", "r")]
breaks_fence = [
    make("acquire", "s", "q", 1, 0),
    make("launch", "q", 0),
    make("cancel", "s"),
    make("acquire", "r", "q", 1, 0),
    make("release", "s", "q", 1),
    make("release", "r", "q", 1),
]
breaks_generation = [
    make("acquire", "r", "q", 1, 0),
    make("launch", "q", 0),
    make("release", "r", "q", 1),
    make("fence", "q", 0),
    make("acquire", "r", "q", 2, 1),
    make("launch", "q", 1),
    make("release", "r", "q", 2),
    make("fence", "q", 0),
]
