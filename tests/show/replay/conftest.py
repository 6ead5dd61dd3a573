"""Runs in which much happens, so that the fold is tried on more than the library's tidy examples."""

import pytest

ORDERS = ("fcfs", "sjf", "edf", "priority", "credit")
CROWDS = [
    {"order": order, "admission": admission, "preemption": preemption}
    for order in ORDERS
    for admission, preemption in (("reserve", "none"), ("grow", "recompute"), ("grow", "swap"))
] + [{"order": "sjf", "aging_seconds": 0.02, "admission": "grow", "preemption": "recompute"}]


def make_crowd(**policy):
    """Return a scenario in which much happens: tenants, deadlines, priorities, prefixes, readers, preemption."""
    host = {"host_bytes": 6 * 4096} if policy.get("preemption") == "swap" else {}
    requests = []
    for at in range(24):
        request = {
            "id": f"r{at}",
            "arrival": (at * 7 % 40) / 1000,
            "prompt_tokens": 3 + at * 5 % 17,
            "output_tokens": 1 + at * 3 % 7,
            "max_output_tokens": 8 + at % 3,
            "tenant": "ab"[at % 2],
            "priority": at % 3 if policy.get("order") == "priority" else 0,
            "prefix": [["system", min(8, 3 + at * 5 % 17)]],
        }
        if at % 5 == 0:
            request["cancel_at"] = request["arrival"] + (1 + at // 2) / 1000
        if at % 7 == 3:
            request["deadline"] = request["arrival"] + 0.09
        if at % 6 == 2:
            request["reader"] = {"tokens_per_second": 50, "buffer_tokens": 2}
        requests.append(request)
    return {
        "schema": "labkit.scenario/1",
        "budget": {
            "tokens": 12,
            "seats": 4,
            "kv_bytes": 17 * 4096,
            "page_tokens": 4,
            "bytes_per_token": 1024,
        },
        "policy": {"prefill_chunk": 8, "prefix_sharing": True, "max_queue": 9, **host, **policy},
        "cost": {"kind": "linear", "fixed": 0.003, "per_token": 0.0005},
        "requests": requests,
        "tenants": {"a": {"weight": 1}, "b": {"weight": 2}},
    }


@pytest.fixture(params=CROWDS, ids=lambda policy: "-".join(map(str, policy.values())))
def crowd(request):
    """Return one of these scenarios."""
    return make_crowd(**request.param)
