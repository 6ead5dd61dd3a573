"""Hidden checks of exercise 31.10 (Q31.10; C21): the table runs one stream against many readers."""

import random
from dataclasses import dataclass, field
from fractions import Fraction

from labkit.grade.checks import Trial, Verdict, function, partly, right, value, wrong

TERMINAL = ("completed", "cancelled")
CAPACITY, ROUND, LOW = 64, 6, 16
HIGH = CAPACITY - 2 * ROUND  # the chunk that reaches it may pass it by a round, and one more is in flight
DEADLINE = 80  # a reader that takes a chunk every second tick empties the buffer in about 45
HORIZON = 700
STALLED = 10**6

# ------------------------------------------------------------------------------------------------ the world


@dataclass
class Reader:
    """A client: takes `most` chunks every `every` ticks, but none between `stop` and `back`, and may hang up."""

    expected: str  # "completed", "cancelled", or "" where either will do
    sizes: list
    every: int = 1
    most: int = 1
    stop: int = STALLED
    back: int = STALLED
    hangs_up: int = STALLED
    pausable: bool = True

    def takes(self, tick):
        """How many chunks the client takes at this tick."""
        if self.stop <= tick < self.back or tick >= self.hangs_up or tick % self.every:
            return 0
        return self.most


@dataclass
class Stream:
    """One stream under a student's table. `faults` are what it did wrong, in order."""

    table: dict
    reader: Reader
    state: str = "generating"
    buffer: list = field(default_factory=list)  # numbers of chunks that wait for the client
    faults: list = field(default_factory=list)
    acknowledged: int = 0
    begun: int = 0
    in_flight: int = 0
    stopped: bool = False
    over: bool = False  # generation cancelled
    timer: int = STALLED
    tick: int = 0
    lost: bool = False
    released: int = 0
    outcomes: list = field(default_factory=list)
    marks: list = field(default_factory=list)
    ended_by: tuple = ()
    depth: int = 0

    def held(self):
        """KiB in the buffer."""
        return sum(self.reader.sizes[number - 1] for number in self.buffer)

    def fault(self, key):
        """Note what was done wrong."""
        self.faults.append(key)

    def generated(self):
        """Whether all output has been made."""
        return self.begun == len(self.reader.sizes) and not self.in_flight

    def event(self, name, chunk=0):
        """Give one event to the table and do what its row says."""
        row = self.table.get((self.state, name))
        actions = row["actions"] if row else []
        target = row["next"] if row else self.state
        if self.state in TERMINAL:
            if "release" in actions:
                self.fault("released-twice")
            elif set(actions) - {"discard"}:
                self.fault("acts-after-end")
            if target != self.state:
                self.fault("leaves-terminal")
            return
        stops = 0
        for action in actions:
            stops += action == "stop-generation"
            self.act(action, chunk, target)
        if chunk and chunk not in self.buffer:
            self.lost = True
        if target in TERMINAL:
            self.ended_by = (self.state, name)
            self.enter(target)
        elif self.released:
            self.fault("released-early")
        self.state = target
        self.depth += 1
        if stops and not self.reader.pausable and not self.generated() and self.depth < 50:
            self.event("cannot-pause")
        self.depth -= 1

    def act(self, action, chunk, target):
        """Do one action."""
        match action:
            case "append" if not chunk or chunk in self.buffer:
                self.fault("appended-twice")
            case "append":
                self.buffer.append(chunk)
                if self.held() > CAPACITY:
                    self.fault("overflow" if self.reader.pausable else "cannot-pause-ignored")
            case "discard" if chunk in self.buffer:
                self.buffer.remove(chunk)
            case "stop-generation":
                self.stopped = self.reader.pausable
            case "resume-generation":
                self.stopped = self.over = False
            case "cancel-generation":
                self.over = True
            case "start-deadline":
                self.timer = self.tick + DEADLINE
            case "clear-deadline":
                self.timer = STALLED
            case "record-outcome":
                self.outcomes.append(target)
            case "record-acknowledged":
                self.marks.append(None if self.released else self.acknowledged)
            case "release":
                self.released += 1

    def enter(self, target):
        """Look at a stream that has just ended."""
        if target == "completed":
            if self.lost:
                self.fault("lost-called-full")
            elif self.buffer or not self.generated():
                self.fault("completed-early")
        if not self.generated() and not self.over:
            self.fault("completed-early" if target == "completed" else "keeps-generating")
        if self.released != 1:
            self.fault("released-twice" if self.released else "not-released")
        if self.outcomes != [target]:
            self.fault("outcome-not-recorded")
        if self.marks != [self.acknowledged]:
            self.fault("acknowledged-not-recorded")

    def step(self):
        """One tick: a round begins, the one before it arrives, the client reads, the clock is looked at."""
        arriving, self.in_flight = self.in_flight, 0
        if not self.stopped and not self.over and self.begun < len(self.reader.sizes):
            self.begun += 1
            self.in_flight = self.begun
        if arriving:
            self.event("chunk", arriving)
            if arriving in self.buffer and self.state not in TERMINAL and self.held() >= HIGH:
                self.event("high-water")
            if arriving == len(self.reader.sizes):
                self.event("end")
        for _ in range(self.reader.takes(self.tick)):
            if self.buffer and self.state not in TERMINAL:
                before = self.held()
                self.acknowledged = self.buffer.pop(0)
                if self.held() <= LOW < before:
                    self.event("low-water")
                if not self.buffer and self.state not in TERMINAL:
                    self.event("empty")
        if self.tick == self.reader.hangs_up:
            self.event("disconnect")
        if self.tick >= self.timer:
            self.timer = STALLED
            self.event("deadline")
        self.tick += 1

    def run(self):
        """The whole life of the stream, then what comes late."""
        while self.state not in TERMINAL and self.tick < HORIZON and not self.faults:
            self.step()
        ended = self.state
        if ended not in TERMINAL:
            return ended
        for _ in range(3):
            self.step()
        for late in ("deadline", "disconnect", "low-water", "empty", "high-water", "cannot-pause", "end"):
            self.event(late)
        self.event("chunk", len(self.reader.sizes))
        return ended


