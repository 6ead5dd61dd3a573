"""Accounts over a long life: tenants that come and go must not make the numbers endless, and nothing is lost."""

from fractions import Fraction

from labkit.core.credit import Accounts
from labkit.core.types import Tenant

WEIGHTS = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149]


def test_who_comes_and_goes_leaves_short_numbers_and_a_sum_of_zero():
    tenants = {f"t{i}": Tenant(Fraction(w), Fraction(64)) for i, w in enumerate(WEIGHTS)}
    tenants |= {"a": Tenant(Fraction(17), Fraction(64)), "b": Tenant(Fraction(29), Fraction(64))}
    accounts = Accounts(tenants, Fraction(64))
    for turn in range(2000):
        guest = f"t{turn % 10}"
        accounts.charge({guest: Fraction(3), "a": Fraction(1)}, ["a", "b", guest])
        accounts.close(guest, ["a", "b"])
        assert sum(accounts.balances.values()) == 0
        assert all(abs(balance) <= 64 for balance in accounts.balances.values())
    assert max(len(str(balance)) for balance in accounts.balances.values()) < 200


def test_short_numbers_stay_exact():
    accounts = Accounts({}, Fraction(100))
    accounts.charge({"a": Fraction(1)}, ["a", "b", "c"])
    assert accounts.balances == {"a": Fraction(-2, 3), "b": Fraction(1, 3), "c": Fraction(1, 3)}
