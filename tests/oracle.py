"""A second, slow, independent simulator of `labkit.scenario/1`, used as an oracle in differential tests.

It was written from the contract (shared/design/scenario.md) alone, without sight of the engine, and shares no code
with it. It is meant to be read beside the contract, not to be fast: one mutable world, every rule a plain loop, the
largest step found by trying every step, takeovers tried on a deep copy. Times are integer nanoseconds, costs
`fractions.Fraction` seconds; nothing is a float before the result is written.

    result_of(scenario) -> dict       the `labkit.result/1` object, `notes` left empty
    dumps(result) -> str              as the command line prints it, without the newline
    random_scenario(rng) -> dict      a small valid scenario that mixes the policies

A scenario has to be valid already and to carry `requests` (no arrivals, trace or closed loop); cost kinds `table`,
`linear` and `padded`; all back-pressure links in force. Readings of open sentences are marked OPEN.
"""

import copy
import json
import sys
from decimal import Decimal
from fractions import Fraction

SECOND = 10**9
ENDLESS = 10**15  # stands for "no limit": pages, tokens, bypasses

# When all growers skip and the lowest-ranked active request is preempted, planning starts again in the same instant.
# False: in that second planning nobody is admitted or swapped in unless the plan would else be empty (the exception
# for `round_seconds` goes first). True: like any planning, to the letter; then two newcomers can take the freed page
# in turn for ever (prefill_first, shared, round_seconds), against law 9. Under `none` planning is as usual either way.
LAST_RESORT_ADMITS = False


# ---------------------------------------------------------------- numbers


def exact(value):
    """The decimal that was written, as a fraction."""
    if isinstance(value, float):
        value = Decimal(repr(value))
    return Fraction(Decimal(value)) if isinstance(value, str) else Fraction(value)


def ns(value):
    """Seconds as written to whole nanoseconds, half to even; None stays None."""
    return None if value is None else round(exact(value) * SECOND)


def seconds(time):
    """Nanoseconds (whole or a fraction) to the nearest double of seconds."""
    return None if time is None else float(Fraction(time) / SECOND)


