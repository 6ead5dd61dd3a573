"""The event loop by hand and against theory, and N04's table."""

import math

import numpy as np
import pytest

from labkit.theory.queueing_broken import broken_assumptions
from labkit.theory.queueing_counts import estimate
from labkit.theory.queueing_events import Customer, Fate, customers, line, sharing
from labkit.theory.queueing_laws import deterministic, exponential, generator

# Arrivals at 0, 1, 2, 3; services 4, 2, 1, 1.
FOUR = [Customer(0, 4, rank=1), Customer(1, 2, rank=1), Customer(1, 1, rank=1), Customer(1, 1, rank=0)]


@pytest.mark.parametrize(
    ("order", "ends"),
    [("fcfs", [4, 6, 7, 8]), ("lcfs", [4, 5, 6, 8]), ("priority", [4, 5, 7, 8])],
)
def test_orders_by_hand(order, ends):
    """FCFS serves 4, 2, 1, 1; LCFS the fourth, then the third, then the second; priority the fourth first."""
    arrivals = {"fcfs": [0, 1, 2, 3], "lcfs": [0, 3, 2, 1], "priority": [0, 3, 1, 2]}[order]
    found = list(line(FOUR, order))
    assert [fate.sojourn for fate in found] == [end - came for end, came in zip(ends, arrivals, strict=True)]
    assert {fate.end for fate in found} == {"served"}


def test_room_and_patience_by_hand():
    assert [fate.end for fate in line(FOUR, room=2)] == ["served", "lost", "lost", "served"]
    impatient = [customer._replace(patience=3.5) for customer in FOUR]
    # the second starts at 4 after 3, the third would at 6 after 4, the fourth at 6 after 3
    assert list(line(impatient)) == [
        Fate(1, "served", 4), Fate(1, "served", 5), Fate(1, "left", 3.5), Fate(0, "served", 4)
    ]  # fmt: skip
    with pytest.raises(ValueError, match="one of the two"):
        list(line(impatient, room=2))


def test_sharing_by_hand():
    """Work 4 at 0 and 1 at 2 and at 2: three share from 2 on, so the short ones end at 5, the long one at 6."""
    found = list(sharing([Customer(0, 4), Customer(2, 1), Customer(0, 1)]))
    assert [fate.sojourn for fate in found] == pytest.approx([3, 3, 6])
    alone = list(sharing([Customer(0, 2), Customer(5, 1)]))
    assert [fate.sojourn for fate in alone] == pytest.approx([2, 1])


def test_sharing_does_not_mind_the_law_of_services():
    """Mean 1/(mu - lambda) for fixed services too, where FCFS needs less: insensitivity."""
    means = []
    for seed in range(12):
        arriving = customers(exponential(1 / 0.7), deterministic(1.0), generator(1, seed), 6_000)
        means.append(float(np.mean([fate.sojourn for fate in sharing(arriving)][500:])))
    assert estimate(means, 0.9999).covers(1 / 0.3)


@pytest.fixture(scope="module")
def table():
    """Return N04's table at rho = 0.8 by key."""
    return {row.key: row for row in broken_assumptions(customers=10_000, replications=8)}


EXACT = {
    "bursty",
    "even",
    "several",
    "fixed",
    "heavy",
    "sharing",
    "last_first",
    "priority",
    "room",
    "patience",
    "overload",
}


def test_n04_each_assumption_is_broken_once(table):
    """N04: all seven, and every sampled figure agrees with theory where theory knows it.

    25 figures at Student's 7 standard errors and 7 degrees of freedom: exceeded with probability 25 x 2e-4 = 0.5 %;
    the seed is fixed.
    """
    assert {row.assumption for row in table.values()} == {
        "Poisson arrivals", "one server", "exponential service", "independent services", "FCFS", "endless room",
        "nobody leaves", "rho < 1",
    }  # fmt: skip
    assert {key for key, row in table.items() if row.exact_mean is not None} == EXACT
    for key, row in table.items():
        for found, known in ((row.mean, row.exact_mean), (row.p99, row.exact_p99)):
            if known is not None:
                assert abs(found.value - known) < 3 * found.half_width, key  # 3 x 2.36 standard errors
        assert row.unserved == pytest.approx(row.exact_unserved, rel=0.1)
        for name, found, known in row.parts:
            assert found == pytest.approx(known, rel=0.15), name


def test_n04_what_changes(table):
    """N04: which way mean and p99 go, against M/M/1's 50 and 230 ms at mu = 100."""
    for row in table.values():
        if row.key != "overload":
            assert (row.mm1_mean, row.mm1_p99) == (pytest.approx(0.05), pytest.approx(0.2303, rel=1e-3))
    assert table["bursty"].exact_mean > 2 * 0.05 > 2 * 2 * 0.025 - 1e-12 > table["even"].exact_mean
    assert table["several"].exact_mean == pytest.approx(
        0.08 + 0.0228, rel=2e-2
    )  # 8 times the service, less queue
    assert table["fixed"].exact_mean == pytest.approx(0.03)
    for key in ("sharing", "last_first", "priority"):  # the same mean, another tail
        assert table[key].exact_mean == pytest.approx(0.05)
        assert table[key].p99.low > 0.2303
    assert table["correlated"].mean.low > 0.1
    assert table["room"].mean.high < 0.05 < table["room"].unserved + 0.05
    assert table["patience"].mean.high < 0.05
    assert table["overload"].mm1_mean is None
    assert math.isfinite(table["overload"].mean.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"utilisation": 1.0}, "utilisation: given 1.0"), ({"customers": 10}, "given 10 customers")],
)
def test_wrong_input_is_told(arguments, said):
    with pytest.raises(ValueError, match=said):
        broken_assumptions(**arguments)
