"""How long a round takes: four cost models, exact to the nanosecond (C08, C09, C13).

A round is a set of items, each `q` new positions after `s` positions that are already in the cache. The
models differ in what they look at:

=========== =====================================================================================
`TableCost`  the number of busy seats alone: X1's 10 ms a round, Q31.2's 6 and 10 ms
`LinearCost` `fixed + per_token·Σq + per_pair·Σ(qs + q(q+1)/2) + per_context·Σs + per_seat·seats` (E31.4)
`PaddedCost` the same after padding each prompt chunk to the longest in its length bucket (E31.3, C09)
=========== =====================================================================================

A calibrated model is a `LinearCost` or `PaddedCost` whose coefficients were fitted to a device (`calibrate`).

All coefficients are exact fractions of a nanosecond over one common denominator, so a round is a handful of
integer operations an item, and it is rounded half-even to whole nanoseconds once: computing and swap
transfers together. No model uses floating point.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction

ZERO = Fraction(0)


def rounded(numerator: int, denominator: int) -> int:
    """`numerator/denominator` ns as whole ns: half-even, at least 1, because no round is instant."""
    whole, rest = divmod(numerator, denominator)
    twice = rest + rest
    if twice > denominator or (twice == denominator and whole & 1):
        whole += 1
    return whole or 1


def chunk_count(positions: int, chunk: int) -> int:
    """Rounds that `positions` prompt positions take in chunks of `chunk`: the ceiling of their ratio."""
    return -(-positions // chunk)


def _check(name: str, value: Fraction) -> Fraction:
    if value < 0:
        raise ValueError(f"{name} must be 0 or more, got {value}")
    return Fraction(value)


class _Transfers:
    """What the models share: one denominator for all coefficients, and the price of a swap (C27)."""

    edges: tuple[int, ...] = ()  # a longer chunk never makes a round shorter

    def __init__(
        self, coefficients: Sequence[Fraction], swap_fixed: Fraction, swap_per_byte: Fraction
    ) -> None:
        self.swap_fixed = _check("swap_fixed", swap_fixed)
        self.swap_per_byte = _check("swap_per_byte", swap_per_byte)
        parts = (*coefficients, self.swap_fixed, self.swap_per_byte)
        self.denominator = math.lcm(*(part.denominator for part in parts))
        self._swap_fixed_n = self._numerator(self.swap_fixed)
        self._swap_per_byte_n = self._numerator(self.swap_per_byte)

    def _numerator(self, value: Fraction) -> int:
        return value.numerator * (self.denominator // value.denominator)

    def transfer(self, nbytes: int) -> Fraction:
        """Exact ns of one swap transfer of `nbytes`: `swap_fixed + nbytes·swap_per_byte` (C27)."""
        return self.swap_fixed + self.swap_per_byte * nbytes

    def transfer_numerator(self, nbytes: int) -> int:
        """The same over `denominator`, for a round under construction."""
        return self._swap_fixed_n + self._swap_per_byte_n * nbytes


class TableCost(_Transfers):
    """Round time by the number of busy seats alone (X1, Q31.2).

    `ns_by_seats[n]` is the time of a round with `n` busy seats, in ns, for every n from 1 to the number of
    seats. Idle seats that a static kernel goes on computing count as busy. A round without a seat computes
    nothing.
    """

    def __init__(
        self,
        ns_by_seats: Mapping[int, Fraction],
        *,
        swap_fixed: Fraction = ZERO,
        swap_per_byte: Fraction = ZERO,
    ) -> None:
        sizes = sorted(ns_by_seats)
        if not sizes or sizes != list(range(1, len(sizes) + 1)):
            raise ValueError(f"a table gives every size 1..K, got {sizes[:10]}")
        times = [_check(f"seconds of {n} seats", ns_by_seats[n]) for n in sizes]
        super().__init__(times, swap_fixed, swap_per_byte)
        self.ns_by_seats = dict(zip(sizes, times, strict=True))
        self._numerators = (0, *(self._numerator(time) for time in times))

    def begin(self, idle_seats: int = 0) -> TableLoad:
        """An empty round in which `idle_seats` ended members of a static batch go on being computed."""
        return TableLoad(self, self._numerators, idle_seats)

    def alone(self, computed: int, total: int, decodes: int, chunk: int) -> Fraction:
        """Exact ns of one request run alone: each of its rounds has one busy seat.

        Positions `computed`..`total` in chunks of `chunk`, then `decodes` rounds of one position.
        """
        rounds = chunk_count(total - computed, chunk) + decodes
        return rounds * self.ns_by_seats[1]


class TableLoad:
    """A round of a `TableCost` under construction: a count of seats, and the transfers."""

    __slots__ = ("_denominator", "_model", "_numerators", "_seats", "_transfers")

    def __init__(self, model: TableCost, numerators: tuple[int, ...], seats: int) -> None:
        self._model = model
        self._numerators = numerators
        self._denominator = model.denominator
        self._seats = seats
        self._transfers = 0

    def ns_with(self, new_tokens: int, context: int, prefill: bool) -> int:
        """Duration in ns with one more busy seat, whatever the item. Constant time."""
        return rounded(self._numerators[self._seats + 1] + self._transfers, self._denominator)

    def add(self, new_tokens: int, context: int, prefill: bool) -> None:
        """One more busy seat. Constant time."""
        self._seats += 1

    def add_transfer(self, nbytes: int) -> None:
        """One swap transfer of `nbytes` more."""
        self._transfers += self._model.transfer_numerator(nbytes)

    def ns(self) -> int:
        """Duration of the round in ns, rounded once."""
        return rounded(self._numerators[self._seats] + self._transfers, self._denominator)


class LinearCost(_Transfers):
    """`fixed + per_token·Σq + per_pair·Σ(qs + q(q+1)/2) + per_context·Σs + per_seat·seats` in ns (E31.4).

    `fixed` is the launch, `per_token` the work of one new position outside attention, `per_pair` one
    key-query pair, `per_context` one re-read position of the cache, `per_seat` one busy seat. Splitting a
    prompt into chunks leaves Σq and the pairs unchanged and adds launches and re-reads (C11, Q31.4). Idle
    seats cost `per_seat` each.
    """

    def __init__(
        self,
        *,
        fixed: Fraction = ZERO,
        per_token: Fraction = ZERO,
        per_pair: Fraction = ZERO,
        per_context: Fraction = ZERO,
        per_seat: Fraction = ZERO,
        swap_fixed: Fraction = ZERO,
        swap_per_byte: Fraction = ZERO,
    ) -> None:
        self.fixed = _check("fixed", fixed)
        self.per_token = _check("per_token", per_token)
        self.per_pair = _check("per_pair", per_pair)
        self.per_context = _check("per_context", per_context)
        self.per_seat = _check("per_seat", per_seat)
        coefficients = (self.fixed, self.per_token, self.per_pair, self.per_context, self.per_seat)
        if self.fixed + self.per_token + self.per_pair + self.per_seat <= 0:
            raise ValueError("a round of one token must cost more than 0")
        super().__init__(coefficients, swap_fixed, swap_per_byte)
        self.fixed_n, self.token_n, self.pair_n, self.context_n, self.seat_n = map(
            self._numerator, coefficients
        )

    def begin(self, idle_seats: int = 0) -> LinearLoad:
        """An empty round in which `idle_seats` ended members of a static batch go on being computed."""
        return LinearLoad(self, idle_seats)

    def alone(self, computed: int, total: int, decodes: int, chunk: int) -> Fraction:
        """Exact ns of one request run alone, in closed form.

        Positions `computed`..`total` in chunks of `chunk` (c0, c0 + chunk, … as the contexts), then `decodes`
        rounds of one position each. The pairs do not depend on the split (E31.4); the launches and the
        re-read positions `k·s + q·k(k−1)/2` do (Q31.4).
        """
        positions = total - computed
        chunks = chunk_count(positions, chunk)
        rounds = chunks + decodes
        every = positions + decodes
        pairs = every * computed + every * (every + 1) // 2
        read = chunks * computed + chunk * (chunks * (chunks - 1) // 2)
        read += decodes * total + decodes * (decodes - 1) // 2
        return (
            rounds * (self.fixed + self.per_seat)
            + every * self.per_token
            + pairs * self.per_pair
            + read * self.per_context
        )


class LinearLoad:
    """A round of a `LinearCost` under construction: one running sum over the common denominator."""

    __slots__ = ("_context", "_denominator", "_model", "_pair", "_seat", "_sum", "_token")

    def __init__(self, model: LinearCost, idle_seats: int) -> None:
        self._model = model
        self._denominator = model.denominator
        self._token = model.token_n
        self._pair = model.pair_n
        self._context = model.context_n
        self._seat = model.seat_n
        self._sum = model.fixed_n + idle_seats * model.seat_n

    def _item(self, q: int, s: int) -> int:
        return self._seat + self._token * q + self._pair * (q * s + q * (q + 1) // 2) + self._context * s

    def ns_with(self, new_tokens: int, context: int, prefill: bool) -> int:
        """Duration in ns if `new_tokens` positions after `context` were in the round too. Constant time."""
        return rounded(self._sum + self._item(new_tokens, context), self._denominator)

    def add(self, new_tokens: int, context: int, prefill: bool) -> None:
        """Put the item into the round. Constant time."""
        self._sum += self._item(new_tokens, context)

    def add_transfer(self, nbytes: int) -> None:
        """One swap transfer of `nbytes` more."""
        self._sum += self._model.transfer_numerator(nbytes)

    def ns(self) -> int:
        """Duration of the round in ns, rounded once."""
        return rounded(self._sum, self._denominator)


class PaddedCost:
    """`LinearCost` after padding each prompt chunk to the longest one in its length bucket (E31.3, C09).

    `buckets` are ascending lengths; a chunk of q positions belongs to the first that is at least q, and
    chunks over the last one share a bucket of their own. Without `buckets` all chunks of a round share one.
    Decodes are not padded, and neither is a chunk that is alone in its bucket: a bucket costs its longest
    *member*, not its edge.
    """

    def __init__(self, linear: LinearCost, buckets: Sequence[int] = ()) -> None:
        if list(buckets) != sorted(set(buckets)) or (buckets and buckets[0] < 1):
            raise ValueError(f"buckets are ascending lengths of at least 1, got {list(buckets)[:10]}")
        self.linear = linear
        self.buckets = tuple(buckets)
        self.edges = self.buckets  # a chunk that grows into the next bucket frees its old one of its padding

    def begin(self, idle_seats: int = 0) -> PaddedLoad:
        """An empty round in which `idle_seats` ended members of a static batch go on being computed."""
        return PaddedLoad(self.linear, self.buckets, idle_seats)

    def alone(self, computed: int, total: int, decodes: int, chunk: int) -> Fraction:
        """Exact ns of one request run alone: nothing to pad to, so the linear closed form."""
        return self.linear.alone(computed, total, decodes, chunk)

    def transfer(self, nbytes: int) -> Fraction:
        """Exact ns of one swap transfer."""
        return self.linear.transfer(nbytes)


class PaddedLoad:
    """A round of a `PaddedCost` under construction: members, Σs and the longest chunk of each bucket.

    A bucket of n members with contexts summing to S and longest chunk q costs `n·per_seat + per_token·nq +
    per_pair·(qS + n·q(q+1)/2) + per_context·S`, so an item changes one bucket: constant time but for finding
    it.
    """

    __slots__ = ("_buckets", "_groups", "_linear", "_sum")

    def __init__(self, linear: LinearCost, buckets: tuple[int, ...], idle_seats: int) -> None:
        self._linear = linear
        self._buckets = buckets
        self._groups: dict[int, tuple[int, int, int, int]] = {}  # bucket: members, Σs, longest, cost
        self._sum = linear.fixed_n + idle_seats * linear.seat_n

    def _group(self, members: int, contexts: int, q: int) -> int:
        cost = self._linear
        pairs = q * contexts + members * (q * (q + 1) // 2)
        return members * (cost.seat_n + cost.token_n * q) + cost.pair_n * pairs + cost.context_n * contexts

    def _joined(self, q: int, s: int) -> tuple[int, tuple[int, int, int, int], int]:
        """The bucket of the chunk, its members with the chunk in it, and by how much the round grows."""
        bucket = bisect_left(self._buckets, q)
        members, contexts, longest, cost = self._groups.get(bucket, (0, 0, 0, 0))
        members, contexts, longest = members + 1, contexts + s, max(longest, q)
        grown = self._group(members, contexts, longest)
        return bucket, (members, contexts, longest, grown), grown - cost

    def ns_with(self, new_tokens: int, context: int, prefill: bool) -> int:
        """Duration in ns if the item were in the round too, the padding that it causes included."""
        more = self._joined(new_tokens, context)[2] if prefill else self._group(1, context, new_tokens)
        return rounded(self._sum + more, self._linear.denominator)

    def add(self, new_tokens: int, context: int, prefill: bool) -> None:
        """Put the item into the round; a chunk longer than its bucket's others makes those longer too."""
        if prefill:
            bucket, group, more = self._joined(new_tokens, context)
            self._groups[bucket] = group
            self._sum += more
        else:
            self._sum += self._group(1, context, new_tokens)

    def add_transfer(self, nbytes: int) -> None:
        """One swap transfer of `nbytes` more."""
        self._sum += self._linear.transfer_numerator(nbytes)

    def ns(self) -> int:
        """Duration of the round in ns, rounded once."""
        return rounded(self._sum, self._linear.denominator)
