"""Token ids for prompts that a scenario leaves open: drawn from (seed, name, position), so that equal names are equal.

Each named prefix run has a stream of its own, and so has the rest of each prompt: `["system", 48]` and
`["system", 64]` share 48 tokens, whoever sends them (C06).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence


def drawn_ids(seed: int, name: str, count: int, vocab: int) -> list[int]:
    """The first `count` ids under `vocab` of the stream of `name`; a shorter draw is the beginning of a longer one."""
    key = hashlib.shake_256(f"{seed} {name}".encode("utf-8", "surrogatepass"))
    return [number % vocab for number in struct.unpack(f"<{count}I", key.digest(4 * count))]


def drawn_prompt(
    seed: int, request_id: str, prefix: Sequence[tuple[str, int]], positions: int, vocab: int
) -> list[int]:
    """A prompt of `positions` ids: its prefix runs, then a stream of the request's own."""
    ids = [token for name, length in prefix for token in drawn_ids(seed, f"run {name}", length, vocab)]
    return ids + drawn_ids(seed, f"request {request_id}", positions - len(ids), vocab)


def drawn_seed(seed: int, request_id: str) -> int:
    """A request's own sampling seed where it names none."""
    digest = hashlib.blake2b(f"{seed} sampling {request_id}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little") >> 11
