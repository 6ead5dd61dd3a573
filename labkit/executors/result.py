"""What an executor reports of a round that has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Token(NamedTuple):
    """A token of the real model: its id, and the text that it completes ("" inside a character; None: no tokenizer)."""

    id: int
    text: str | None = None


class RoundResult(NamedTuple):
    """How long the round took, whose token of it is the last by the executor's word, and the tokens themselves.

    `tokens`: by request, of those items that yield; empty for the virtual executor, which has none. `late_ns`: how
    long after its end the round's signal comes (None: never), and `late_swaps` the same for each swap-out that it
    carries and that is not complete with it; only the virtual executor's faults make any.
    """

    seconds_ns: int
    last: frozenset[str]
    tokens: Mapping[str, Token] = {}
    late_ns: int | None = 0
    late_swaps: Mapping[str, int | None] = {}
