# expects: shares idle-weight-counts

# %% c-shares
def shares(tenants):
    weights = sum(t["weight"] for t in tenants.values())
    left = 1 - sum(t["minimum"] for t in tenants.values() if t["waiting"])
    return {
        name: t["minimum"] + left * t["weight"] / weights if t["waiting"] else 0 for name, t in tenants.items()
    }
