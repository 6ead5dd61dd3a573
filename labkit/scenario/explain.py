"""Check a document against its JSON Schema, and say in one line each what is wrong with it.

`jsonschema` finds the errors; here they are put in the lab's words: what was given, what was expected. The
many requests of a large file first meet a compiled check (fastjsonschema), and only those that it refuses are
explained.
"""

from __future__ import annotations

import difflib
import functools
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from labkit.core.errors import quoted
from labkit.scenario.strict_json import Path, Problem, Unreadable

SCHEMAS = pathlib.Path(__file__).parent / "schema"
LARGEST = 2**53 - 1
# From how many requests on compiling the schema (0.15 s) is quicker than walking it (0.3 ms a request).
COMPILE_FROM = 500


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """A schema shipped with the package: `scenario`, `result` or `cost`; decimal defaults stay exact."""
    text = (SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return loaded


def definition(reference: str) -> dict[str, Any]:
    """The node of the scenario's schema that a `$ref` means."""
    found: dict[str, Any] = schema("scenario")["$defs"][reference.rsplit("/", 1)[1]]
    return found


def problems(document: Any, name: str) -> Iterator[Problem]:
    """What the schema `name` has against a document; nothing where all is well."""
    requests = document.get("requests") if isinstance(document, dict) else None
    if not isinstance(requests, list) or len(requests) < COMPILE_FROM or not (accepts := _compiled(name)):
        yield from _walk(document, name, "", ())
        return
    yield from _walk({**document, "requests": []}, name, "", ())
    for index, request in enumerate(requests):
        if not accepts(request):
            yield from _walk(request, name, "request", ("requests", index))


def _walk(document: Any, name: str, part: str, base: Path) -> Iterator[Problem]:
    """Each problem once, with sentences; `part` names a definition to check against instead of the whole."""
    seen: set[Path] = set()
    for error in _validator(name, part).iter_errors(document):
        for problem in _explained(error, name, base):
            if problem.path not in seen:
                seen.add(problem.path)
                yield problem


@functools.cache
def _validator(name: str, part: str) -> Any:
    # jsonschema loads every format checker that it finds; one takes a second, and no format is checked here.
    slow = "rfc3987_syntax"
    hidden = slow not in sys.modules
    if hidden:
        sys.modules[slow] = None  # type: ignore[assignment]
    try:
        import jsonschema
    finally:
        if hidden:
            del sys.modules[slow]

    return jsonschema.Draft202012Validator(_part(schema(name), part))


def _part(whole: dict[str, Any], part: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{part}", "$defs": whole["$defs"]} if part else whole


@functools.cache
def _compiled(name: str) -> Callable[[Any], bool] | None:
    """A compiled check of one request; None where fastjsonschema is missing: slower then, not different."""
    try:
        import fastjsonschema
    except ImportError:
        return None
    check = fastjsonschema.compile(_draft7(_part(schema(name), "request")), use_default=False)

    def accepts(request: Any) -> bool:
        try:
            check(request)
        except fastjsonschema.JsonSchemaException:
            return False
        return True

    return accepts


def _draft7(node: Any) -> Any:
    """The same schema in the words of draft 7, the newest that fastjsonschema reads."""
    if isinstance(node, list):
        return [_draft7(item) for item in node]
    if not isinstance(node, dict):
        return node
    old = {key: _draft7(value) for key, value in node.items() if key not in ("$schema", "$id")}
    if "prefixItems" in old:
        old["items"] = old.pop("prefixItems")
    return old


def _explained(error: Any, name: str, base: Path) -> Iterator[Problem]:
    path: Path = (*base, *error.absolute_path)
    rule = error.validator
    if rule == "oneOf" and not path:
        return  # which load to run is one of the cross-field rules, with a sentence of its own
    if "propertyNames" in error.schema_path:
        yield Problem((*path, error.instance), "that name", expected(error.schema, name))
    elif rule == "required":
        for missing in error.validator_value:
            if missing not in error.instance:
                yield Problem((*path, missing), "nothing", _field(error.schema, missing, name))
    elif rule == "additionalProperties" and error.validator_value is False:
        yield from _unknown(error, path)
    else:
        yield Problem(path, shown(error.instance), expected(error.schema, name))


def _field(node: dict[str, Any], field: str, name: str) -> str:
    return expected(node.get("properties", {}).get(field, {}), name)


def _unknown(error: Any, path: Path) -> Iterator[Problem]:
    known = list(error.schema.get("properties", {}))
    patterns = error.schema.get("patternProperties", {})
    kind = error.schema.get("properties", {}).get("kind", {}).get("const")
    of_kind = f" of kind {kind}" if kind else ""
    for field in error.instance:
        if field in known:
            continue
        if patterns:
            if not any(re.search(pattern, field) for pattern in patterns):
                yield Problem((*path, field), "that key", 'a number of seats, such as "1" or "2"')
            continue
        close = difflib.get_close_matches(field[:100], known, 1)
        wanted = f'a known one: did you mean "{close[0]}"?' if close else "one of " + ", ".join(known)
        yield Problem((*path, field), f"an unknown field{of_kind}", wanted)


def shown(value: Any) -> str:
    """A given value in words: short, on one line, harmless."""
    if isinstance(value, Unreadable):
        return value.text
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | Decimal):
        text = str(value)
        return text if len(text) <= 40 else text[:37] + "..."
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    return f"a {type(value).__name__}"


def expected(node: dict[str, Any], name: str) -> str:
    """What a schema node accepts, in words: type, range, and null where it may be null."""
    if "$ref" in node:
        return expected(schema(name)["$defs"][node["$ref"].rsplit("/", 1)[1]], name)
    if "else" in node:
        return expected(node["else"], name) + " or null"
    if "title" in node and "$id" not in node:
        return str(node["title"])
    if "const" in node:
        return json.dumps(node["const"])
    if "enum" in node:
        return "one of " + ", ".join(json.dumps(value) for value in node["enum"])
    types = node.get("type", [])
    types = [types] if isinstance(types, str) else list(types)
    return " or ".join(_type_in_words(kind, node, name) for kind in types) or "another value"


def _type_in_words(kind: str, node: dict[str, Any], name: str) -> str:
    if kind in ("integer", "number"):
        return ("an integer" if kind == "integer" else "a number") + _range(node)
    if kind == "object":
        fields = node.get("required", [])
        return "an object" + (" with " + ", ".join(fields) if fields else "")
    if kind == "array":
        most = f" of at most {node['maxItems']}" if "maxItems" in node else ""
        items = f", each {expected(node['items'], name)}" if "items" in node else ""
        return f"a list{most}{items}" + (", none of them twice" if node.get("uniqueItems") else "")
    if kind == "string":
        return "a string" + (f" of at most {node['maxLength']} characters" if "maxLength" in node else "")
    return {"boolean": "true or false", "null": "null"}[kind]


def _range(node: dict[str, Any]) -> str:
    most = node.get("maximum")
    top = {LARGEST: "2^53 - 1", 10**9: "1e9", 10**15: "1e15", 2**24: "2^24"}.get(most or 0, str(most))
    if "exclusiveMinimum" in node:
        return f" above {node['exclusiveMinimum']}, at most {top}"
    least = node.get("minimum")
    low = "-(2^53 - 1)" if least == -LARGEST else str(least)
    return f" from {low} to {top}"
