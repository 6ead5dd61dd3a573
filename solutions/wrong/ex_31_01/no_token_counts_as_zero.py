# expects: measures no-token-zero

# %% c
def measures(arrival, start, token_times):
    gaps = [late - early for early, late in zip(token_times, token_times[1:])]
    return {
        "ttft": token_times[0] - arrival if token_times else 0,
        "tpot": sum(gaps) / len(gaps) if gaps else None,
        "wait": start - arrival,
        "itl": gaps,
    }
