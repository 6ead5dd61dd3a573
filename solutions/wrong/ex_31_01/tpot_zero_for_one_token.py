# expects: measures tpot-zero

# %% c
def measures(arrival, start, token_times):
    gaps = [late - early for early, late in zip(token_times, token_times[1:])]
    return {
        "ttft": token_times[0] - arrival if token_times else None,
        "tpot": sum(gaps) / max(1, len(gaps)),
        "wait": start - arrival,
        "itl": gaps,
    }
