"""Hidden checks of exercise 31.11 (Q31.11): a handler under every order of events, orders under faulty handlers."""

import random
from fractions import Fraction

from labkit.grade.ch31.ex_31_11 import event, in_order
from labkit.grade.checks import CONSTANT, Trial, Verdict, partly, right, wrong
from labkit.grade.forms import FormError

MOST_CALLS = 3_000  # of a student's handler, over the interleavings of one scenario
START = {"ended": {}, "held": {}, "released": {}, "generation": {}, "flying": {}}


def handle(state, e, flaw=""):
    """The right handler: (new state, actions as pairs). `flaw` names the one rule that is broken on purpose."""
    state = {name: dict(table) for name, table in state.items()}
    ended, held, released, flying = (state[k] for k in ("ended", "held", "released", "flying"))
    kind, who, page = e["kind"], e["request"], e["page"]
    now = state["generation"].get(page, 0)
    key = (who, page, e["number"])
    refused = state, [("refuse", page or who)]

    def settled():
        """[recycle] and what it does, once nobody uses the page."""
        if any(k[1] == page for k in held) or (page in flying and flaw != "fence"):
            return []
        state["generation"][page] = now + 1
        flying.pop(page, None)
        return [("recycle", page)]

    if kind in ("cancel", "finish"):
        if who in ended:
            return state, [(f"report-{ended[who]}", who)]
        ended[who] = "cancelled" if kind == "cancel" else "finished"
        return state, [(f"end-{ended[who]}", who)]
    if kind == "preempted":
        return refused if who in ended and flaw != "queue" else (state, [("enqueue", who)])
    if kind == "release":
        once = (who, page) if flaw == "key" else key
        if key not in held or once in released:
            return refused
        released[once] = True
        del held[key]
        return state, [("drop", page), *settled()]
    if e["generation"] != now and not (kind == "fence" and flaw == "generation"):
        return refused
    if kind == "acquire":
        if who in ended:
            return refused
        held[key] = True
        return state, []
    if kind == "launch":
        if not any(k[1] == page for k in held):
            return refused
        flying[page] = True
        return state, []
    if page not in flying:
        return refused
    del flying[page]
    return state, settled()


def acquire(who, page, number, generation):
    return event("acquire", who, page, number, generation)


def release(who, page, number):
    return event("release", who, page, number)


def launch(page, generation):
    return event("launch", page, generation)


def fence(page, generation):
    return event("fence", page, generation)


def cancel(who):
    return event("cancel", who)


def finish(who):
    return event("finish", who)


def preempted(who):
    return event("preempted", who)


# ------------------------------------------------------------------------------------------------ what went wrong


def named(before, e, expected, given):
    """The misconception that shows in one wrong answer to one event; `before` is the right state."""
    kind, who, page = e["kind"], e["request"], e["page"]
    does, due = {do for do, _ in given}, {do for do, _ in expected}
    if kind in ("cancel", "finish"):
        if who not in before["ended"]:
            return "not-ended" if not any(do.startswith("end-") for do in does) else ""
        return "ends-twice" if any(do.startswith("end-") for do in does) else "record-not-read"
    if kind == "preempted":
        return "revived" if "enqueue" in does and "enqueue" not in due else "not-enqueued"
    key = (who, page, e["number"])
    if kind == "release" and "drop" in does - due:
        return "released-twice" if key in before["released"] else "release-of-refused"
    if "recycle" in does - due:
        if any(other[1] == page for other in before["held"] if other != key):
            return "recycled-while-shared"
        if page in before["flying"]:
            return "recycled-in-flight"
    if kind == "release" and "drop" in due - does:
        if any(done[:2] == (who, page) for done in before["released"]):
            return "key-without-acquisition"
        if any(done[1:] == key[1:] for done in before["released"]):
            return "key-without-request"
        if any(other[:2] == (who, page) for other in before["held"] if other != key):
            return "holds-only-once"
        return "terminal-keeps-pages" if who in before["ended"] else "not-released"
    if "recycle" in due - does and "refuse" not in does:
        return "never-recycled"
    if "refuse" in due - does:
        if e["generation"] is not None and e["generation"] != before["generation"].get(page, 0):
            return "old-generation"
        return {
            "acquire": "terminal-acquires",
            "launch": "launch-without-reference",
            "fence": "fence-twice",
        }.get(kind, "")
    if "refuse" in does - due and e["generation"]:
        return "generation-not-advanced"
    return ""