def missed(stream, ended):
    """Why a stream did not end as it should: the name of the misconception."""
    reader = stream.reader
    if stream.lost:
        return "tokens-lost"
    if ended not in TERMINAL:
        if reader.hangs_up < HORIZON:
            return "disconnect-ignored"
        if reader.expected == "cancelled":
            return "flush-waits-forever" if stream.generated() else "waits-forever"
        if ended == "flushing":
            return "never-completes"
        if ended == "paused" and not stream.generated():
            return "never-resumes"
        return "end-missed" if sum(reader.sizes) > HIGH else "never-completes"
    state, event = stream.ended_by
    if event == "high-water":
        return "cancels-at-once"
    if event == "cannot-pause":
        return "pauses-too-soon"
    if event == "deadline" and state == "generating":
        return "stale-deadline"
    if event == "deadline" and state == "paused":
        return "end-missed" if stream.generated() else "never-resumes"
    return "never-completes" if event == "deadline" else "cancels-a-reader"


def fault(table, reader):
    """(whether the stream ended as it should, the first fault's key or None)."""
    stream = Stream(table, reader)
    ended = stream.run()
    serious = [key for key in stream.faults if key in SERIOUS]
    if serious:
        return False, serious[0]
    if ended not in TERMINAL and stream.faults:
        return False, stream.faults[0]
    if ended not in TERMINAL or (reader.expected and ended != reader.expected):
        return False, missed(stream, ended)
    if reader.hangs_up < HORIZON and stream.ended_by[1] != "disconnect":
        return False, "disconnect-ignored"
    return True, stream.faults[0] if stream.faults else None


SERIOUS = ("overflow", "appended-twice", "cannot-pause-ignored", "lost-called-full", "completed-early")

# ------------------------------------------------------------------------------------------------ the readers


def sizes(count, size=5):
    return [size] * count


TELLING = [
    Reader("completed", sizes(20), most=3),
    Reader("completed", sizes(3), every=2),
    Reader("completed", sizes(60), every=2),
    Reader("completed", sizes(40), stop=4, back=20),
    Reader("completed", sizes(150), most=2, stop=5, back=25),
    Reader("completed", sizes(12), every=2, stop=0, back=20),  # the last chunk is in flight when it pauses
    Reader("completed", sizes(13), every=2, stop=1, back=20),
    Reader("cancelled", sizes(60), stop=9),
    Reader("cancelled", sizes(5), stop=3),
    Reader("cancelled", sizes(12), stop=0),
    Reader("completed", sizes(40), most=2, pausable=False),
    Reader("cancelled", sizes(60), stop=6, pausable=False),
    Reader("cancelled", sizes(80), most=2, hangs_up=7),
    Reader("cancelled", sizes(80), stop=3, hangs_up=40),
    Reader("cancelled", sizes(6), stop=2, hangs_up=20),
    Reader("cancelled", sizes(12), stop=0, hangs_up=40),
]


