"""Runs spread over processes, their results in the order of the plan."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.core.errors import InputError
from labkit.core.invariants import InvariantError
from labkit.scenario import repeats
from labkit.scenario.load import load

Row = list[float | None]


@dataclass(frozen=True)
class Task:
    """One run: a checked document, the folder of its files, what errors call it, which run, which metrics."""

    document: Mapping[str, Any]
    base: Path
    label: str
    run: int
    metrics: tuple[str, ...]


def perform(task: Task) -> Row:
    """The metrics of a task, each the double nearest its exact value; None: undefined.

    Raises:
        InputError: a row of its trace cannot be used.
        InvariantError: the engine broke one of its laws.
    """
    scenario = load(task.document, base=task.base, label=task.label)
    exact = repeats.measured(scenario, task.run, task.metrics)
    return [None if one is None else float(one) for one in exact]


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """`jobs` fresh processes (spawned, so that they start alike on every system), or none where one is enough.

    Used as a context: leaving it on an error or Ctrl-C ends them at once.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if self._pool is None:
            return
        if kind is not None:
            for child in multiprocessing.active_children():
                child.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def results(self, tasks: Iterable[Task]) -> Iterator[Row]:
        """What comes of each task, in their order; a few run ahead.

        Raises:
            InputError: a task's scenario cannot be run; a process died (memory?).
            InvariantError: the engine broke one of its laws.
        """
        if self.jobs == 1:
            yield from map(perform, tasks)
            return
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.jobs, spawn, initializer=_begin)
        ahead: deque[Future[Row | InputError | tuple[int, str]]] = deque()
        try:
            for task in tasks:
                ahead.append(self._pool.submit(_guarded, task))
                if len(ahead) > 2 * self.jobs:
                    yield _row(ahead.popleft())
            while ahead:
                yield _row(ahead.popleft())
        except BrokenProcessPool:
            raise InputError(
                "labkit sweep: a process ended before its run did (out of memory?): what is done is kept; "
                "try fewer --jobs"
            ) from None


def _guarded(task: Task) -> Row | InputError | tuple[int, str]:
    """`perform`, with its errors as values: not every exception survives the way between processes."""
    try:
        return perform(task)
    except InputError as error:
        return error
    except InvariantError as error:
        return error.law, str(error).partition(": ")[2]


def _row(future: Future[Row | InputError | tuple[int, str]]) -> Row:
    outcome = future.result()
    if isinstance(outcome, InputError):
        raise outcome
    if isinstance(outcome, tuple):
        raise InvariantError(*outcome)
    return outcome


def _begin() -> None:
    """Ctrl-C ends a worker without a word, the first process says what there is to say; and no worker outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed first process closes nothing: its workers would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