class Attack:
    """A student's handler beside the right one; `found` holds the first fault with requests and with pages."""

    def __init__(self, trial: Trial):
        self.trial, self.calls, self.found, self.order = trial, 0, {}, []
        self.answers = set()

    def step(self, theirs, ours, e):
        """Give one event to both; returns both new states, or None where theirs is not usable any more."""
        self.calls += 1
        after, expected = handle(ours, e)
        try:
            result = self.trial.call(theirs, e)
        except FormError:
            if self.calls == 1:
                raise
            self.note(e, "")
            return None
        given = [(action["do"], action["of"]) for action in result["actions"]]
        self.answers.add(tuple(given))
        if sorted(given) != sorted(expected):
            self.note(e, named(ours, e, expected, given))
        return result["state"], after

    def note(self, e, key):
        """Keep the first fault of either side."""
        side = "pages" if e["page"] else "requests"
        if side not in self.found:
            self.found[side] = key
            self.order.append(key)

    def run(self, events):
        """One order, from the start."""
        theirs, ours = {}, START
        for e in events:
            after = self.step(theirs, ours, e)
            if after is None:
                return
            theirs, ours = after

    def every_order(self, events, after):
        """Every order that keeps `after` (index -> those before it); what was met twice is looked at once."""
        most = self.calls + MOST_CALLS
        seen = set()
        stack = [({}, START, frozenset(range(len(events))))]
        while stack and self.calls < most:
            theirs, ours, left = stack.pop()
            mark = (repr(theirs), repr(ours), left)
            if mark in seen:
                continue
            seen.add(mark)
            for i in sorted(left):
                e = events[i]
                ahead = (e["generation"] or 0) > ours["generation"].get(e["page"], 0)
                if left & set(after.get(i, ())) or ahead:
                    continue
                next_states = self.step(theirs, ours, e)
                if next_states is not None:
                    stack.append((*next_states, left - {i}))


# ------------------------------------------------------------------------------------------------ attacks

TELLING = [
    [cancel("r"), cancel("r"), finish("r"), preempted("r")],
    [finish("s"), cancel("s"), finish("s"), preempted("s")],
    [preempted("r"), cancel("r"), preempted("s"), cancel("s")],
    [acquire("r", "p", 1, 0), release("r", "p", 1)],
    [acquire("r", "p", 1, 0), preempted("r"), cancel("r"), release("r", "p", 1)],
    [acquire("r", "p", 1, 0), acquire("s", "p", 1, 0), release("r", "p", 1), release("r", "p", 1),
     release("s", "p", 1)],
    [acquire("s", "p", 1, 0), acquire("r", "p", 1, 0), release("r", "p", 1), acquire("r", "p", 2, 0),
     release("r", "p", 2), release("s", "p", 1)],
    [acquire("r", "p", 1, 0), release("r", "p", 1), acquire("r", "p", 2, 1), release("r", "p", 1),
     release("r", "p", 2)],
    [acquire("r", "q", 1, 0), launch("q", 0), release("r", "q", 1), fence("q", 0)],
    [acquire("r", "q", 1, 0), launch("q", 0), fence("q", 0), fence("q", 0), release("r", "q", 1)],
    [acquire("r", "p", 1, 0), acquire("s", "p", 1, 0), launch("p", 0), cancel("r"), release("r", "p", 1),
     fence("p", 0), release("s", "p", 1)],
    [cancel("r"), acquire("r", "p", 1, 0), release("r", "p", 1)],
    [launch("p", 0), acquire("r", "p", 1, 0), release("r", "p", 1)],
    [acquire("r", "p", 1, 0), launch("p", 0), fence("p", 0), release("r", "p", 1), acquire("s", "p", 1, 1),
     launch("p", 1), fence("p", 0), release("s", "p", 1), fence("p", 1), acquire("r", "p", 2, 1)],
    [acquire("r", "p", 1, 0), acquire("r", "p", 2, 0), acquire("r", "q", 1, 0), release("r", "p", 1),
     release("r", "q", 1), release("r", "p", 2)],
]  # fmt: skip

