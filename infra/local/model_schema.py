"""The smallest value that a JSON schema accepts."""

import math
from typing import Any, TypeAlias

Json: TypeAlias = Any

LONGEST = 300
"""Maximum characters of a free string."""


def instance(schema: Json, words: str) -> Json:
    """Return a minimal instance; free strings are taken from `words`. Patterns and formats are ignored."""
    return _instance(schema, words.strip()[:LONGEST] or "nothing", schema)


def _instance(schema: Json, words: str, root: Json) -> Json:
    if "$ref" in schema:
        return _instance(_resolved(schema["$ref"], root), words, root)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if "enum" in schema:
        return schema["enum"][0]
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        # Null first, which ends the recursion for a schema that contains itself.
        return None if {"type": "null"} in alternatives else _instance(alternatives[0], words, root)
    match schema.get("type", "object"):
        case "object":
            properties = schema.get("properties", {})
            return {name: _instance(properties.get(name, {}), words, root) for name in schema.get("required", ())}
        case "array":
            items = schema.get("items", {"type": "string"})
            return [_instance(items, words, root) for _ in range(schema.get("minItems", 0))]
        case "string":
            long_enough = words * math.ceil(schema.get("minLength", 0) / len(words) or 1)
            return long_enough[: schema.get("maxLength", len(long_enough))]
        case "integer" | "number" as kind:
            # Zero, or the nearest value within the bounds.
            step = 1 if kind == "integer" else 0.01
            lowest = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf) + step)
            highest = schema.get("maximum", schema.get("exclusiveMaximum", math.inf) - step)
            return min(max(0, lowest), highest)
        case kind:
            return False if kind == "boolean" else None


def _resolved(reference: str, root: Json) -> Json:
    for name in reference.removeprefix("#").strip("/").split("/"):
        root = root[name] if name else root
    return root