def draw(rng: random.Random):
    """A reader whose stream has one right end."""
    chunks = [rng.randint(3, ROUND) for _ in range(rng.randint(1, 90))]
    kind = rng.choice(["fast", "slow", "back", "gone", "hangs up", "no pause"])
    if kind == "fast":
        return Reader("completed", chunks, most=rng.randint(2, 4), pausable=rng.random() < 0.5)
    if kind == "slow":
        return Reader("completed", chunks, every=2)
    stop = rng.randint(0, len(chunks))
    if kind == "back":
        return Reader("completed", chunks, every=rng.randint(1, 2), stop=stop, back=stop + rng.randint(1, 25))
    if kind == "gone":
        return Reader("cancelled", chunks, every=rng.randint(1, 2), stop=stop // 2)
    if kind == "hangs up":
        return Reader("cancelled", chunks, every=2, hangs_up=stop)
    return Reader("cancelled", chunks + sizes(20), stop=stop // 2, pausable=False)


def transitions(trial: Trial) -> Verdict:
    """Half the points for a table with which every stream ends as it should, but that leaves things undone."""
    rows = trial.answer()
    table = {(row["state"], row["event"]): row for row in rows}
    if len(table) < len(rows):
        return wrong("two-rows")
    runs = [fault(table, reader) for reader in [*TELLING, *(draw(trial.rng) for _ in range(60))]]
    bad = [key for good, key in runs if not good]
    if bad:
        return wrong(bad[0])
    untidy = [key for _, key in runs if key]
    return partly(Fraction(1, 2), untidy[0]) if untidy else right()


# ------------------------------------------------------------------------------------------------ times


def fill_time(produce, consume, capacity, filled):
    if filled >= capacity:
        return Fraction(0)
    return Fraction(capacity - filled, produce - consume) if produce > consume else None


def unless_full(way):
    return lambda p, c, h, f: Fraction(0) if f >= h else way(p, c, h, f)


def negative(p, c, h, f):
    return Fraction(h - f, p - c) if p != c else None


def never(way):
    """None where the buffer does not fill; a wrong time where it does."""
    return unless_full(lambda p, c, h, f: way(p, c, h, f) if p > c else None)


def rates(rng: random.Random):
    consume = rng.randint(1, 12)
    capacity = rng.randint(20, 200)
    return max(1, consume + rng.randint(-4, 9)), consume, capacity, rng.randint(0, capacity)


CHECKS = {
    "fill_seconds": value(
        lambda g: Fraction(g["capacity"], g["produce"] - g["consume"]),
        {
            "drain-ignored": lambda g: Fraction(g["capacity"], g["produce"]),
            "rates-added": lambda g: Fraction(g["capacity"], g["produce"] + g["consume"]),
        },
    ),
    "drain_seconds": value(
        lambda g: Fraction(g["capacity"], g["consume"]),
        {"still-producing": lambda g: Fraction(g["capacity"], g["produce"] - g["consume"])},
    ),
    "high_water": value(
        lambda g: g["capacity"] - g["round_kib"],
        {
            "stop-at-the-top": lambda g: g["capacity"],
            "mark-minus-net": lambda g: (
                g["capacity"] - g["round_kib"] * (1 - Fraction(g["consume"], g["produce"]))
            ),
        },
    ),
    "fill_time": function(
        fill_time,
        rates,
        {
            "never-fills-negative": unless_full(negative),
            "filled-ignored": lambda p, c, h, f: Fraction(h, p - c) if p > c else None,
            "drain-ignored": unless_full(lambda p, c, h, f: Fraction(h - f, p)),
            "rates-added": unless_full(lambda p, c, h, f: Fraction(h - f, p + c)),
        },
        always=(
            (12, 4, 64, 0),
            (4, 12, 64, 10),
            (12, 4, 64, 30),
            (5, 5, 64, 30),
            (9, 2, 50, 50),
            (2, 9, 50, 50),
        ),
    ),
    "transitions": transitions,
}

# What a person looks for in the parts that are marked by hand.
RUBRICS = {
    "d": (
        "1 分：缓冲增长没有上界，一个慢客户端会耗尽主机内存；丢了词元的流不再完整，却看不出来，"
        "所以只能暂停，不能时取消。1 分：终态与最后已确认的事件号说明客户端实际得到了多少，"
        "可据此续传、重试或计费，不会把截断当完整。1 分："
        "背压要贯穿入口、有界队列、活动序列与输出缓冲；只限设备并发不够；取消要把资源释放传到底。"
    ),
}
