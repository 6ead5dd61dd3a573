# expects: measures itl-from-arrival

# %% c
def measures(arrival, start, token_times):
    gaps = [late - early for early, late in zip([arrival, *token_times], token_times)]
    return {
        "ttft": gaps[0] if gaps else None,
        "tpot": sum(gaps[1:]) / len(gaps[1:]) if gaps[1:] else None,
        "wait": start - arrival,
        "itl": gaps,
    }
