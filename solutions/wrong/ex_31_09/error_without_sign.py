# expects: credit_round error-unsigned

# %% c
def credit_round(tenants):
    result = {}
    for name, tenant in tenants.items():
        credit = min(tenant["cap"], tenant["credit"] + tenant["grant"])
        error, served = tenant["error"], 0
        for job in tenant["queue"]:
            if job["predicted"] > credit:
                break
            credit = credit - job["actual"]
            error += abs(job["actual"] - job["predicted"])
            served += 1
        result[name] = {"served": served, "credit": credit, "error": error}
    return result
