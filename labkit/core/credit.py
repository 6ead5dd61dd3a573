"""Zero-sum credit (C25): what a round cost is taken from those who used it and shared out by weight.

The balances of all tenants always add up to zero. A tenant alone pays itself and stays at zero; one that comes
new starts at zero; one whose work ends gives its balance back to those who still have work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from labkit.core.types import Tenant

_ZERO = Fraction(0)
_LONGEST = (
    1 << 200
)  # denominators beyond this are cut to _GRID: who comes and goes for hours must not slow a run
_GRID = 10**18


class Accounts:
    """Balances in units of the charge (tokens, requests or seconds), each within ± its `max_carry`."""

    def __init__(self, tenants: Mapping[str, Tenant], default_carry: Fraction) -> None:
        self._tenants = tenants
        self._default = Tenant(Fraction(1), default_carry)
        self.balances: dict[str, Fraction] = {}

    def balance(self, tenant: str) -> Fraction:
        """Credit D of a tenant; negative is debt, unknown is zero."""
        return self.balances.get(tenant, _ZERO)

    def tenant(self, name: str) -> Tenant:
        """Weight and carry-over of a tenant; one that isn't listed has weight 1 and the default carry-over."""
        return self._tenants.get(name, self._default)

    def charge(self, charges: Mapping[str, Fraction], sharers: Iterable[str]) -> None:
        """Debit `charges` and credit their sum to `sharers` by weight (Q of the chapter is that sum)."""
        for name, amount in charges.items():
            self._move(name, -amount)
        self._share_out(sum(charges.values(), _ZERO), sorted(sharers))

    def close(self, name: str, sharers: Iterable[str]) -> None:
        """The work of tenant `name` has ended: its balance goes to `sharers` by weight; to nobody if there are none."""
        amount = self.balances.pop(name, _ZERO)
        heirs = sorted(sharers)
        if heirs:
            self._share_out(amount, heirs)
        else:
            self.balances.clear()

    def _move(self, name: str, amount: Fraction) -> None:
        self.balances[name] = self.balance(name) + amount

    def _share_out(self, amount: Fraction, names: list[str]) -> None:
        weights = sum((self.tenant(name).weight for name in names), _ZERO)
        for name in names:
            self._move(name, amount * self.tenant(name).weight / weights)
        self._clamp(names)
        self._shorten()

    def _shorten(self) -> None:
        """Balances with endless denominators go to a grid of 1e-18; one of them bears what that moves."""
        if all(balance.denominator < _LONGEST for balance in self.balances.values()):
            return
        for name, balance in self.balances.items():
            self.balances[name] = Fraction(int(balance * _GRID), _GRID)
        nearest = min(
            sorted(self.balances), key=lambda name: abs(self.balances[name])
        )  # it has room on both sides
        self.balances[nearest] -= sum(self.balances.values(), _ZERO)

    def _clamp(self, names: list[str]) -> None:
        """Cut balances to ± max_carry and spread what was cut off over the others by weight: the sum stays zero."""
        while True:
            excess = _ZERO
            for name, balance in self.balances.items():
                cap = self.tenant(name).max_carry
                held = max(-cap, min(cap, balance))
                excess += balance - held
                self.balances[name] = held
            if not excess:
                return
            # Who can still take some of it: whoever has not reached the bound on that side.
            side = 1 if excess > 0 else -1
            open_to = [name for name in names if side * self.balance(name) < self.tenant(name).max_carry]
            open_to = open_to or [
                n for n in self.balances if side * self.balance(n) < self.tenant(n).max_carry
            ]
            weights = sum((self.tenant(name).weight for name in open_to), _ZERO)
            for name in open_to:
                self._move(name, excess * self.tenant(name).weight / weights)