def ceil_div(a, b):
    return -(-a // b)


# ---------------------------------------------------------------- what a round costs


def price(cost, items, ghosts=0):
    """Exact seconds of a round of (phase, new, context) items beside `ghosts` finished static members."""
    seats = len(items) + ghosts
    if cost["kind"] == "table":
        return exact(cost["seconds"][str(seats)])
    padded = [(new, context) for phase, new, context in items]
    if cost["kind"] == "padded":

        def bucket(new):
            return sum(1 for length in cost["buckets"] if length < new)

        longest = {}
        for phase, new, _ in items:
            if phase == "prefill":
                longest[bucket(new)] = max(new, longest.get(bucket(new), 0))
        padded = [
            (longest[bucket(new)] if phase == "prefill" else new, context) for phase, new, context in items
        ]

    def rate(name):
        return exact(cost.get(name, 0))

    total = rate("fixed") + rate("per_seat") * seats
    for q, s in padded:
        total += (
            rate("per_token") * q
            + rate("per_pair") * (q * s + Fraction(q * (q + 1), 2))
            + rate("per_context") * s
        )
    return total


def transfer(cost, size):
    """Exact seconds of moving `size` bytes to or from the host."""
    bandwidth = cost.get("swap_bytes_per_second")
    return exact(cost.get("swap_fixed", 0)) + (0 if bandwidth is None else size / exact(bandwidth))


def round_ns(cost, items, ghosts, moved):
    total = price(cost, items, ghosts) + sum(transfer(cost, size) for size in moved)
    return max(1, round(total * SECOND))


# ---------------------------------------------------------------- the world


class Request:
    """One request: what was asked (first block) and what has become of it."""

    def __init__(self, spec, place, page):
        self.id, self.place = spec["id"], place
        self.arrival = ns(spec["arrival"])
        self.prompt = spec["prompt_tokens"]
        self.bound = (
            spec["max_output_tokens"] if spec.get("max_output_tokens") is not None else spec["output_tokens"]
        )
        self.target = min(spec["output_tokens"], self.bound)
        self.tenant, self.priority = spec.get("tenant", "default"), spec.get("priority", 0)
        self.deadline, self.cancel_at, self.fail_at = (
            ns(spec.get(k)) for k in ("deadline", "cancel_at", "fail_at")
        )
        self.prefilled = spec.get("prefilled", False)
        reader = spec.get("reader")
        self.interval = None if reader is None else round(1 / exact(reader["tokens_per_second"]) * SECOND)
        self.buffer = None if reader is None else reader["buffer_tokens"]
        cancels = reader is not None and reader["on_full"] == "cancel"
        self.patience = ns(reader["patience_seconds"]) if cancels else None
        self.network = ns(spec.get("network_seconds", 0))
        self.group = spec.get("deliver_every", 1)
        named = [(name, offset) for name, length in spec.get("prefix", []) for offset in range(length)]
        self.keys = [(self.tenant, tuple(named[:end])) for end in range(page, len(named) + 1, page)]

        self.state = "future"  # future, waiting, active, swapped, done
        self.computed = self.prompt if self.prefilled else 0
        self.emitted = 0
        self.table = []  # page ids; reaches exactly as far as `computed` and what this round adds
        self.promise = 0  # pages promised (reserve) and not yet taken
        self.shareable_from = 0  # whole pages that end beyond this position are still to enter the index
        self.host = 0  # bytes in the host while swapped
        self.mark = self.high = self.computed
        self.since = None  # start of its present waiting
        self.aged, self.bypassed, self.served = False, 0, -1
        self.doomed = None  # reason of a cancellation that waits for the round's end
        self.token_times, self.reads, self.full_since = [], [], None
        self.outcome = self.reason = self.end = self.first_execution = None
        self.admitted, self.waited, self.preemptions = False, 0, 0
        self.computed_tokens = self.cached_tokens = self.recomputed_tokens = 0

    @property
    def total(self):
        return self.prompt + self.emitted + (1 if self.prefilled else 0)

    def phase(self, start):
        return "decode" if self.total - start == 1 and start >= self.prompt else "prefill"

    def undelivered(self, now):
        return self.emitted - sum(1 for read in self.reads if read <= now)

    def paused(self, now):
        return self.buffer is not None and self.undelivered(now) >= self.buffer


class Item:
    def __init__(self, request, start):
        self.request, self.context, self.new, self.phase = request, start, 0, request.phase(start)
        self.added = {}  # pass number: tokens


class World:
    def __init__(self, scenario):
        budget, policy = scenario["budget"], scenario.get("policy", {})
        self.B, self.K = budget["tokens"], budget["seats"]
        self.page, self.token_bytes = budget.get("page_tokens", 16), budget.get("bytes_per_token", 65536)
        memory = budget.get("kv_bytes")
        room = None if memory is None else memory - budget.get("workspace_bytes", 0)
        self.pool = ENDLESS if room is None else room // (self.page * self.token_bytes)
        self.round_limit = ns(budget.get("round_seconds"))
        self.cost = scenario["cost"]
        self.estimate = scenario.get("estimate") or self.cost

        def of(name, default):
            return policy.get(name, default)

        self.static = of("batching", "continuous") == "static"
        self.window, self.compute = (
            ns(of("batch_window_seconds", 0)),
            of("static_finished", "stop") == "compute",
        )
        self.order, self.aging, self.charge = (
            of("order", "fcfs"),
            ns(of("aging_seconds", None)),
            of("charge", "tokens"),
        )
        self.phase, self.chunk = of("phase", "decode_first"), of("prefill_chunk", None)
        self.prefill_share, self.decode_share = (
            exact(of("min_prefill_share", 0)),
            exact(of("min_decode_share", 0)),
        )
        self.max_bypass = ENDLESS if of("max_bypass", 16) is None else of("max_bypass", 16)
        self.reserve, self.preemption = of("admission", "reserve") == "reserve", of("preemption", "none")
        self.host_bytes = policy.get("host_bytes")
        self.min_run, self.max_queue = of("min_run_tokens", 1), of("max_queue", None)
        self.margin, self.sharing = ns(of("margin_seconds", 0)), of("prefix_sharing", False)
        self.until = ns(scenario.get("until"))
        self.changes = sorted(
            ((ns(c["live_at"]), i, c["seats"]) for i, c in enumerate(scenario.get("capacity_changes", [])))
        )

        self.all = [Request(spec, place, self.page) for place, spec in enumerate(scenario["requests"])]
        tenants = scenario.get("tenants", {})
        names = sorted(set(tenants) | {r.tenant for r in self.all})
        self.weight = {n: exact(tenants.get(n, {}).get("weight", 1)) for n in names}
        carry = {n: tenants.get(n, {}).get("max_carry") for n in names}
        self.max_carry = {n: exact(self.B if carry[n] is None else carry[n]) for n in names}
        self.balance = {n: Fraction(0) for n in names}

        self.now = -1
        self.refs, self.key_of, self.index, self.cached, self.next_page = {}, {}, {}, [], 0
        self.batch = []  # static: members of the present batch
        self.items, self.victims, self.moved, self.owed, self.first_admitted = {}, [], [], [], []
        self.pass_no, self.pass_limit, self.force = 0, ENDLESS, False
        self.coming = 0  # bytes that come back from the host in this plan: its room is free only afterwards
        self.evicted_now = self.read_otherwise = False
        self.blocked = self.seconds_stop = self.last_resort = False
        self.round, self.rounds, self.last_end, self.busy = None, [], 0, 0


def alive(w):
    return [r for r in w.all if r.state in ("waiting", "active", "swapped")]


def in_state(w, state):
    return [r for r in w.all if r.state == state]


def rank(w, r):
    """The one total order; smaller is earlier."""
    if r.aged:
        return (0, 0, r.arrival, r.place)
    key = {
        "fcfs": 0,
        "sjf": r.bound,
        "edf": ENDLESS * SECOND if r.deadline is None else r.deadline,
        "priority": -r.priority,
        "credit": -w.balance[r.tenant],
    }[w.order]
    return (1, key, r.arrival, r.place)


def ranked(w, requests):
    return sorted(requests, key=lambda r: rank(w, r))


# ---------------------------------------------------------------- pages


def pages_for(w, positions):
    return ceil_div(positions, w.page)


def free_pages(w):
    """Pages that nobody references or has been promised; cached ones count as free."""
    return w.pool - len(w.refs) - sum(r.promise for r in w.all)


def take_page(w, r):
    if w.pool - len(w.refs) - len(w.cached) <= 0:  # no plain page left: the oldest release goes
        old = w.cached.pop(0)
        w.evicted_now = True
        del w.index[w.key_of.pop(old)]
    r.table.append(w.next_page)
    w.refs[w.next_page] = 1
    w.next_page += 1
    r.promise = max(0, r.promise - 1)


def cover(w, r, positions):
    while len(r.table) < pages_for(w, positions):
        take_page(w, r)


def release(w, r, keep=0):
    """Gives pages back, tail first, down to the first `keep`."""
    while len(r.table) > keep:
        page = r.table.pop()
        w.refs[page] -= 1
        if w.refs[page] == 0:
            del w.refs[page]
            if page in w.key_of:
                w.cached.append(page)


def hits_of(w, r):
    """Pages of the longest chain of leading whole pages that the index holds."""
    w.read_otherwise = w.read_otherwise or (w.evicted_now and bool(r.keys))
    found = []
    if w.sharing:
        for key in r.keys[: max(0, (r.prompt - 1) // w.page)]:
            if key not in w.index:
                break
            found.append(w.index[key])
    return found


def publish(w, r):
    """At a round's end: the named whole pages that it filled enter the index, unless an equal one is there."""
    for i, key in enumerate(r.keys):
        if w.sharing and r.shareable_from < (i + 1) * w.page <= r.computed and key not in w.index:
            w.index[key] = r.table[i]
            w.key_of[r.table[i]] = key
    r.shareable_from = max(r.shareable_from, r.computed)


# ---------------------------------------------------------------- endings, preemption, credit


def end(w, r, outcome, reason, time=None):
    """A terminal event. A finished request ends with its last delivery, seat and pages go now."""
    if r.state in ("waiting", "swapped"):
        r.waited += w.now - r.since
    release(w, r)
    r.promise = r.host = 0
    r.state, r.outcome, r.reason = "done", outcome, reason
    r.end = w.now if time is None else time


def ghosts(w):
    return sum(1 for r in w.batch if r.state == "done") if w.static and w.compute else 0


def alone(w, r, start, emitted):
    """Estimated exact seconds of what remains of a request, run alone to its bound."""
    total, at, chunk = r.prompt + emitted + (1 if r.prefilled else 0), start, min(w.B, w.chunk or w.B)
    whole = Fraction(0)
    while at < total:
        new = min(chunk, total - at)
        whole += price(w.estimate, [("prefill", new, at)])
        at += new
    for _ in range(r.bound - emitted - 1):
        whole += price(w.estimate, [("decode", 1, at)])
        at += 1
    return whole


def swap_is_cheaper(w, r, size):
    at, chunk, again = 0, min(w.B, w.chunk or w.B), Fraction(0)
    while at < r.computed:
        new = min(chunk, r.computed - at)
        again += price(w.estimate, [("prefill", new, at)])
        at += new
    return 2 * transfer(w.estimate, size) < again


def preempt(w, r):
    w.items.pop(r, None)
    release(w, r, keep=pages_for(w, r.computed))  # what the lost item had taken
    size = len(r.table) * w.page * w.token_bytes
    swap = w.preemption == "swap" or (w.preemption == "cheapest" and swap_is_cheaper(w, r, size))
    if swap and w.host_bytes is not None and w.coming + sum(x.host for x in w.all) + size > w.host_bytes:
        swap = False
    swap = swap and size > 0  # nothing to move: nothing to recompute either
    r.mark = max(r.mark, r.computed)  # its high-water mark
    r.preemptions += 1
    r.since = w.now
    release(w, r)
    r.promise = 0
    if swap:
        r.state, r.host = "swapped", size
        w.moved.append(size)
    else:
        r.state, r.computed, r.shareable_from = "waiting", 0, 0
    w.victims.append(r)


def protected(w, r):
    return r.computed - r.mark < w.min_run


def working(w):
    return sorted({r.tenant for r in alive(w)})


def spread(w, amount, names):
    for name in names:
        w.balance[name] += amount * w.weight[name] / sum(w.weight[n] for n in names)


def clamp(w, workers):
    """Bounds balances to ± max_carry, sum unchanged: excess goes by weight to those with work who have room in its
    direction, repeatedly; to any tenant with room where none of them has."""
    while True:
        excess = Fraction(0)
        for name, bound in w.max_carry.items():
            kept = min(bound, max(-bound, w.balance[name]))
            excess += w.balance[name] - kept
            w.balance[name] = kept
        if excess == 0:
            return
        side = 1 if excess > 0 else -1
        roomy = [n for n in workers if side * w.balance[n] < w.max_carry[n]]
        anyone = [n for n in w.balance if side * w.balance[n] < w.max_carry[n]]
        spread(w, excess, roomy or anyone)


def give_back(w):
    """A tenant whose work has ended gives its balance to those with work, by weight."""
    workers = working(w)
    idle = [n for n in w.balance if n not in workers]
    gift = sum(w.balance[n] for n in idle)
    for name in idle:
        w.balance[name] = Fraction(0)
    if not workers:
        w.balance = {n: Fraction(0) for n in w.balance}
    elif gift:
        spread(w, gift, workers)
        clamp(w, workers)


def settle_credit(w, round_):
    items, workers = round_["items"], working(w)
    tokens = sum(i.new for i in items)
    charges = []
    for item in items:
        if w.charge == "tokens":
            charges.append((item.request.tenant, Fraction(item.new)))
        if w.charge == "cost":
            charges.append(
                (item.request.tenant, Fraction(round_["end"] - round_["start"], SECOND) * item.new / tokens)
            )
    if w.charge == "requests":
        charges = [(r.tenant, Fraction(1)) for r in round_["admitted"]]
    for name, amount in charges:
        w.balance[name] -= amount
    if workers:
        spread(w, sum(amount for _, amount in charges), workers)
        clamp(w, workers)


# ---------------------------------------------------------------- planning


def allowed(w):
    """Tokens that this pass may still add."""
    items = w.items.values()
    return min(w.B - sum(i.new for i in items), w.pass_limit - sum(i.added.get(w.pass_no, 0) for i in items))


def within_time(w, r, start, new):
    if w.round_limit is None:
        return True
    items = [(i.phase, i.new, i.context) for i in w.items.values() if i.request is not r]
    coming = [r.host] if r.state == "swapped" else []
    return (
        round_ns(w.estimate, items + [(r.phase(start), new, start)], ghosts(w), w.moved + coming)
        <= w.round_limit
    )


def largest_step(w, r, start, room):
    """Most positions the item of `r` may have in this round, with `room` positions' worth of pages; 0 if none."""
    have = w.items[r].new if r in w.items else 0
    need, tokens = r.total - start, have + allowed(w)
    whole = w.chunk is None and r.preemptions == 0 and r.phase(start) == "prefill"
    smallest = need if whole else have + 1
    largest = need if whole else min(need, w.chunk or need)
    if smallest > min(largest, tokens, room):
        return 0
    for new in range(min(largest, tokens, room), smallest - 1, -1):
        if within_time(w, r, start, new):
            return new
    w.seconds_stop = True
    return smallest if w.force and not w.items else 0


def add(w, r, new):
    """Puts `new` positions of an active request into the plan (an item already there is lengthened)."""
    item = w.items.setdefault(r, Item(r, r.computed))
    item.added[w.pass_no] = item.added.get(w.pass_no, 0) + new - item.new
    item.new = new
    w.force = False
    cover(w, r, r.computed + new)


def growth(w, r):
    """An active request asks for its step; victims give way for pages."""
    while True:
        own = ENDLESS if w.reserve else (len(r.table) + free_pages(w)) * w.page - r.computed
        new = largest_step(w, r, r.computed, own)
        if new:
            return add(w, r, new)
        if r in w.items or w.preemption == "none" or largest_step(w, r, r.computed, ENDLESS) == 0:
            return None
        below = [
            v
            for v in in_state(w, "active")
            if rank(w, v) > rank(w, r) and not protected(w, v) and v not in w.items
        ]
        if not below:
            return None
        preempt(w, ranked(w, below)[-1])


def decodes(w):
    group = [
        r
        for r in in_state(w, "active")
        if not r.paused(w.now) and r.phase(r.computed) == "decode" and r not in w.items
    ]
    if len(group) > min(allowed(w), w.K - len(w.items)):
        group.sort(key=lambda r: (r.served, rank(w, r)))
    else:
        group = ranked(w, group)
    for r in group:
        if (
            r.state == "active" and len(w.items) < w.K
        ):  # fewer seats went live than are taken: they take turns
            growth(w, r)


def prompts(w):
    group = [r for r in in_state(w, "active") if not r.paused(w.now) and r.phase(r.computed) == "prefill"]
    for r in ranked(w, group):
        if r.state == "active" and (r in w.items or len(w.items) < w.K):
            growth(w, r)


def admission_room(w, r):
    """(hits, first position to compute, positions that the pages allow: 0 where a promise cannot be made)."""
    hits = [] if r.state == "swapped" else hits_of(w, r)
    start = max(r.computed, len(hits) * w.page)
    free = free_pages(w) - sum(1 for page in hits if page not in w.refs)
    if w.reserve:
        return hits, start, ENDLESS if pages_for(w, r.prompt + r.bound) - len(hits) <= free else 0
    room = max(0, (len(hits) + free) * w.page - start)
    if r.state == "waiting" and r.preemptions and room < r.total - start:
        room = 0  # one that lost its cache comes back when all of it fits again
    return hits, start, room


def enter(w, r, hits, start):
    """Waiting or swapped to active: seat, hits, promise; pages of positions already computed are taken."""
    r.waited += w.now - r.since
    r.since = None
    coming_back = r.state == "swapped"
    if coming_back:
        w.moved.append(r.host)
        w.coming += r.host
        r.host = 0
    for page in hits:
        if page in w.refs:
            w.refs[page] += 1
        else:
            w.cached.remove(page)
            w.refs[page] = 1
    r.table = list(hits)
    r.shareable_from = start if coming_back else len(hits) * w.page
    r.computed, r.high = start, max(r.high, start)
    r.state, r.bypassed = "active", 0
    if w.reserve:
        r.promise = pages_for(w, r.prompt + r.bound) - len(hits)
    if not r.admitted:
        r.admitted, r.cached_tokens, r.mark = True, len(hits) * w.page, start
        w.first_admitted.append(r)
    cover(w, r, r.computed)


def admit(w, r):
    """Admits `r` with a first step if seat, pages, tokens and time allow."""
    if lacks_seat(w):
        return False
    hits, start, room = admission_room(w, r)
    new = largest_step(w, r, start, room)
    if new == 0:
        return False
    enter(w, r, hits, start)
    add(w, r, new)
    return True


def lacks_seat(w):
    return len(in_state(w, "active")) >= w.K


def lacks_pages(w, r):
    _hits, start, room = admission_room(w, r)
    whole = w.chunk is None and r.preemptions == 0 and r.phase(start) == "prefill"
    return room < (r.total - start if whole else 1)


def takeover(w, r):
    """The Priority rule: the fewest lowest victims with which seat, pages and a step suffice, or nobody."""
    if w.order != "priority" or w.preemption == "none" or not (lacks_seat(w) or lacks_pages(w, r)):
        return False
    victims = [
        v
        for v in in_state(w, "active")
        if v.priority < r.priority and rank(w, v) > rank(w, r) and not protected(w, v)
    ]
    victims = ranked(w, victims)[::-1]
    trial = copy.deepcopy(w)
    for count, victim in enumerate(victims, 1):
        preempt(trial, trial.all[victim.place])
        if admit(trial, trial.all[r.place]):
            for v in victims[:count]:
                preempt(w, v)
            return admit(w, r)
        w.seconds_stop = w.seconds_stop or trial.seconds_stop
    return False


def walk(w):
    """New (and recomputing) requests by the total order, with the bypass bound."""
    waiting = [r for r in in_state(w, "waiting") if not w.static or r in w.batch]
    passed = []
    for r in ranked(w, waiting):
        if r in w.victims or r.paused(w.now):  # OPEN: a waiting request whose reader is full is no candidate
            continue
        if any(p.bypassed >= w.max_bypass for p in passed) or allowed(w) == 0:
            return
        if admit(w, r) or takeover(w, r):
            for p in passed:
                p.bypassed += 1
        elif lacks_seat(w):
            return
        else:
            passed.append(r)


def admissions(w):
    if w.last_resort and not LAST_RESORT_ADMITS:
        return
    blocked = False
    for r in ranked(w, in_state(w, "swapped")):
        if r.paused(w.now):  # OPEN: one whose reader is full neither comes back nor blocks the others
            continue
        if r in w.victims or not (admit(w, r) or takeover(w, r)):
            blocked = True
    w.blocked = w.blocked or blocked
    if not blocked:
        walk(w)


def fill(w):
    """One draft of the round: the groups in the phase policy's order."""
    w.items, w.blocked, w.seconds_stop, w.pass_no = {}, False, False, 0
    if w.phase == "shared":
        passes = [
            (w.B * w.decode_share // 1, [decodes]),
            (w.B * w.prefill_share // 1, [prompts, admissions]),
            (ENDLESS, [decodes, prompts, admissions]),
        ]
    elif w.phase == "prefill_first":
        passes = [(ENDLESS, [prompts, admissions, decodes])]
    else:
        passes = [(ENDLESS, [decodes, prompts, admissions])]
    for number, (limit, groups) in enumerate(passes):
        w.pass_no, w.pass_limit = number, int(limit)
        for group in groups:
            group(w)
    if not w.items and w.blocked:
        walk(w)


def draft(w):
    """A filled plan; where nothing else can run, the first request ignores the time for its smallest step."""
    fill(w)
    if not w.items and w.seconds_stop:
        w.force = True
        fill(w)
        w.force = False


def form_batch(w):
    """Static: fixes the next batch once all members have ended and the window or the size fires."""
    if any(r.state != "done" for r in w.batch):
        return
    w.batch = []
    waiting = in_state(w, "waiting")
    if not waiting or (len(waiting) < w.K and w.now < min(r.since for r in waiting) + w.window):
        return
    passed, spoken = [], 0
    for r in ranked(w, waiting):
        if lacks_seat(w) or any(p.bypassed >= w.max_bypass for p in passed):
            break
        hits, start, room = admission_room(w, r)
        if w.reserve:
            fits, need = room > 0, 0
        else:
            need = pages_for(w, r.total) - len(hits)
            fits = need <= free_pages(w) - sum(1 for page in hits if page not in w.refs) - spoken
        if not fits:
            passed.append(r)
            continue
        enter(w, r, hits, start)
        spoken += max(0, need - (len(r.table) - len(hits)))
        w.batch.append(r)
        for p in passed:
            p.bypassed += 1


def plan(w):
    w.items, w.victims, w.moved, w.first_admitted, w.last_resort = {}, [], list(w.owed), [], False
    w.coming, w.evicted_now = 0, False
    for r in in_state(w, "waiting") + in_state(w, "swapped"):
        if w.aging is not None and w.now - r.since > w.aging:
            r.aged = True
    while True:
        if w.static:
            form_batch(w)
        draft(w)
        if not w.items and w.last_resort:
            w.last_resort = False
            draft(w)
        runnable = [r for r in in_state(w, "active") if not r.paused(w.now)]
        if w.items or not runnable:
            w.owed = [] if w.items else list(w.moved)  # transfers without a round burden the next one
            return
        assert not w.reserve, "a promise was broken"
        lowest = ranked(w, in_state(w, "active"))[-1]
        if w.preemption == "none":
            end(w, lowest, "failed", "capacity")
            w.read_otherwise = w.read_otherwise or w.order == "credit"
            give_back(w)
        else:
            preempt(w, lowest)
            w.last_resort = True


# ---------------------------------------------------------------- one instant


def hand_over(w, r):
    """The tokens not yet handed over go to the reader (or straight to the network)."""
    while len(r.reads) < r.emitted:
        if r.interval is None:
            r.reads.append(w.now)
        else:
            r.reads.append(max([w.now] + r.reads[-1:]) + r.interval)


def settle(w):
    round_, w.round = w.round, None
    if w.order == "credit":
        settle_credit(w, round_)
    for item in round_["items"]:
        r = item.request
        r.computed_tokens += item.new
        r.recomputed_tokens += max(0, min(item.context + item.new, r.high) - item.context)
        if r.state == "done":  # cancelled at or before this instant: its token is dropped
            continue
        r.computed += item.new
        r.high = max(r.high, r.computed)
        publish(w, r)
        if r.computed == r.total:
            r.emitted += 1
            r.token_times.append(w.now)
            if r.emitted == r.target or r.emitted % r.group == 0:
                hand_over(w, r)
            if r.emitted == r.target:
                end(w, r, "finished", None, r.reads[-1] + r.network)
    give_back(w)


def door(w, r):
    """None, or why the arriving request is turned away."""
    if pages_for(w, r.prompt + r.bound) > w.pool or (w.chunk is None and not r.prefilled and r.prompt > w.B):
        return "capacity"
    if r.deadline is not None:
        own, ahead = round(alone(w, r, r.computed, 0) * SECOND), Fraction(0)
        if lacks_seat(w):  # OPEN: swapped requests are neither active nor waiting and do not count
            others = in_state(w, "active") + [x for x in in_state(w, "waiting") if rank(w, x) < rank(w, r)]
            ahead = sum((alone(w, x, x.computed, x.emitted) for x in others), Fraction(0)) * SECOND / w.K
        if ahead + own + w.margin > r.deadline - r.arrival:
            return "deadline"
    return None


def start_round(w):
    items = list(w.items.values())
    now_active = in_state(w, "active")
    live = {
        page
        for r in now_active
        for page in r.table[: pages_for(w, r.computed + (w.items[r].new if r in w.items else 0))]
    }
    length = round_ns(w.cost, [(i.phase, i.new, i.context) for i in items], ghosts(w), w.moved)
    index = len(w.rounds)
    w.round = {"start": w.now, "end": w.now + length, "items": items, "admitted": w.first_admitted}
    w.last_end = w.now + length
    w.busy += length
    w.rounds.append(
        {
            "index": index,
            "start": seconds(w.now),
            "seconds": seconds(length),
            "waiting": len(in_state(w, "waiting")) + len(in_state(w, "swapped")),
            "pages_in_use": len(live),
            "pages_reserved": len(w.refs) + sum(r.promise for r in now_active),
            "items": [
                {"id": i.request.id, "phase": i.phase, "new_tokens": i.new, "context": i.context}
                for i in items
            ],
            "notes": [],
        }
    )
    for item in items:
        item.request.served = index
        if item.request.first_execution is None:
            item.request.first_execution = w.now
    assert items and sum(i.new for i in items) <= w.B
    assert w.reserve or len(live) == w.rounds[-1]["pages_reserved"]


def instant(w):
    now = w.now
    running = w.round is not None and w.round["end"] > now
    ends_now = w.round is not None and w.round["end"] == now
    while w.changes and w.changes[0][0] <= now:  # OPEN: seats change first of all in their instant
        w.K = w.changes.pop(0)[2]
    for r in alive(w):  # cancellations
        if r.doomed is None and r.cancel_at is not None and r.cancel_at <= now:
            r.doomed = "client"
        if (
            r.doomed is None
            and r.patience is not None
            and r.full_since is not None
            and r.full_since + r.patience <= now
        ):
            r.doomed = "slow_reader"
        if r.doomed and not (r.state == "active" and running):
            end(w, r, "cancelled", None if r.doomed == "client" else r.doomed)
    give_back(w)
    if ends_now:
        settle(w)
    for r in alive(w):  # failures, then expiries
        if r.fail_at is not None and r.fail_at <= now and not (r.state == "active" and running):
            end(w, r, "failed", "fault")
    for r in alive(w):
        if r.deadline is None or (r.state == "active" and running):
            continue
        if now > r.deadline or (now == r.deadline and not (r.state == "active" and ends_now)):
            end(w, r, "expired", "deadline")
    give_back(w)
    for r in alive(w):  # drains have happened by looking at the clock; is the buffer full?
        if not r.paused(now):
            r.full_since = None
        elif r.full_since is None:
            r.full_since = now
    for r in w.all:  # arrivals
        if r.state == "future" and r.arrival == now:
            reason = door(w, r)
            r.state, r.since = "waiting", now
            if reason:
                end(w, r, "rejected", reason)
    w.items = {}
    if not running and (w.until is None or now < w.until):
        plan(w)
        while not w.items and w.victims:  # an empty plan made room: what can use it starts at once
            plan(w)
    fresh = [r for r in in_state(w, "waiting") if not r.admitted]
    if w.max_queue is not None:
        for r in sorted(fresh, key=lambda r: (r.arrival, r.place))[w.max_queue :]:
            end(w, r, "rejected", "queue_full")
        give_back(w)
    if w.items:
        start_round(w)
    audit(w)


def audit(w):
    """Conservation, at the end of every instant."""
    held = {}
    for r in w.all:
        assert r.state == "active" or (not r.table and not r.promise), r.id
        assert (r.host > 0) <= (r.state == "swapped")
        for page in r.table:
            held[page] = held.get(page, 0) + 1
        assert len(r.token_times) == r.emitted <= r.target and len(r.reads) <= r.emitted
        planned = w.items[r].new if r in w.items else 0
        assert w.round or r.state != "active" or len(r.table) == pages_for(w, r.computed + planned)
        assert r.state != "active" or r.computed + planned <= r.total
    assert held == w.refs and set(w.cached) | set(w.refs) >= set(w.key_of) >= set(w.cached)
    assert not set(w.cached) & set(w.refs) and len(w.index) == len(w.key_of)
    assert free_pages(w) >= 0 and len(w.refs) + len(w.cached) <= w.pool
    assert w.host_bytes is None or sum(r.host for r in w.all) <= w.host_bytes
    assert sum(w.balance.values()) == 0
    assert all(abs(b) <= w.max_carry[n] for n, b in w.balance.items())
    assert w.max_queue is None or sum(1 for r in in_state(w, "waiting") if not r.admitted) <= w.max_queue


def next_time(w):
    """The next instant at which anything is due, or None."""
    due = [r.arrival for r in w.all if r.state == "future" and (w.until is None or r.arrival <= w.until)]
    due += [at for at, _, _ in w.changes]
    if w.round:
        due.append(w.round["end"])
    for r in alive(w):
        due += [at for at in (r.cancel_at, r.fail_at, r.deadline) if at is not None]
        if r.interval is not None:
            due += r.reads
        if r.patience is not None and r.full_since is not None:
            due.append(r.full_since + r.patience)
    if w.static and all(r.state == "done" for r in w.batch) and in_state(w, "waiting"):
        due.append(min(r.since for r in in_state(w, "waiting")) + w.window)
    return min((at for at in due if at > w.now), default=None)


# ---------------------------------------------------------------- the run and its result


def simulate(scenario):
    w = World(scenario)
    while True:
        at = next_time(w)
        if at is None or (not w.round and not alive(w) and not in_state(w, "future")):
            break
        if w.until is not None and at > w.until and not (w.round and at <= w.round["end"]):
            break
        w.now = at
        instant(w)
    return w


def row(w, r, stop):
    cutoff = stop if r.end is None else r.end
    delivered = [x + r.network for x in r.reads if r.outcome == "finished" or x <= cutoff]
    times, gaps = r.token_times, [b - a for a, b in zip(r.token_times, r.token_times[1:], strict=False)]
    waited = r.waited + (stop - r.since if r.state in ("waiting", "swapped") else 0)
    return {
        "id": r.id,
        "outcome": r.outcome or "unfinished",
        "reason": r.reason,
        "arrival": seconds(r.arrival),
        "first_execution": seconds(r.first_execution),
        "token_times": [seconds(t) for t in times],
        "delivered_times": [seconds(t) for t in delivered],
        "end": seconds(r.end),
        "ttft": seconds(times[0] - r.arrival) if times else None,
        "wait": None if r.first_execution is None else seconds(r.first_execution - r.arrival),
        "waits_total": seconds(waited),
        "tpot": seconds(Fraction(times[-1] - times[0], len(times) - 1)) if gaps else None,
        "itl_max": seconds(max(gaps)) if gaps else None,
        "computed_tokens": r.computed_tokens,
        "cached_tokens": r.cached_tokens,
        "recomputed_tokens": r.recomputed_tokens,
        "preemptions": r.preemptions,
    }


def result_of(scenario):
    """The result object of a valid scenario with `requests`."""
    return simulated(scenario)[1]


def simulated(scenario):
    """The world after the run, and the result object."""
    w = simulate(scenario)
    sent = sorted((r for r in w.all if r.state != "future"), key=lambda r: (r.arrival, r.place))
    stop = w.now if w.until is None else max(w.until, w.last_end)
    rows = [row(w, r, stop) for r in sent]
    cut = w.until is not None and (len(sent) < len(w.all) or any(r.outcome is None for r in sent))
    length = stop if cut else max([w.last_end] + [r.end for r in sent if r.end is not None])
    computed, again = sum(r.computed_tokens for r in sent), sum(r.recomputed_tokens for r in sent)
    summary = {"submitted": len(sent)}
    for outcome in ("finished", "rejected", "cancelled", "expired", "failed", "unfinished"):
        summary[outcome] = sum(1 for x in rows if x["outcome"] == outcome)
    summary["seconds"] = seconds(length)
    summary["busy_seconds"] = seconds(w.busy)
    summary["recompute_ratio"] = float(Fraction(again, computed - again)) if computed != again else None
    return w, {"schema": "labkit.result/1", "requests": rows, "rounds": w.rounds, "summary": summary}


def dumps(result):
    return json.dumps(result, separators=(",", ":"), ensure_ascii=False)


# ---------------------------------------------------------------- random scenarios


def random_scenario(rng):
    """A small valid scenario; `rng` is a `random.Random`. Pools are small, so that every rule gets its turn."""

    def chance(p):
        return rng.random() < p

    def time(low, high):
        return round(rng.uniform(low, high), rng.choice([2, 3, 3, 4, 9]))

    page, token_bytes, seats = (
        rng.choice([1, 2, 4, 4, 4, 5]),
        rng.choice([1, 8, 64]),
        rng.choice([1, 2, 2, 3, 3, 4]),
    )
    tokens = rng.choice([2, 4, 6, 8, 8, 12, 16, 32])
    pages = None if chance(0.1) else rng.choice([3, 4, 5, 6, 6, 8, 8, 10, 12, 16])
    workspace = rng.choice([0, 0, 7])
    budget = {
        "tokens": tokens,
        "seats": seats,
        "page_tokens": page,
        "bytes_per_token": token_bytes,
        "workspace_bytes": workspace,
        "kv_bytes": None
        if pages is None
        else pages * page * token_bytes + workspace + rng.randrange(page * token_bytes),
    }

    policy = {
        "admission": rng.choice(["reserve", "grow", "grow", "grow"]),
        "preemption": rng.choice(["none", "recompute", "recompute", "swap", "swap", "cheapest"]),
        "order": rng.choice(["fcfs", "sjf", "edf", "priority", "priority", "credit"]),
        "phase": rng.choice(["decode_first", "prefill_first", "shared"]),
    }
    if chance(0.25):
        policy["batching"] = "static"
        policy["batch_window_seconds"] = rng.choice([0, 0, time(0, 0.1)])
        policy["static_finished"] = rng.choice(["stop", "compute"])
    if policy["preemption"] in ("swap", "cheapest"):
        policy["host_bytes"] = rng.choice([1, 2, 4, 100]) * page * token_bytes * rng.choice([1, 2, 3])
    if policy["phase"] == "shared":
        policy["min_prefill_share"], policy["min_decode_share"] = rng.choice(
            [(0, 0), (0.25, 0.25), (0.5, 0.5), (0.5, 0), (0, 0.5), (0.3, 0.6), (1, 0), (0, 1), (0.1, 0.15)]
        )
    if chance(0.65):
        policy["prefill_chunk"] = rng.choice([1, 2, 3, 4, 4, 6, 8])
    if chance(0.4):
        policy["max_bypass"] = rng.choice([None, 0, 1, 2])
    if chance(0.25):
        policy["aging_seconds"] = time(0, 0.2)
    if chance(0.3):
        policy["min_run_tokens"] = rng.choice([1, 2, 3, 5])
    if chance(0.15):
        policy["max_queue"] = rng.choice([0, 1, 2, 3])
    if chance(0.2):
        policy["margin_seconds"] = time(0, 0.05)
    if chance(0.5):
        policy["prefix_sharing"] = True
    if policy["order"] == "credit":
        policy["charge"] = rng.choice(["tokens", "requests", "cost"])

    changes = (
        [
            {
                "at": (at := time(0, 0.3)),
                "live_at": round(at + time(0, 0.1), 9),
                "seats": rng.choice([1, 2, 3, 5]),
            }
            for _ in range(rng.choice([1, 1, 2]))
        ]
        if chance(0.12)
        else []
    )

    def cost():
        kind = rng.choice(["table", "linear", "linear", "padded"])
        if kind == "table":
            sizes = max([seats] + [c["seats"] for c in changes])
            value, base = {"kind": "table", "seconds": {}}, time(0.005, 0.02)
            for n in range(1, sizes + 1):
                value["seconds"][str(n)] = round(base + (n - 1) * 0.0037, 9)
        else:
            value = {
                "kind": kind,
                "fixed": rng.choice([0, 0.004, 0.0051]),
                "per_token": rng.choice([0.001, 0.00033333]),
            }
            for name, most in (("per_pair", 0.0001), ("per_context", 0.00007), ("per_seat", 0.002)):
                if chance(0.5):
                    value[name] = rng.choice([most, most / 8, 1e-7, 3.3333333333e-8])
            if kind == "padded":
                value["buckets"] = rng.choice([[4], [2, 4, 8], [3, 7]])
        if chance(0.6):
            value["swap_fixed"] = rng.choice([0, 0.001, 0.0033])
            if chance(0.7):
                value["swap_bytes_per_second"] = rng.choice([1000, 30000, 777.7])
        return value

    scenario = {
        "schema": "labkit.scenario/1",
        "title": "random",
        "budget": budget,
        "policy": policy,
        "cost": cost(),
    }
    if chance(0.2):
        scenario["estimate"] = cost()
    if chance(0.25):
        budget["round_seconds"] = time(0.004, 0.04)
    if changes:
        scenario["capacity_changes"] = changes
    if chance(0.15):
        scenario["until"] = time(0.01, 0.4)

    names = (
        ["default"]
        if policy["order"] != "credit" and chance(0.6)
        else ["default", "x", "y"][: rng.choice([2, 3])]
    )
    if policy["order"] == "credit" and chance(0.7):
        scenario["tenants"] = {}
        for name in names:
            scenario["tenants"][name] = {"weight": rng.choice([1, 1, 2, 3, 0.5])}
            if chance(0.4):
                scenario["tenants"][name]["max_carry"] = rng.choice([1, 3, 5, 20])

    readers, dates, faults = chance(0.35), chance(0.35), chance(0.25)
    spread_out, prefixes = rng.choice([0, 0.02, 0.1, 0.3]), chance(0.7)
    requests = scenario["requests"] = []
    for place in range(rng.randint(2, 8)):
        most = max(1, (pages or 8) * page * 2 // 3)
        prompt, output = rng.randint(1, most), rng.choice([1, 1, 2, 3, 4, 6, 8, 12])
        if policy.get("prefill_chunk") is None and chance(0.9):
            prompt = min(prompt, tokens)
        r = {
            "id": f"r{place}",
            "arrival": rng.choice([0, time(0, spread_out), time(0, spread_out)]),
            "prompt_tokens": prompt,
            "output_tokens": output,
        }
        if chance(0.3):
            r["max_output_tokens"] = max(1, output + rng.choice([-1, 0, 1, 4]))
        if len(names) > 1:
            r["tenant"] = rng.choice(names)
        if chance(0.6) and policy["order"] == "priority":
            r["priority"] = rng.randint(-1, 3)
        if chance(0.15):
            r["prefilled"] = True
            r["prompt_tokens"] = prompt = rng.choice([prompt, prompt, 0])
        if prefixes and chance(0.7):
            first = rng.randint(0, prompt)
            r["prefix"] = [["s", first]] if first else []
            if prompt > first and chance(0.5):
                r["prefix"].append([rng.choice("uv"), rng.randint(1, prompt - first)])
        if dates and chance(0.5):
            r["deadline"] = round(r["arrival"] + time(0.005, 0.6), 9)
        if faults and chance(0.3):
            r["cancel_at"] = round(r["arrival"] + time(0.001, 0.2) + 0.001, 9)
        if faults and chance(0.3):
            r["fail_at"] = round(r["arrival"] + time(0.001, 0.2) + 0.001, 9)
        if chance(0.15):
            r["network_seconds"] = time(0, 0.05)
        if chance(0.2):
            r["deliver_every"] = rng.choice([2, 3])
        if readers and chance(0.5):
            r["reader"] = {
                "tokens_per_second": rng.choice([5, 20, 33.3, 70, 150, 1000]),
                "buffer_tokens": r.get("deliver_every", 1) + rng.choice([0, 0, 1, 2]),
                "on_full": "pause",
            }
            if chance(0.4):
                r["reader"].update(on_full="cancel", patience_seconds=time(0, 0.1))
        requests.append(r)
    return scenario


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            print(dumps(result_of(json.load(file, parse_float=Decimal))))
