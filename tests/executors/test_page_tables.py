"""Page tables as a fold of the core's records, against the scheduler's own tables after every round."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.engine.loop import Engine
from labkit.executors.page_tables import Move, PageTables
from labkit.executors.virtual import VirtualExecutor
from labkit.scenario import load


class Checked(VirtualExecutor):
    """A virtual executor that keeps page tables; at each launch they have to be the scheduler's."""

    def __init__(self, cost: Any) -> None:
        super().__init__(cost)
        self.pages = PageTables()
        self.follow = self.pages.follow
        self.moves: list[Move] = []
        self.engine: Engine

    def forget(self, request_id):
        super().forget(request_id)
        self.pages.forget(request_id)

    def launch(self, plan):
        active = {seq.id: [ref.id for ref in seq.table] for seq in self.engine.state.active}
        assert self.pages.tables == active
        assert all(self.pages.epochs[item.id] == item.epoch for item in plan.items)
        self.moves += self.pages.moves
        self.pages.moves.clear()
        super().launch(plan)


@pytest.mark.parametrize(
    "name",
    [
        "case04_grow",
        "case05_swap_full",
        "case06_whole_prompt_cached",
        "case16_no_ping_pong",
        "case17_priority",
    ],
)
def test_the_fold_is_the_schedulers_own_table(name):
    scenario = load(name)
    executor, journal = Checked(scenario.cost), []
    executor.engine = Engine(
        scenario.setup, executor, scenario.source(), estimate=scenario.estimate, sink=journal.append
    )
    executor.engine.run()
    assert executor.pages.tables == {} == executor.pages.epochs
    swaps = [(event["id"], event["event"] == "swap_out") for event in journal if "swap" in event["event"]]
    assert [(move.id, move.out) for move in executor.moves] == swaps


def test_a_swap_leaves_with_its_whole_table_and_a_forgotten_one_owes_nothing():
    pages = PageTables()
    for record in (
        {"event": "admit", "id": "A", "epoch": 0, "shared": [[4, 2]]},
        {"event": "pages", "id": "A", "epoch": 0, "pages": [[7, 0], [1, 5]]},
        {"event": "preempt", "id": "A", "epoch": 0, "mode": "swap", "for": "B"},
        {"event": "swap_out", "id": "A", "epoch": 0, "bytes": 3},
        {"event": "release", "id": "A", "epoch": 0, "pages": [[4, 2], [7, 0], [1, 5]]},
    ):
        pages.follow(record)
    assert (pages.tables, pages.epochs, pages.moves) == ({}, {"A": 1}, [Move("A", True, (4, 7, 1))])
    pages.forget("A")
    assert (pages.tables, pages.epochs, pages.moves) == ({}, {}, [])
