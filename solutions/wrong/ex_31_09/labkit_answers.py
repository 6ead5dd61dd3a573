# expects: credit_round not-there

# %% c
def credit_round(tenants):
    from labkit.core.credit import Accounts

    return Accounts(tenants, 4).balances
