"""A device that has no room for a round: one line that says what was asked of it, with the plan attached."""

from __future__ import annotations

import re

from labkit.core.errors import InputError, escaped
from labkit.core.plan import Plan

SHOWN_ITEMS = 8
# torch says so in words alone: on a GPU by a subclass of RuntimeError, on a CPU by a plain one.
NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory", re.IGNORECASE)
ASKED = re.compile(r"tried to allocate ([0-9.]+ ?\w+)", re.IGNORECASE)


class OutOfMemory(InputError):
    """Round `number` did not run; `plan` is what it would have done. Cache and page tables hold what they held."""

    def __init__(self, plan: Plan, number: int, device: str, message: str) -> None:
        asked = ASKED.search(message)
        items = [f"{escaped(item.id)} {item.new_tokens} new after {item.context}" for item in plan.items]
        if len(items) > SHOWN_ITEMS:
            items[SHOWN_ITEMS:] = [f"{len(items) - SHOWN_ITEMS} more"]
        super().__init__(
            f"labkit run: round {number} did not run: given {len(plan.items)} items ({', '.join(items)}) and no room "
            f"for {asked[1] if asked else 'its tensors'} on {device}, expected a round that fits: lower budget.tokens, "
            "budget.seats or budget.kv_bytes"
        )
        self.plan = plan


def lacks_memory(error: Exception) -> bool:
    """Whether an exception says that there was no memory, and not that something is wrong."""
    return isinstance(error, MemoryError) or NO_MEMORY.search(str(error)) is not None
