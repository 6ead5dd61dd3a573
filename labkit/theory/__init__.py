"""Theory: derivations that a machine checks (`derive(name)`, `derivations()`), exact laws and samplers of queues.

Stands alone: sympy, mpmath and numpy, nothing else of labkit. Importing this package loads none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.theory.derivation import Derivation

# In the order of the chapter: module of `labkit.theory`, function.
ALL = (
    ("latency", "last_token"),
    ("batches", "padded_linear"),
    ("batches", "padded_attention"),
    ("chunks", "pair_count"),
    ("chunks", "two_chunks"),
    ("chunks", "any_split"),
    ("chunks", "rereads"),
    ("batches", "live_pages"),
    ("little", "one_stay"),
    ("little", "residence_area"),
    ("long_run", "long_run"),
    ("long_run", "long_run_waiting"),
    ("mm1", "stationary_law"),
    ("mm1", "waiting_number"),
    ("mm1", "mean_times"),
    ("mm1", "price"),
    ("mm1_tail", "pasta"),
    ("mm1_tail", "sojourn_law"),
    ("mm1_tail", "wait_law"),
    ("bounds", "union_bound"),
    ("bounds", "union_attained"),
    ("two_stages", "comonotone"),
    ("two_stages", "independent"),
    ("fluids", "buffer"),
    ("fluids", "burst"),
    ("swap", "crossover"),
    ("swap", "crossover_shift"),
    ("any_service", "pollaczek_khinchine"),
    ("many_servers", "erlang_c"),
    ("many_servers", "many_servers_wait"),
)


def derive(name: str) -> Derivation:
    """The derivation of that name, not yet checked (showing it, or `check()`, does).

    Raises:
        KeyError: there is none; says which there are.
    """
    from importlib import import_module

    for module, function in ALL:
        if function == name:
            made: Derivation = getattr(import_module(f"labkit.theory.{module}"), function)()
            return made
    raise KeyError(f"there is no derivation {name!r}; there are {', '.join(f for _, f in ALL)}")


def derivations() -> dict[str, tuple[Derivation, ...]]:
    """All derivations by the ids of the chapter's ledger that they carry; those beyond the chapter under "beyond"."""
    found: dict[str, tuple[Derivation, ...]] = {}
    for _, name in ALL:
        made = derive(name)
        for row in made.ledger:
            found[row] = (*found.get(row, ()), made)
    return found
