# expects: handle not-there

# %% a
def handle(state, event):
    from labkit.core.pages import PageRef

    return {"state": {"page": PageRef(event["page"], event["generation"])}, "actions": []}
