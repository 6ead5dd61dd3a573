"""Cross-field rules: what a schema cannot say, each refused by name with a sentence.

Every rule goes over a document whose fields are in range or, where they are not, missing: a rule that misses
a field it needs says nothing, because the schema's check has already spoken.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from labkit.core.errors import quoted
from labkit.scenario.explain import expected, schema, shown
from labkit.scenario.strict_json import Path, Problem
from labkit.workload.random_laws import MOST_TOKENS

SOURCES = ("requests", "arrivals", "trace", "closed_loop")
Fields = dict[str, Any]


def one_load(given: Fields) -> Iterator[Problem]:
    """Exactly one of the four loads, asked of the document as it was given."""
    found = [name for name in SOURCES if name in given]
    if len(found) != 1:
        yield Problem((), " and ".join(found) or "no load", "exactly one of " + ", ".join(SOURCES))
    arrivals = given.get("arrivals")
    if isinstance(arrivals, dict):
        rates = [name for name in ("rate", "segments") if arrivals.get(name) not in (None, [])]
        if len(rates) != 1:
            yield Problem(
                ("arrivals", "rate"), " and ".join(rates) or "nothing", "exactly one of rate, segments"
            )
    budget, policy = given.get("budget"), given.get("policy")
    places = [
        part for part in (budget, policy) if isinstance(part, dict) and part.get("host_bytes") is not None
    ]
    if len(places) == 2:
        yield Problem(
            ("budget", "host_bytes"), "host_bytes here and in policy", "it in one of the two places"
        )


def lengths(given: Fields) -> Iterator[Problem]:
    """What a request may leave out only beside another field, asked of the document as it was given."""
    requests = given.get("requests")
    for index, request in enumerate(requests if isinstance(requests, list) else ()):
        if not isinstance(request, dict):
            continue
        for field, instead in (("prompt_tokens", "prompt"), ("output_tokens", "max_output_tokens")):
            if field not in request and request.get(instead) is None:
                node = schema("scenario")["$defs"]["request"]["properties"][field]
                wanted = f"{expected(node, 'scenario')}; or {instead}, for the real model"
                yield Problem(("requests", index, field), "nothing", wanted)


def cross_field(document: Fields) -> Iterator[Problem]:
    """What does not go together in a filled document."""
    budget, policy = document.get("budget") or {}, document.get("policy") or {}
    changes = [change for change in document.get("capacity_changes") or () if change]
    yield from _budget(budget)
    yield from _policy(policy)
    seats = max(
        [s for s in (budget.get("seats"), *(c.get("seats") for c in changes)) if s is not None], default=0
    )
    for name in ("cost", "estimate"):
        if isinstance(document.get(name), dict):
            yield from cost_rules((name,), document[name], seats)
    for index, change in enumerate(document.get("capacity_changes") or ()):
        if change and _less(change.get("live_at"), change.get("at")):
            path = ("capacity_changes", index, "live_at")
            yield Problem(path, shown(change["live_at"]), f"no earlier than at, {shown(change['at'])}")
    yield from _no_seats(document)
    yield from _faults(document.get("faults") or (), policy)
    yield from _requests(document.get("requests") or ())
    if document.get("connections") is not None:
        yield from _connections(document)
    yield from _endless(document.get("requests") or (), budget, policy)
    for name in ("arrivals", "closed_loop"):
        if isinstance(document.get(name), dict):
            yield from _load((name,), document[name])
    if isinstance(document.get("trace"), dict):
        yield from _trace(document["trace"])


def _no_seats(document: Fields) -> Iterator[Problem]:
    """Seats that go to 0 come back, or the observation ends: nobody waits for ever."""
    changes = list(enumerate(document.get("capacity_changes") or ()))
    known = [
        (change["live_at"], change["at"], index)
        for index, change in changes
        if change and change.get("live_at") is not None and change.get("at") is not None
    ]
    if not known or len(known) < len(changes) or document.get("until") is not None:
        return
    last = max(known)[2]
    if changes[last][1].get("seats") == 0:
        wanted = "1 or more in the last change to go live, or until: who waits then would wait for ever"
        yield Problem(("capacity_changes", last, "seats"), "0", wanted)


def _less(left: Any, right: Any) -> bool:
    return left is not None and right is not None and left < right


def _budget(budget: Fields) -> Iterator[Problem]:
    total, workspace = budget.get("kv_bytes"), budget.get("workspace_bytes", 0)
    page, token = budget.get("page_tokens"), budget.get("bytes_per_token")
    if total is None or page is None or token is None:
        return
    if workspace >= total:
        yield Problem(("budget", "workspace_bytes"), shown(workspace), f"less than kv_bytes, {total} (E31.5)")
    elif (total - workspace) // (page * token) < 1:
        least = workspace + page * token
        yield Problem(
            ("budget", "kv_bytes"),
            shown(total),
            f"room for at least one page: {least} (page_tokens·bytes_per_token)",
        )


def _policy(policy: Fields) -> Iterator[Problem]:
    defaults = schema("scenario")["$defs"]["policy"]["properties"]

    def only(field: str, holds: bool, condition: str) -> Iterator[Problem]:
        value = policy.get(field)
        default = defaults[field]["default"]
        if value is not None and value != default and not holds:
            yield Problem(("policy", field), shown(value), f"{shown(default)}, because it needs {condition}")

    batching, order, phase = policy.get("batching"), policy.get("order"), policy.get("phase")
    preemption = policy.get("preemption")
    for field in ("batch_window_seconds", "static_finished"):
        yield from only(field, batching in ("static", None), 'batching "static"')
    yield from only("charge", order in ("credit", None), 'order "credit"')
    for field in ("min_prefill_share", "min_decode_share"):
        yield from only(field, phase in ("shared", None), 'phase "shared"')
    yield from only("min_run_tokens", preemption != "none", 'a preemption other than "none"')
    swaps = preemption in ("swap", "cheapest")
    if preemption is not None and policy.get("host_bytes") is not None and not swaps:
        yield Problem(
            ("policy", "host_bytes"),
            shown(policy["host_bytes"]),
            'null, because it needs preemption "swap" or "cheapest"',
        )
    if swaps and "host_bytes" in policy and policy["host_bytes"] is None:
        yield Problem(
            ("policy", "host_bytes"),
            "nothing",
            f"bytes on the host, because preemption is {shown(preemption)}",
        )
    shares = policy.get("min_prefill_share", 0), policy.get("min_decode_share", 0)
    if sum(map(Fraction, shares)) > 1:
        yield Problem(
            ("policy", "min_prefill_share"),
            f"{shown(shares[0])} beside min_decode_share {shown(shares[1])}",
            "two shares of together at most 1",
        )
    yield from only("lease_seconds", policy.get("pipeline_depth") in (2, None), "pipeline_depth 2")


def _faults(faults: Any, policy: Fields) -> Iterator[Problem]:
    """Each names one signal, once, and says what becomes of it."""
    if faults and policy.get("pipeline_depth") == 1:
        yield Problem(("faults",), f"{len(faults)} of them", "none, because they need pipeline_depth 2")
    seen: dict[Any, int] = {}
    for index, fault in enumerate(faults):
        if not fault:
            continue
        for pair in (("round", "swap"), ("late_seconds", "lost")):
            named = [name for name in pair if name in fault and fault[name] is not False]
            if len(named) != 1:
                yield Problem(
                    ("faults", index), " and ".join(named) or f"no {pair[0]}", "one of " + " and ".join(pair)
                )
        if "round" in fault and fault.get("nth", 1) != 1:
            yield Problem(("faults", index, "nth"), shown(fault["nth"]), "1, because it counts swap-outs")
        if "swap" in fault and policy.get("preemption") in ("none", "recompute"):
            wanted = 'a round, because a swap needs preemption "swap" or "cheapest"'
            yield Problem(("faults", index, "swap"), shown(fault["swap"]), wanted)
        signal = (fault.get("round"), fault.get("swap"), fault.get("nth", 1))
        if signal[:2] != (None, None) and (first := seen.setdefault(signal, index)) != index:
            yield Problem(("faults", index), f"the signal of faults[{first}] again", "each signal once")


def cost_rules(path: Path, cost: Fields, seats: int) -> Iterator[Problem]:
    """A cost model that has a price for every round of up to `seats` seats."""
    kind = cost.get("kind")
    if kind == "table" and isinstance(cost.get("seconds"), dict):
        missing = next((n for n in range(1, seats + 1) if str(n) not in cost["seconds"]), None)
        if missing is not None:
            yield Problem(
                (*path, "seconds", str(missing)), "nothing", f"seconds for every size from 1 to {seats} seats"
            )
    elif kind in ("linear", "padded"):
        parts = [cost.get(name) for name in ("fixed", "per_token", "per_pair", "per_seat")]
        if not any(part is None for part in parts) and not any(parts):
            yield Problem(
                path,
                "a cost of 0 for one token",
                "more than 0 in one of fixed, per_token, per_pair, per_seat",
            )
        buckets = cost.get("buckets") or []
        for index in range(1, len(buckets)):
            if buckets[index] <= buckets[index - 1]:
                yield Problem(
                    (*path, "buckets", index), shown(buckets[index]), f"more than {buckets[index - 1]}"
                )
                break


def _requests(requests: Any) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, request in enumerate(requests):
        if not isinstance(request, dict):
            continue
        name = request.get("id")
        if name is not None and (before := first.setdefault(name, index)) != index:
            yield Problem(
                ("requests", index, "id"),
                f"{quoted(name)} again",
                f"an id other than that of requests[{before}]",
            )
        for field, given, wanted in _request(request):
            yield Problem(("requests", index, field), given, wanted)


def _endless(requests: Any, budget: Fields, policy: Fields) -> Iterator[Problem]:
    """A prompt so long that keeping its pages would exhaust this machine, and that no budget turns away."""
    total = budget.get("kv_bytes")
    page, token = budget.get("page_tokens") or 1, budget.get("bytes_per_token") or 1
    room = None if total is None else (total - (budget.get("workspace_bytes") or 0)) // (page * token) * page
    for index, request in enumerate(requests):
        prompt = request.get("prompt_tokens") if isinstance(request, dict) else None
        if prompt is None or prompt <= MOST_TOKENS:
            continue
        whole = policy.get("prefill_chunk") is None and not request.get("prefilled")
        turned_away = (room is not None and prompt > room) or (
            whole and prompt > (budget.get("tokens") or prompt)
        )
        if not turned_away:
            yield Problem(
                ("requests", index, "prompt_tokens"),
                shown(prompt),
                f"at most {MOST_TOKENS}, or budgets that reject it",
            )


def _request(request: Fields) -> Iterator[tuple[str, str, str]]:
    prompt, arrival = request.get("prompt_tokens"), request.get("arrival")
    if prompt == 0 and request.get("prefilled") is False:
        yield "prompt_tokens", "0", "at least 1, or prefilled true"
    if prompt is not None and request.get("prefix"):
        positions = sum(run[1] for run in request["prefix"])
        if positions > prompt:
            yield "prefix", f"{positions} positions", f"at most prompt_tokens, {prompt}"
    for field in ("cancel_at", "fail_at"):
        at = request.get(field)
        if at is not None and arrival is not None and at <= arrival:
            yield field, shown(at), f"a time after arrival, {shown(arrival)}"
    if isinstance(request.get("prompt"), list) and prompt is not None and len(request["prompt"]) != prompt:
        yield "prompt", f"{len(request['prompt'])} token ids", f"as many as prompt_tokens, {prompt}"
    stop = (request.get("sampling") or {}).get("stop")
    if stop and "output_tokens" in request:
        given = f"stop beside output_tokens, {request['output_tokens']}"
        yield "sampling", given, "one of the two: both end it"
    reader = request.get("reader")
    if not isinstance(reader, dict):
        return
    on_full, patience, size = (
        reader.get("on_full"),
        reader.get("patience_seconds"),
        reader.get("buffer_tokens"),
    )
    if on_full == "cancel" and "patience_seconds" in reader and patience is None:
        yield (
            "reader",
            "no patience_seconds",
            'seconds that the buffer may stay full, because on_full is "cancel"',
        )
    if on_full == "pause" and patience is not None:
        yield "reader", "patience_seconds", 'none, because on_full is "pause"'
    if _less(size, request.get("deliver_every")):
        yield (
            "deliver_every",
            shown(request["deliver_every"]),
            f"at most reader.buffer_tokens, {size}: more tokens at a time would never be there",
        )
    yield from _rate("reader", reader.get("tokens_per_second"))


def _rate(field: str, rate: int | Decimal | None) -> Iterator[tuple[str, str, str]]:
    if rate is not None and Fraction(rate) * 10**9 < 1:
        yield field, f"a rate of {shown(rate)} a second", "at least one in 1e9 seconds"


def _load(path: Path, load: Fields) -> Iterator[Problem]:
    for name in ("prompt", "output"):
        law = load.get(name) or {}
        if law.get("kind") == "uniform" and _less(law.get("high"), law.get("low")):
            yield Problem((*path, name, "high"), shown(law["high"]), f"at least low, {law['low']}")
    if load.get("process") in ("poisson", "fixed") and load.get("burstiness", 1) != 1:
        yield Problem((*path, "burstiness"), shown(load["burstiness"]), '1, because it needs process "gamma"')
    for field, given, wanted in _rate("rate", load.get("rate")):
        yield Problem((*path, field), given, wanted)
    yield from _segments(path, load)


def _segments(path: Path, load: Fields) -> Iterator[Problem]:
    segments = load.get("segments") or []
    if load.get("repeat") and not segments and load.get("rate") is not None:
        yield Problem((*path, "repeat"), "true", "false, because it needs segments")
    fields = [[part.get(name) for name in ("for_seconds", "rate", "rate_to")] for part in segments if part]
    if not segments or len(fields) < len(segments) or any(None in part for part in fields):
        return
    exact = [tuple(map(Fraction, part)) for part in fields]
    arrivals = sum(seconds * (rate + to) / 2 for seconds, rate, to in exact)
    if not arrivals:
        yield Problem((*path, "segments"), "rates of 0 alone", "a rate over 0 in one segment")
    elif load.get("repeat") and arrivals * 10**9 < sum(seconds for seconds, _, _ in exact):
        yield Problem(
            (*path, "segments"), "less than one request in 1e9 seconds", "more, because they repeat"
        )


def _connections(document: Fields) -> Iterator[Problem]:
    """Who waits for answers before sending needs no limit; and who may give up has to be sent first."""
    if "closed_loop" in document:
        wanted = "null: each user of a closed loop has one request under way"
        yield Problem(("connections",), shown(document["connections"]), wanted)
    for index, request in enumerate(document.get("requests") or ()):
        for field in ("cancel_at", "fail_at"):
            if isinstance(request, dict) and request.get(field) is not None:
                wanted = "null, because connections may hold the request back beyond it"
                yield Problem(("requests", index, field), shown(request[field]), wanted)


def _trace(trace: Fields) -> Iterator[Problem]:
    path, form = str(trace.get("path", "")).lower(), trace.get("format")
    lines = path.endswith((".jsonl", ".json"))
    if (form == "mooncake" and path.endswith(".csv")) or (form in ("azure", "burstgpt", "csv") and lines):
        wanted = "a .jsonl file for mooncake, a .csv file for azure, burstgpt and csv"
        yield Problem(("trace", "format"), f"{shown(form)} with the file {quoted(path)}", wanted)
