# %% a
import numpy as np

received = np.linspace(first, last, count)
ttft = received[0] - arrival
tpot = np.diff(received).mean()
wait = np.float64(start - arrival)

# %% b
stages = [
    {"name": "等待", "seconds": wait},
    {"name": "首词元时延减等待", "seconds": ttft - wait},
    {"name": "解码间隔之和", "seconds": np.diff(received).sum()},
]
ttft_plus_wait_is_first_token = bool(np.isclose(ttft + wait, first - arrival))

# %% c
def measures(arrival, start, token_times):
    received = np.array(token_times, dtype=float)
    gaps = np.diff(received)
    found = {"wait": float(start) - float(arrival), "itl": gaps, "ttft": None, "tpot": None}
    if received.size:
        found["ttft"] = received[0] - float(arrival)
    if gaps.size:
        found["tpot"] = gaps.mean()
    return found