# (events, index -> indices that come before it)
ORDERS = [
    (
        [acquire("r", "p", 1, 0), release("r", "p", 1), release("r", "p", 1), cancel("r"), cancel("r"), finish("r"),
         preempted("r")],
        {1: [0], 2: [0], 6: [0]},
    ),
    (
        [acquire("s", "p", 1, 0), acquire("r", "p", 1, 0), release("r", "p", 1), release("r", "p", 1),
         acquire("r", "p", 2, 0), release("r", "p", 2), release("s", "p", 1)],
        {2: [1], 3: [1], 4: [1], 5: [4], 6: [0]},
    ),
    (
        [acquire("r", "p", 1, 0), launch("p", 0), fence("p", 0), fence("p", 0), release("r", "p", 1),
         acquire("s", "p", 1, 1), launch("p", 1), release("s", "p", 1), fence("p", 1)],
        {1: [0], 2: [1], 3: [1], 4: [0], 6: [5], 7: [5], 8: [6]},
    ),
    (
        [acquire("r", "q", 1, 0), acquire("s", "q", 1, 0), launch("q", 0), cancel("r"), release("r", "q", 1),
         release("s", "q", 1), fence("q", 0)],
        {2: [0], 4: [0], 5: [1], 6: [2]},
    ),
    (
        [acquire("r", "p", 1, 0), preempted("r"), release("r", "p", 1), acquire("r", "p", 2, 1), cancel("r"),
         release("r", "p", 1), release("r", "p", 2), cancel("r")],
        {1: [0], 2: [0], 3: [0], 5: [0], 6: [3]},
    ),
]  # fmt: skip


def long_run(rng: random.Random):
    """Thirty events, each of which its sender can send at that time."""
    state, sent, numbers, preempting = START, [], {}, {"r", "s"}
    while len(sent) < 30:
        who, page = rng.choice("rs"), rng.choice("pq")
        now = state["generation"].get(page, 0)
        kind = rng.choices(
            ["acquire", "release", "launch", "fence", "ends", "preempted"], [6, 6, 4, 5, 0.3, 0.5]
        )[0]
        if kind == "acquire":
            numbers[who, page] = numbers.get((who, page), 0) + 1
            e = acquire(who, page, numbers[who, page], rng.choice([now, now, now, max(0, now - 1)]))
        elif kind == "release" and (who, page) in numbers:
            e = release(who, page, rng.randint(1, numbers[who, page]))
        elif kind == "launch" and launch(page, now) not in sent:
            e = launch(page, now)
        elif kind == "fence" and any(x["kind"] == "launch" and x["page"] == page for x in sent):
            e = fence(
                page,
                rng.choice([x["generation"] for x in sent if x["kind"] == "launch" and x["page"] == page]),
            )
        elif kind == "ends":
            e = rng.choice([cancel, finish])(who)
        elif kind == "preempted" and who in preempting:
            preempting.remove(who)
            e = preempted(who)
        else:
            continue
        sent.append(e)
        state, _ = handle(state, e)
    return sent


def handler(trial: Trial) -> Verdict:
    """Half the points where requests are treated right but pages are not, or the other way round."""
    first, second = (trial.call({}, cancel("r")) for _ in range(2))
    if first != second:
        return wrong("outside-state")
    attack = Attack(trial)
    for events in TELLING:
        attack.run(events)
    if len(attack.answers) == 1:
        return wrong(CONSTANT)
    if len(attack.found) < 2:
        for events, after in ORDERS:
            attack.every_order(events, after)
        for _ in range(10):
            attack.run(long_run(trial.rng))
    if not attack.found:
        return right()
    if len(attack.found) == 1:
        return partly(Fraction(1, 2), attack.order[0])
    return wrong(next(filter(None, attack.order), ""))


def breaks(flaw):
    """A check of a list of events that has to break the handler with this flaw, at its last event and not before."""

    def check(trial: Trial) -> Verdict:
        events = trial.answer()
        if not events or not in_order(events):
            return wrong("does-not-break" if not events else "not-sendable")
        good = bad = START
        differs = []
        for e in events:
            if (e["generation"] or 0) > good["generation"].get(e["page"], 0) and e["kind"] in (
                "acquire",
                "launch",
            ):
                return wrong("not-sendable")
            good, due = handle(good, e)
            bad, done = handle(bad, e, flaw)
            differs.append(due != done)
        if not any(differs):
            return wrong("does-not-break")
        return right() if not any(differs[:-1]) else wrong("breaks-earlier")

    return check


CHECKS = {
    "handle": handler,
    "breaks_key": breaks("key"),
    "breaks_queue": breaks("queue"),
    "breaks_fence": breaks("fence"),
    "breaks_generation": breaks("generation"),
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "c": (
        "1 分：终态单调：一旦设置，没有转移离开它，入队之前总先看它，所以没有复活；只从队列中删除，"
        "挡不住此后到来的抢占完成。1 分：到达终态要比较并设置（CAS）或在同一把锁内检查与写入；"
        "重复的取消只读记录。1 分：释放记录对（请求，页，第几次取得）唯一，记录与减引用一起提交，"
        "所以每次取得恰好释放一次。1 分：（请求，页）在归还后再取得时把第二次归还当作重复，"
        "引用永远不归零，页泄漏。1 分：引用归零并且 fence 已确认才回收；"
        "代次使回收之前的旧事件碰不到再用的页。"
    ),
}
