"""Runs of small scenarios on the small model, with rounds of one length so that what is planned is repeatable."""

from __future__ import annotations

from typing import Any

from labkit.executors.model.load import Loaded
from labkit.executors.result import RoundResult
from labkit.executors.torch_model import TorchExecutor
from labkit.scenario import Run, load, run
from labkit.scenario.real import Joined

ROUND_NS = 1_000_000


class EvenRounds:
    """The real executor, but each round counts 1 ms, however long it took."""

    def __init__(self, executor: TorchExecutor) -> None:
        self._executor = executor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def collect(self) -> RoundResult:
        return self._executor.collect()._replace(seconds_ns=ROUND_NS)


def scenario(requests: list[dict[str, Any]], budget: dict[str, Any], **policy: Any) -> dict[str, Any]:
    return {
        "schema": "labkit.scenario/1",
        "budget": {"tokens": 64, "seats": 4, "page_tokens": 4} | budget,
        "policy": policy,
        "cost": {"kind": "linear", "fixed": 0.001},
        "requests": requests,
    }


def torch_run(document: dict[str, Any], loaded: Loaded) -> Run:
    joined, executor = Joined(load(document), loaded).executor()
    return run(joined, executor=EvenRounds(executor))


def bytes_of(loaded: Loaded, pages: int, page_tokens: int = 4) -> int:
    return pages * page_tokens * loaded.config.bytes_per_token(next(loaded.model.parameters()).dtype)


def pool(loaded: Loaded, pages: int, page_tokens: int = 4) -> dict[str, int]:
    """The fields of a budget of so many pages."""
    return {"kv_bytes": bytes_of(loaded, pages, page_tokens), "bytes_per_token": bytes_of(loaded, 1, 1)}


def outputs(done: Run) -> dict[str, list[int]]:
    return {row["id"]: row["tokens"] for row in done.result["requests"]}


def events(done: Run, kind: str) -> list[dict[str, Any]]:
    return [event for event in done.journal[1:] if event["event"] == kind]
