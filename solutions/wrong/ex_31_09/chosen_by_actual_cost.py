# expects: credit_round sees-the-future

# %% c
def credit_round(tenants):
    result = {}
    for name, tenant in tenants.items():
        credit = min(tenant["cap"], tenant["credit"] + tenant["grant"])
        error, served = tenant["error"], 0
        for job in tenant["queue"]:
            if job["actual"] > credit:
                break
            credit = credit - job["actual"]
            error += job["actual"] - job["predicted"]
            served += 1
        result[name] = {"served": served, "credit": credit, "error": error}
    return result
