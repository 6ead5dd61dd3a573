"""Where the engine's time goes: the functions it calls once a round are timed where it calls them.

Events come one or more a slot, so that a clock around each would measure itself: they are kept until the round is
over, then folded in one go and written in another.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from labkit.core import invariants
from labkit.engine import journal, loop
from labkit.measure.result import ResultFold

CALLS = {
    "decide": [(loop, "decide")],
    "commit": [(loop, "commit")],
    "finish_round": [(loop, "finish_round")],
    "submit, settle, shed": [(loop, "submit"), (loop, "settle"), (loop, "shed")],
    "invariants": [(invariants, "check_plan"), (invariants, "check")],
}
EXECUTOR, FOLD, WRITING, REST = "executor", "fold", "journal encoding and writing", "the engine's own"
PARTS = (*CALLS, EXECUTOR, FOLD, WRITING, REST)

Sink = Callable[[dict[str, Any]], None]


class Stopwatch:
    """Seconds spent in each part."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PARTS, 0.0)

    def around(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, its time counted."""

        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            result = function(*arguments)
            self.spent[part] += time.perf_counter() - started
            return result

        return timed


def measure(make: Callable[[Sink], loop.Engine], path: Path, repeats: int) -> dict[str, list[float]]:
    """Seconds of each part in each repeat of the engine that `make` makes, its journal going to `path`."""
    runs = [_once(make, path) for _ in range(repeats)]
    return {part: [run[part] for run in runs] for part in PARTS}


def _once(make: Callable[[Sink], loop.Engine], path: Path) -> dict[str, float]:
    watch = Stopwatch()
    kept: list[dict[str, Any]] = []
    with ExitStack() as stack:
        stream = stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
        for part, places in CALLS.items():
            for module, name in places:
                stack.enter_context(patch.object(module, name, watch.around(part, getattr(module, name))))
        fold = watch.around(FOLD, _each(ResultFold(full=False).feed))
        write = watch.around(WRITING, _each(journal.writer(stream)))

        def sink(event: dict[str, Any]) -> None:
            kept.append(event)
            if event["event"] == "round":
                fold(kept)
                write(kept)
                kept.clear()

        engine = make(sink)
        engine.executor.launch = watch.around(EXECUTOR, engine.executor.launch)  # type: ignore[method-assign]
        started = time.perf_counter()
        engine.run()
        whole = time.perf_counter() - started
    watch.spent[REST] = whole - sum(watch.spent.values())
    return watch.spent


def _each(feed: Sink) -> Callable[[list[dict[str, Any]]], None]:
    def feed_all(events: list[dict[str, Any]]) -> None:
        for event in events:
            feed(event)

    return feed_all
