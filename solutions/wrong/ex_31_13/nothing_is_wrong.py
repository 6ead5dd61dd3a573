# expects: diagnose constant

# %% b-diagnose
def diagnose(events):
    return {"causes": [], "stage": None, "levers": [], "interim": []}
