# expects: shares minimum-as-floor

# %% c-shares
def shares(tenants):
    weights = sum(t["weight"] for t in tenants.values() if t["waiting"])
    return {
        name: max(t["minimum"], t["weight"] / weights) if t["waiting"] else 0 for name, t in tenants.items()
    }
