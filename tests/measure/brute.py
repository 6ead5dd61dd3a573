"""The measures recomputed from raw events the slow way: every list kept, every sum written out, no code of labkit's."""

import itertools
from fractions import Fraction

ENDS = {
    "finish": "finished",
    "reject": "rejected",
    "cancel": "cancelled",
    "expire": "expired",
    "fail": "failed",
}
REGION = {
    "system": ("queued", "swapped", "prefill", "decode", "undelivered"),
    "queue": ("queued", "swapped"),
    "queued": ("queued",),
    "swapped": ("swapped",),
    "prefill": ("prefill",),
    "decode": ("decode",),
    "undelivered": ("undelivered",),
}  # fmt: skip


class One:
    """One request, read off its own events."""

    def __init__(self, events, name):
        own = [e for e in events if e.get("id") == name]
        [self.submit] = [e for e in own if e["event"] == "submit"]
        self.name = name
        self.sent = self.submit["t"]
        self.emitted = [e["t"] for e in own if e["event"] == "token"]
        delivers = [e for e in own if e["event"] == "deliver"]
        self.delivered = self.emitted if self.submit["direct"] else [e["at"] for e in delivers]
        self.reads = self.emitted if self.submit["direct"] else [e["t"] for e in delivers]
        final = [e for e in own if e["event"] in ENDS]
        self.outcome = ENDS[final[0]["event"]] if final else "unfinished"
        self.terminal = final[0]["t"] if final else None
        self.whole = self.outcome == "finished" and len(self.delivered) == len(self.emitted)
        self.gone = self.terminal if self.outcome not in ("finished", "unfinished") else None
        if self.whole:
            self.gone = self.delivered[-1]
        # stages as [name, from, to or None]
        self.stages = []
        for place, e in enumerate(events):
            kind, t = e["event"], e["t"]
            if e.get("id") != name:
                continue
            if kind == "submit":
                self.go("queued", t)
            elif kind == "admit":
                self.go(self.phase(events, place), t)
            elif kind == "token" and self.stages[-1][0] == "prefill":
                self.go("decode", t)
            elif kind == "preempt":
                self.go("swapped" if e["mode"] == "swap" else "queued", t)
            elif kind == "finish":
                self.go("undelivered", t)
        if self.gone is not None:
            self.stages[-1][2] = self.gone
        rounds = [(e["round"], e["start"]) for e in events if e["event"] == "round"]
        starts = dict(rounds)
        plans = [e for e in events if e["event"] == "plan" and e["round"] in starts]
        ran = [starts[p["round"]] for p in plans if any(i[0] == name for i in p["items"])]
        self.first_run = min(ran, default=None)

    def phase(self, events, admit):
        """The phase of the first item that it gets after this admission: in the plan that admits it, or a later one."""
        before = [e["items"] for e in events[:admit] if e["event"] == "plan"][-1]
        later = [e["items"] for e in events[admit:] if e["event"] == "plan"]
        for items in (before, *later):
            for item in items:
                if item[0] == self.name:
                    return item[3]
        return "prefill"

    def go(self, stage, t):
        if self.stages:
            self.stages[-1][2] = t
        self.stages.append([stage, t, None])

    def at(self, t, region):
        """Whether it is there just after t."""
        return any(s in REGION[region] and a <= t and (b is None or t < b) for s, a, b in self.stages)

    def spent(self, region, low, high):
        """Time in a region between two times."""
        total = 0
        for stage, a, b in self.stages:
            if stage in REGION[region]:
                total += max(0, min(high if b is None else b, high) - max(a, low))
        return total


def read(events):
    """Every request of a journal without its header, in order of arrival."""
    names = [e["id"] for e in events if e["event"] == "submit"]
    return [One(events, name) for name in names]


def area(ones, region, low, high):
    """The area under N(t), piece by piece between all the times at which anything changes."""
    marks = {low, high}
    for one in ones:
        for _, a, b in one.stages:
            marks |= {m for m in (a, b) if m is not None and low < m < high}
    cuts = sorted(marks)
    return sum((b - a) * sum(one.at(a, region) for one in ones) for a, b in itertools.pairwise(cuts))


def peak(ones, region, low, high):
    """The most that are there at once within a window."""
    cuts = sorted(
        {low, *(m for one in ones for _, a, b in one.stages for m in (a, b) if m and low <= m < high)}
    )
    return max((sum(one.at(cut, region) for one in ones) for cut in cuts if cut < high), default=0)


def nearest_rank(values, share):
    """The ⌈p·n⌉-th smallest."""
    ordered = sorted(values)
    return ordered[-(-share.numerator * len(ordered) // share.denominator) - 1]


def seconds(ns):
    """Exact seconds."""
    return Fraction(ns) / 10**9
