"""Random scenarios in which everything happens: waits, chunks, both preemptions, hits, slow clients, all ends."""

from hypothesis import strategies as st

COSTS = [
    {"kind": "linear", "fixed": 0.004, "per_token": 0.0007, "per_pair": 1e-5, "per_context": 0, "per_seat": 0.001},
    {"kind": "linear", "fixed": 0.01, "per_token": 0},
]  # fmt: skip


@st.composite
def requests(draw):
    """Return up to seven requests of two tenants."""
    out = []
    for i in range(draw(st.sampled_from([7, 6, 5, 3, 1]))):
        arrival = draw(st.sampled_from([0, 0, 1, 5, 20])) / 1000
        prompt = draw(st.sampled_from([1, 5, 8, 12, 24]))
        request = {
            "id": f"r{i}",
            "arrival": arrival,
            "prompt_tokens": prompt,
            "output_tokens": draw(st.sampled_from([14, 9, 6, 2, 1])),
            "tenant": draw(st.sampled_from(["red", "blue"])),
            "priority": draw(st.integers(0, 2)),
        }
        request["max_output_tokens"] = request["output_tokens"] + draw(st.integers(0, 3))
        if draw(st.booleans()):
            request["prefix"] = [["system", draw(st.integers(1, prompt))]]
        extra = draw(st.integers(0, 14))
        if extra == 6:
            request["cancel_at"] = arrival + draw(st.integers(1, 190)) / 1000
        elif extra == 1:
            request["fail_at"] = arrival + draw(st.integers(1, 190)) / 1000
        elif extra == 2:
            request["deadline"] = arrival + draw(st.integers(40, 300)) / 1000
        elif extra == 3:
            reader = {
                "tokens_per_second": draw(st.sampled_from([20, 150])),
                "buffer_tokens": draw(st.integers(1, 4)),
            }
            if draw(st.booleans()):
                reader |= {"on_full": "cancel", "patience_seconds": 0.02}
            request["reader"] = reader
        elif extra == 4:
            request["network_seconds"] = draw(st.integers(1, 40)) / 1000
        elif extra == 5:
            request["deliver_every"] = draw(st.integers(2, 4))
        out.append(request)
    return out


@st.composite
def scenarios(draw):
    """Return a scenario of the virtual clock that is valid and short."""
    grow = draw(st.sampled_from([True, True, True, False]))
    seats = draw(st.sampled_from([3, 4, 1]))
    document = {
        "schema": "labkit.scenario/1",
        "budget": {
            "tokens": draw(st.sampled_from([24, 60, 100])),
            "seats": seats,
            "page_tokens": 4,
            "bytes_per_token": 1,
            "kv_bytes": draw(st.sampled_from([40, 44, 60, 80])),
        },
        "policy": {
            "batching": draw(st.sampled_from([*["continuous"] * 4, "static"])),
            "order": draw(st.sampled_from(["fcfs", "sjf", "priority", "credit"])),
            "admission": "grow" if grow else "reserve",
            "preemption": draw(st.sampled_from(["recompute", "swap", "swap", "none"])),
            "prefill_chunk": draw(st.sampled_from([None, 4, 16])),
            "prefix_sharing": draw(st.booleans()),
            "max_queue": draw(st.sampled_from([None, None, None, 2])),
        },
        "tenants": {"red": {"weight": 2.5}},
        "cost": draw(st.sampled_from(COSTS)) | {"swap_bytes_per_second": 5000},
        "requests": draw(requests()),
    }
    if document["policy"]["preemption"] == "swap":
        document["budget"]["host_bytes"] = draw(st.sampled_from([24, 400]))
    if draw(st.integers(0, 4)) == 3:
        document["until"] = draw(st.integers(1, 300)) / 1000
    return document


windows = st.tuples(st.integers(0, 120_000_000), st.one_of(st.none(), st.integers(1, 200_000_000)))
