# expects: shares idle-gets-share

# %% c-shares
def shares(tenants):
    weights = sum(t["weight"] for t in tenants.values())
    left = 1 - sum(t["minimum"] for t in tenants.values())
    return {name: t["minimum"] + left * t["weight"] / weights for name, t in tenants.items()}
