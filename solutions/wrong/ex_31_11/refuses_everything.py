# expects: handle constant

# %% a
def handle(state, event):
    return {"state": {}, "actions": []}
