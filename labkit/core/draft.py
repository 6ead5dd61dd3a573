"""A plan in the making: a view of the state with what is left of each budget. The state itself never changes."""

from __future__ import annotations

import copy
from bisect import insort
from collections.abc import Callable
from itertools import takewhile
from typing import Literal

from labkit.core.lifecycle import Sequence, Status
from labkit.core.ordering import Rank
from labkit.core.pages import PageRef
from labkit.core.plan import Entry, Plan, PlanItem, Reason, Victim
from labkit.core.scheduler import State
from labkit.core.types import RoundLoad


class Draft:
    """What is left of tokens, seats, pages and seconds; and what is planned so far.

    `victims` of an earlier attempt at the same instant are out from the start.
    """

    def __init__(self, state: State, now: int, victims: tuple[Victim, ...] = ()) -> None:
        policy = state.policy
        self.state = state
        self.now = now
        self.grow = policy.admission == "grow"
        self.page = state.budget.page_tokens
        self.tokens = state.budget.tokens
        self.share = self.tokens  # what prompts may take in this pass over the queues
        self.added: dict[str, int] = {}  # what each has taken of it
        self.pages = state.available_pages
        self.leaving: set[int] = (
            set()
        )  # pages that come free only when their way to the host is done (depth 2)
        self.items: dict[str, PlanItem] = {}
        self.entries: dict[str, Entry] = {}
        self.victims: dict[str, Victim] = {}
        self.passed: dict[str, int] = {}
        self.notes: dict[str, Reason] = {}
        self.rest = Reason.SEATS
        self.transfers: list[int] = list(state.owed)
        self.wake_ns: int | None = None
        self.forms_batch = False
        self.held_back = False  # a swapped request could not come back
        self.admit_anyway = False
        self.closed = any(victim.mode != "fail" for victim in victims)  # what was freed is for those who run
        self.stopped_by_pages = False
        self.stopped_by_seconds = False
        self.ignore_seconds = False
        self.idle_seats = state.batch_ended if state.batch and policy.static_finished == "compute" else 0
        self.holders: dict[int, int] = {}  # change of a page's holders by this draft
        self.rank: Callable[[Sequence], Rank] = state.ordering.rank
        self.active = list(state.ordering.ranked(state.active))
        self.takes_over = policy.order == "priority" and policy.preemption != "none"
        self.found: dict[str, int] = {}  # pages that waiting requests would hit, as far as they were counted
        self.lends_seats = "active" not in policy.backpressure  # a paused request's seat is lent to others
        lent = sum(1 for seq in self.active if seq.paused) if self.lends_seats else 0
        self.seats = state.seats - len(self.active) + lent
        self.load: RoundLoad | None = self._load()
        for victim in victims:
            self._give_way(state.live[victim.id], victim)

    # ------------------------------------------------------------------------------------- what may run

    def context(self, seq: Sequence) -> int:
        """Positions in the cache before the round: all those of the rounds in flight are there by then."""
        entry = self.entries.get(seq.id)
        return seq.scheduled if entry is None else self._begins_with(seq, entry.hits)

    def _begins_with(self, seq: Sequence, hits: tuple[PageRef, ...]) -> int:
        """Positions in the cache once it is seated."""
        if seq.status is Status.SWAPPED:
            return seq.scheduled
        if seq.request.prefilled and not seq.preemptions:
            return seq.prompt_tokens
        return len(hits) * self.page

    def begin_pass(self, share: int) -> None:
        """Prompts begin to take up to `share` tokens."""
        self.share = share
        self.added = {}

    @property
    def left(self) -> int:
        """Tokens that the next prompt may still take in this pass."""
        return min(self.tokens, self.share - sum(self.added.values()))

    def runnable(self, decode: bool) -> list[Sequence]:
        """Active requests that may run and whose next step is a decode (planned ones left out), or is not, in order."""
        found = []
        victims, items, entries = self.victims, self.items, self.entries
        for seq in self.active:
            if seq.paused or (victims and seq.id in victims):
                continue
            context = self.context(seq) if entries else seq.scheduled
            decodes = (
                seq.wanted - context == 1 and context >= seq.prompt_tokens
            )  # `_decodes`, in line for speed
            if decodes is decode and not (decode and items and seq.id in items):
                found.append(seq)
        return found

    # ------------------------------------------------------------------------------------- active requests

    def add_decode(self, seq: Sequence) -> bool:
        """One output position of an active request, if seconds and pages allow."""
        context = self.context(seq) if self.entries else seq.scheduled
        if self.load is not None and not self._within_seconds(1, 1, context, False):
            return False
        if self.grow and context % self.page == 0:  # its last page is full
            if not self._page_room(seq, 1, False):
                return False
            self.pages -= 1
        if self.load is not None:
            self.load.add(1, context, False)
        self.tokens -= 1
        self.ignore_seconds = False
        self.items[seq.id] = PlanItem(seq.id, seq.epoch, 1, context, False, True)
        return True

    def add_chunk(self, seq: Sequence) -> None:
        """The largest prompt step of an active request; one that is planned already is made longer."""
        planned = self.items.get(seq.id)
        had = planned.new_tokens if planned else 0
        context = self.context(seq)
        most, least = self._chunk(seq, context + had, had)
        if not most:
            return
        if planned:
            self.load = self._load(without=seq.id)
        most = self._within_seconds(had + most, had + least, context, True) - had
        if most > 0 and self._page_room(seq, least, True):
            most = self._within_seconds(had + most, had + least, context, True) - had
            if self.grow:
                most = min(most, (self._held(seq) + self.pages) * self.page - context - had)
            self._put(seq, had + most, context, True)
        if planned:
            self.load = self._load()

    def _chunk(self, seq: Sequence, start: int, had: int) -> tuple[int, int]:
        """Most and fewest new positions from `start` that chunk limit and tokens allow; (0, 0) for none."""
        want, room = seq.wanted - start, self.left
        if self.state.first_prefill(seq):
            return (want, want) if 0 < want <= room else (0, 0)
        limit = self.state.policy.prefill_chunk
        most = min(want, room, want if limit is None else limit - had)
        return (most, 1) if most > 0 else (0, 0)

    def _page_room(self, seq: Sequence, least: int, prefill: bool) -> bool:
        """Pages for the smallest step of an active request: free ones, else those of victims (growth).

        Who has a step already makes nobody give way for a longer one.
        """
        if not self.grow:
            return True
        planned = self.items.get(seq.id)
        had = planned.new_tokens if planned else 0
        need = self.state.pages_for(self.context(seq) + had + least) - self._held(seq)
        if need <= self.pages or (not planned and self._evict_for(seq, need, least, prefill)):
            return True
        self.stopped_by_pages = True
        return False

    def _held(self, seq: Sequence) -> int:
        """Pages of its table, with those that its planned step takes."""
        item = self.items.get(seq.id)
        if item:
            return self.state.pages_for(item.context + item.new_tokens)
        entry = self.entries.get(seq.id)
        if entry is None:
            return len(seq.table)
        return max(len(entry.hits), self.state.pages_for(self.context(seq)))

    def _evict_for(self, grower: Sequence, need: int, least: int, prefill: bool) -> bool:
        """Growth: active requests below the grower, unprotected and not yet planned, give way, lowest first.

        Where pages that are on their way out suffice, or will by that, it has to wait for those.
        """
        if self.state.policy.preemption == "none" or need <= self.pages + self.coming:
            return False
        before = self._save()
        for seq in self.active[::-1]:
            if seq is grower:
                break
            if (
                seq.id in self.victims
                or seq.id in self.items
                or seq.id in self.entries
                or self.protected(seq)
            ):
                continue
            self._give_way(seq, Victim(seq.id, self._mode(seq), grower.id))
            if need <= self.pages + self.coming:
                if self._within_seconds(least, least, self.context(grower), prefill):
                    return need <= self.pages
                break  # moving its pages to the host would take too long
        self._restore(before)
        return False

    def protected(self, seq: Sequence) -> bool:
        """It has not yet gained `min_run_tokens` positions since it was last admitted (law 9, C28)."""
        return seq.scheduled - seq.mark < self.state.policy.min_run_tokens

    def way_out(self) -> Victim | None:
        """Every runnable request was stopped by pages: the lowest-ranked gives way, or ends under `none` (law 9).

        Nobody does as long as pages are on their way.
        """
        left = [seq for seq in self.active if seq.id not in self.victims]
        if not self.stopped_by_pages or self.coming or not left:
            return None
        lowest = left[-1]
        return Victim(
            lowest.id, "fail" if self.state.policy.preemption == "none" else self._mode(lowest), left[0].id
        )

    # ------------------------------------------------------------------------------------- admissions

    def try_enter(self, seq: Sequence) -> Reason | None:
        """Seat a waiting or swapped request with its largest first step; None if it's in, else what stops it."""
        if self.left <= 0:
            return Reason.TOKENS
        if self.seats > 0 and not self.takes_over and self._short_of_pages(seq):
            return Reason.PAGES
        hits = self._hits(seq)
        reason = self._enter(seq, hits)
        if reason is not None and self.takes_over and self._lacks(seq, hits) and self._take_over(seq, hits):
            return None
        return reason

    def _short_of_pages(self, seq: Sequence) -> bool:
        """True only if it can't fit whatever it finds in the cache: most of a long queue is settled by this alone.

        `seq.found`: how many pages it would have hit when its hits were last counted. Where the next one is still
        missing, it can't hit more.
        """
        hits = 0
        if seq.chain and seq.status is Status.WAITING:
            hits = max(0, seq.prompt_tokens - 1) // self.page
            if seq.found < len(seq.chain) and self.state.pool.lacks(seq.chain[seq.found]):
                hits = min(hits, seq.found)
        need = seq.bound_pages
        if self.grow:
            first = seq.wanted if self.state.first_prefill(seq) else 1
            need = self.state.pages_for(self._needs(seq, first))
        return max(1, need - hits) > self.pages

    def _lacks(self, seq: Sequence, hits: tuple[PageRef, ...]) -> bool:
        """It is a seat or pages that it lacks, whatever else it lacks too; pages on their way out are not lacking."""
        first = seq.wanted if self.state.first_prefill(seq) else self._begins_with(seq, hits) + 1
        pages = self.state.pages_for(self._needs(seq, first)) if self.grow else seq.bound_pages
        return self.seats <= 0 or pages - len(hits) + self._revived(hits) > self.pages + self.coming

    def _needs(self, seq: Sequence, first: int) -> int:
        """Positions that must fit before it is seated under `grow`: its first step, or all that it lost.

        Who was preempted with half of its positions in reach would compute them only to lose them again (C28).
        """
        return seq.wanted if seq.preemptions and seq.status is Status.WAITING else first

    def try_join(self, seq: Sequence) -> Reason | None:
        """Make a waiting request a member of the static batch that forms now; tokens don't bind membership.

        Under `grow` nothing is promised: see `Draft.unpromise`.
        """
        if self.seats <= 0:
            return Reason.SEATS
        hits = self._hits(seq)
        need = (
            (self.state.pages_for(seq.wanted) if self.grow else seq.bound_pages)
            - len(hits)
            + self._revived(hits)
        )
        if need > self.pages:
            return Reason.PAGES
        self.pages -= need
        self._seat(seq, hits)
        return None

    def unpromise(self) -> None:
        """A batch has formed under `grow`: its prompts' pages fit together, but are taken only as they are computed."""
        if self.grow:
            members = (self.state.live[name] for name in self.entries)
            self.pages += sum(self.state.pages_for(seq.wanted) - self._held(seq) for seq in members)

    def _enter(self, seq: Sequence, hits: tuple[PageRef, ...]) -> Reason | None:
        if self.seats <= 0 or len(self.items) >= self.state.seats:
            return Reason.SEATS
        context = self._begins_with(seq, hits)
        prefill = not _decodes(seq, context)
        most, least = self._chunk(seq, context, 0) if prefill else (min(1, self.left), 1)
        if most <= 0:
            return Reason.TOKENS
        saved = len(hits) - self._revived(hits)
        if self.grow:
            held = (len(hits) + self.pages - self._revived(hits)) * self.page
            if self._needs(seq, context + least) > held:
                return Reason.PAGES
        elif seq.bound_pages - saved > self.pages:
            return Reason.PAGES
        if seq.status is Status.SWAPPED:
            self._transfer(seq.host_pages)
        most = self._within_seconds(most, least, context, prefill)
        if most <= 0:
            if seq.status is Status.SWAPPED:
                self.transfers.pop()
                self.load = self._load()
            return Reason.SECONDS
        if self.grow:
            most = min(most, held - context)
            self.pages -= self.state.pages_for(context + most) - saved
        else:
            self.pages -= seq.bound_pages - saved
        self._seat(seq, hits)
        self._put(seq, most, context, prefill, pages_counted=True)
        return None

    def _seat(self, seq: Sequence, hits: tuple[PageRef, ...]) -> None:
        self.seats -= 1
        for ref in hits:
            self.holders[ref.id] = self.holders.get(ref.id, 0) + 1
        self.entries[seq.id] = Entry(seq.id, hits, seq.status is Status.SWAPPED)
        self.notes.pop(seq.id, None)
        insort(self.active, seq, key=self.rank)

    def _take_over(self, seq: Sequence, hits: tuple[PageRef, ...]) -> bool:
        """Priority: strictly lower, lower-ranked, unprotected active ones give way if together they suffice."""
        before = self._save()
        for other in self.active[::-1]:
            if other.request.priority >= seq.request.priority or self.rank(other) < self.rank(seq):
                continue
            if other.id in self.victims or other.id in self.entries or self.protected(other):
                continue
            self._give_way(other, Victim(other.id, self._mode(other), seq.id))
            reason = self._enter(seq, hits)
            if reason is None:
                return True
            if reason is Reason.PAGES and self.coming and not self._lacks(seq, hits):
                return False  # its pages are on their way
        self._restore(before)
        return False

    # ------------------------------------------------------------------------------------- pages and modes

    def _hits(self, seq: Sequence) -> tuple[PageRef, ...]:
        """Published pages that it can share; at least one position is left to compute (law 10)."""
        if not seq.chain or seq.status is Status.SWAPPED:
            return ()
        hits = self.state.pool.find(seq.chain[: max(0, seq.prompt_tokens - 1) // self.page])
        if self.leaving:
            hits = list(takewhile(lambda ref: ref.id not in self.leaving, hits))
        self.found[seq.id] = len(hits)
        return tuple(hits)

    @property
    def coming(self) -> int:
        """Pages that come free with the rounds and swaps in flight, those of this plan among them."""
        return self.state.pool.quarantined + len(self.leaving)

    def _held_by(self, page: int) -> int:
        return self.state.pool.references[page] + self.holders.get(page, 0)

    def _revived(self, hits: tuple[PageRef, ...]) -> int:
        """How many of the hits nobody holds: they count as free until they are shared."""
        return sum(1 for ref in hits if self._held_by(ref.id) == 0)

    def _give_way(self, seq: Sequence, victim: Victim) -> None:
        """A page that someone else shares frees nothing (C27); one that is copied while rounds overlap, not yet."""
        later = victim.mode == "swap" and self.state.policy.pipeline_depth > 1
        if not self.grow:
            self.pages += seq.bound_pages - len(seq.table)
        elif seq.id in self.items:
            self.pages += self._held(seq) - len(seq.table)
        for ref in seq.table:
            self.holders[ref.id] = self.holders.get(ref.id, 0) - 1
            if self._held_by(ref.id) == 0:
                if later:
                    self.leaving.add(ref.id)
                else:
                    self.pages += 1
        if not (self.lends_seats and seq.paused):
            self.seats += 1
        if seq.id in self.items:
            self.tokens += self.items.pop(seq.id).new_tokens
            self.added.pop(seq.id, None)
            self.load = self._load()
        self.victims[seq.id] = victim
        if victim.mode == "swap":
            self._transfer(len(seq.table))
        if victim.mode != "fail":
            self.notes[seq.id] = Reason.PREEMPTED
        elif self.state.policy.static_finished == "compute" and seq.id in self.state.batch:
            self.idle_seats += 1
            self.load = self._load()

    def _transfer(self, pages: int) -> None:
        nbytes = pages * self.state.budget.page_bytes
        self.transfers.append(nbytes)
        if self.load is not None:
            self.load.add_transfer(nbytes)

    def _mode(self, seq: Sequence) -> Literal["recompute", "swap"]:
        """Recompute or swap (C27): by policy, by estimate, and as far as the host has room."""
        policy, state = self.state.policy, self.state
        leaving = sum(len(state.live[v.id].table) for v in self.victims.values() if v.mode == "swap")
        room = state.budget.host_pages - state.host_pages - leaving
        if policy.preemption == "recompute" or len(seq.table) > room or not seq.table:
            return "recompute"
        if policy.preemption == "swap":
            return "swap"
        again = state.estimate.alone(0, seq.scheduled, 0, state.chunk)
        there_and_back = 2 * state.estimate.transfer(len(seq.table) * state.budget.page_bytes)
        return "swap" if there_and_back < again else "recompute"

    # ------------------------------------------------------------------------------------- seconds and items

    def _load(self, without: str | None = None) -> RoundLoad | None:
        """The estimate of the round as planned so far; None where no limit asks for it."""
        if self.state.budget.round_ns is None:
            return None
        load = self.state.estimate.begin(self.idle_seats)
        for nbytes in self.transfers:
            load.add_transfer(nbytes)
        for item in self.items.values():
            if item.id != without:
                load.add(item.new_tokens, item.context, item.prefill)
        return load

    def _within_seconds(self, most: int, least: int, context: int, prefill: bool) -> int:
        """The most positions, from `least` up, with which the estimated round keeps to round_seconds; 0 for none."""
        limit = self.state.budget.round_ns
        if self.load is None or limit is None:
            return most
        # Within a length bucket the estimate grows with the step; across an edge it may fall (others are padded less).
        edges = [edge for edge in self.state.estimate.edges if prefill and least <= edge < most]
        for bottom, top in zip([least, *(e + 1 for e in edges)][::-1], [*edges, most][::-1], strict=True):
            low, high = bottom - 1, top + 1  # low fits, high does not
            while high - low > 1:
                middle = (low + high) // 2
                if self.load.ns_with(middle, context, prefill) <= limit:
                    low = middle
                else:
                    high = middle
            if low >= bottom:
                return low
        if self.ignore_seconds and not self.items:
            return least
        self.stopped_by_seconds = True
        return 0

    def _put(
        self, seq: Sequence, count: int, context: int, prefill: bool, pages_counted: bool = False
    ) -> None:
        """Plan `count` positions in all; `pages_counted`: its pages were taken off already, at the door."""
        end = context + count
        if self.grow and not pages_counted:
            self.pages -= max(0, self.state.pages_for(end) - self._held(seq))
        planned = self.items.get(seq.id)
        self.ignore_seconds = False
        added = count - (planned.new_tokens if planned else 0)
        self.tokens -= added
        self.added[seq.id] = self.added.get(seq.id, 0) + added
        self.items[seq.id] = PlanItem(seq.id, seq.epoch, count, context, prefill, end == seq.wanted)
        if self.load is not None:
            self.load.add(count, context, prefill)

    _KEPT = (
        "tokens",
        "added",
        "pages",
        "leaving",
        "seats",
        "items",
        "entries",
        "victims",
        "notes",
        "transfers",
        "holders",
        "active",
    )

    def _save(self) -> dict[str, object]:
        return {name: copy.copy(getattr(self, name)) for name in self._KEPT}

    def _restore(self, before: dict[str, object]) -> None:
        for name, value in before.items():
            setattr(self, name, value)
        self.load = self._load()

    def plan(self) -> Plan:
        """The finished plan."""
        return Plan(
            now=self.now,
            version=self.state.version,
            items=tuple(self.items.values()),
            entries=tuple(self.entries.values()),
            victims=tuple(self.victims.values()),
            passed=self.passed,
            found=self.found,
            notes=self.notes,
            rest=self.rest,
            transfers=tuple(self.transfers),
            idle_seats=self.idle_seats,
            forms_batch=self.forms_batch,
            wake_ns=self.wake_ns,
        )


def _decodes(seq: Sequence, context: int) -> bool:
    """One output position is all that is missing for its next token (law 2: derived, not stored)."""
    return seq.wanted - context == 1 and context >= seq.prompt_tokens
