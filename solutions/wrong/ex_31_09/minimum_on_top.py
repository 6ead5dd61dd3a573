# expects: shares minimum-on-top

# %% c-shares
def shares(tenants):
    weights = sum(t["weight"] for t in tenants.values() if t["waiting"])
    return {name: t["minimum"] + t["weight"] / weights if t["waiting"] else 0 for name, t in tenants.items()}
