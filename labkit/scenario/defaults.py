"""Fill a scenario with its defaults: those of the schema, and the few that depend on another field."""

from __future__ import annotations

from typing import Any

from labkit.scenario.explain import definition, schema


def filled(document: dict[str, Any]) -> dict[str, Any]:
    """The document with every default in place, fields in the schema's order. The given one is not changed.

    Fields that the schema does not know are dropped and missing ones stay missing, so that the cross-field
    rules can go over a document in which something else is wrong. Filling a filled document changes nothing.
    """
    whole: dict[str, Any] = _fill(document, schema("scenario"))
    budget, policy = whole.get("budget"), whole.get("policy")
    if isinstance(budget, dict) and isinstance(policy, dict) and "host_bytes" in budget:
        host = budget.pop("host_bytes")
        if policy.get("host_bytes") is None:
            policy["host_bytes"] = host
    for request in whole.get("requests") or ():
        if not isinstance(request, dict):
            continue
        if request.get("max_output_tokens") is None:
            request["max_output_tokens"] = request.get("output_tokens")
        if "prompt_tokens" not in request and isinstance(request.get("prompt"), list):
            request["prompt_tokens"] = len(request["prompt"])
    for change in whole.get("capacity_changes") or ():
        if isinstance(change, dict) and change.get("live_at") is None:
            change["live_at"] = change.get("at")
    arrivals = whole.get("arrivals")
    for segment in (arrivals.get("segments") if isinstance(arrivals, dict) else None) or ():
        if isinstance(segment, dict) and segment.get("rate_to") is None:
            segment["rate_to"] = segment.get("rate")
    if isinstance(budget, dict):
        for tenant in (whole.get("tenants") or {}).values():
            if isinstance(tenant, dict) and tenant.get("max_carry") is None:
                tenant["max_carry"] = budget.get("tokens")
    return whole


def _fill(value: Any, node: dict[str, Any]) -> Any:
    node = _resolved(node)
    if isinstance(value, dict):
        node = _of_kind(node, value)
        if "properties" in node:
            return _object(value, node)
        others = node.get("additionalProperties")
        if isinstance(others, dict):
            return {key: _fill(item, others) for key, item in value.items()}
        return dict(value)
    if isinstance(value, list):
        items = node.get("items", {})
        return [_fill(item, items) for item in value] if "$ref" in items else list(value)
    return value


def _object(value: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, field in node["properties"].items():
        if name in value:
            item = value[name]
        elif "default" in field:
            item = field["default"]
        else:
            continue
        out[name] = _fill(item, field) if isinstance(item, dict | list) else item
    return out


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node or "else" in node:
        node = node["else"] if "else" in node else definition(node["$ref"])
    return node


def _of_kind(node: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """The branch of `allOf` whose condition names the value's kind."""
    for branch in node.get("allOf", ()):
        ((field, wanted),) = branch["if"]["properties"].items()
        if value.get(field) == wanted["const"]:
            return _resolved(branch["then"])
    return node
