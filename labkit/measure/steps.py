"""N(t) and its like: step functions of time with integer steps, their area and peak over a window, and a thin copy."""

from __future__ import annotations

import heapq

MOST = 512  # bins of a thin copy


class Thin:
    """A step function in at most 512 bins of equal width, a power of two of ns: memory is flat, whatever its end.

    Each bin holds the area under the function and its greatest value there. When time runs past the last bin,
    neighbours are merged and the width doubles. While the function has at most 512 pieces, they are kept as they are.
    """

    def __init__(self) -> None:
        self.few: list[tuple[int, int, int]] | None = []
        self.width = 1
        self.areas = [0] * MOST
        self.peaks = [0] * MOST
        self.end = 0

    def add(self, start: int, end: int, value: int) -> None:
        """The function is `value` from `start` to `end` ns."""
        self.reach(end)
        if self.few is not None:
            if self.few and self.few[-1][1:] == (start, value):
                start = self.few.pop()[0]
            self.few.append((start, end, value))
            if len(self.few) <= MOST:
                return
            kept, self.few = self.few, None
            for piece in kept:
                self._bin(*piece)
            return
        self._bin(start, end, value)

    def _bin(self, start: int, end: int, value: int) -> None:
        first, last = start // self.width, (end - 1) // self.width
        for place in range(first, last + 1):
            low, high = max(start, place * self.width), min(end, (place + 1) * self.width)
            self.areas[place] += value * (high - low)
            self.peaks[place] = max(self.peaks[place], value)

    def reach(self, end: int) -> None:
        """Time has gone on to `end`, with the function at 0 where nothing else was added."""
        while end > self.width * MOST:
            self._widen()
        self.end = max(self.end, end)

    def _widen(self) -> None:
        self.width *= 2
        rest = [0] * (MOST // 2)
        self.areas = [a + b for a, b in zip(self.areas[::2], self.areas[1::2], strict=True)] + rest
        self.peaks = [max(a, b) for a, b in zip(self.peaks[::2], self.peaks[1::2], strict=True)] + rest

    def bins(self) -> list[tuple[int, int, int, int]]:
        """(start ns, end ns, area, greatest value) of each piece or bin, up to the last time seen, without holes."""
        if self.few is not None:
            return self._pieces(self.few)
        out = []
        for place in range(-(-self.end // self.width)):
            start = place * self.width
            out.append((start, min(self.end, start + self.width), self.areas[place], self.peaks[place]))
        return out

    def _pieces(self, few: list[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
        out, at = [], 0
        for start, end, value in few:
            if start > at:
                out.append((at, start, 0, 0))
            out.append((start, end, value * (end - start), value))
            at = end
        return [*out, *([(at, self.end, 0, 0)] if self.end > at else [])]


class Trail:
    """Values seen at points in time, in at most 512 bins in the same way: how many, their sum, the greatest."""

    def __init__(self) -> None:
        self.width = 1
        self._bins: dict[int, list[int]] = {}

    def add(self, at: int, value: int) -> None:
        """A value at `at` ns."""
        while at >= self.width * MOST:
            self.width *= 2
            old, self._bins = self._bins, {}
            for place, (count, total, most) in old.items():
                self._join(place // 2, count, total, most)
        self._join(at // self.width, 1, value, value)

    def _join(self, place: int, count: int, total: int, most: int) -> None:
        held = self._bins.get(place)
        if held is None:
            self._bins[place] = [count, total, most]
        else:
            held[0] += count
            held[1] += total
            held[2] = max(held[2], most)

    def points(self) -> list[tuple[int, int, int, int]]:
        """(middle of the bin in ns, how many, their sum, the greatest) of each bin that holds some."""
        return [(place * self.width + self.width // 2, *held) for place, held in sorted(self._bins.items())]  # type: ignore[misc]


class Steps:
    """An integer step function, told by its changes, which may lie ahead of the clock; right-continuous.

    `area` is its integral over what of the window [start, end] the clock has passed, in ns times its unit.
    """

    def __init__(self, start: int = 0, thin: Thin | None = None) -> None:
        self.start = start
        self.thin = thin
        self.now = 0
        self.value = 0
        self.area = 0
        self.peak = 0
        self._ahead: list[tuple[int, int]] = []

    def change(self, at: int, delta: int) -> None:
        """It changes by `delta` at `at` ns, not before the time to which it was advanced."""
        heapq.heappush(self._ahead, (at, delta))

    def advance(self, now: int) -> None:
        """Time goes on to `now`; changes at `now` itself are in force from then on."""
        while self._ahead and self._ahead[0][0] <= now:
            at, delta = heapq.heappop(self._ahead)
            self._hold(at)
            self.value += delta
        self._hold(now)

    def _hold(self, until: int) -> None:
        if until <= self.now:
            return
        if self.value and until > self.start:
            self.area += self.value * (until - max(self.now, self.start))
            self.peak = max(self.peak, self.value)
            if self.thin is not None:
                self.thin.add(self.now, until, self.value)
        elif self.thin is not None:
            self.thin.reach(until)
        self.now = until
