# expects: shares no-minimum

# %% c-shares
def shares(tenants):
    weights = sum(t["weight"] for t in tenants.values() if t["waiting"])
    return {name: t["weight"] / weights if t["waiting"] else 0 for name, t in tenants.items()}
