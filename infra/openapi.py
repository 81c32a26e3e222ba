"""Print the document that `@qwestly/agent-client` is generated from: `python -m infra.openapi`. With `--surface`, print
one line for everything that a client can rely on. A release stores them in `docs/api-surface.txt`, and the next one
compares.

It is the API's OpenAPI document with one more schema, `AgentTools`: the arguments of each tool of the default design.
"""

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from functions.chat.app import create_app
from qwestly_agent.agents.tools.catalog import TOOLS


def document() -> dict[str, Any]:
    described = create_app().openapi()
    schemas: dict[str, Any] = {}
    for tool in TOOLS:
        schema = json.loads(
            json.dumps(tool.function_schema.json_schema).replace("#/$defs/", f"#/components/schemas/{tool.name}.")
        )
        described["components"]["schemas"] |= {
            f"{tool.name}.{name}": each for name, each in schema.pop("$defs", {}).items()
        }
        schemas[tool.name] = schema
    described["components"]["schemas"]["AgentTools"] = {
        "type": "object",
        "required": list(schemas),
        "properties": schemas,
    }
    return described


def surface(described: Mapping[str, Any]) -> list[str]:
    """Return operations, their parameters and responses, and the typed fields of requests and responses, in order."""
    schemas, operations = described["components"]["schemas"], list(_each_operation(described["paths"]))
    taken = _reached(schemas, [each.get("requestBody") for _, each in operations])
    given = _reached(schemas, [each["responses"] for _, each in operations])
    lines = [f"takes {line}" for name in taken for line in _fields(name, schemas[name])]
    lines += [f"gives {line}" for name in given for line in _fields(name, schemas[name])]
    return sorted({*_operations(described["paths"]), *lines})


def breaking(before: Collection[str], after: Collection[str]) -> list[str]:
    """List what a client can no longer rely on, or must now send."""
    optional = [line for line in before if line.startswith("takes ") and line.endswith(" is required")]
    known = {line.split(".")[0] for line in before}
    gone = [line for line in before if line not in {*after, *optional}]
    demanded = [line for line in after if line.endswith(" is required") and line.startswith("takes ")]
    return gone + [line for line in demanded if line not in before and line.split(".")[0] in known]


def _each_operation(paths: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, methods in paths.items():
        yield from ((f"{method.upper()} {path}", operation) for method, operation in methods.items())


def _reached(schemas: Mapping[str, Any], begins: Any) -> list[str]:
    """Return the names of the schemas referred to, directly or indirectly."""
    reached, left = dict[str, None](), [begins]
    while left:
        match left.pop():
            case {"$ref": str(reference)}:
                name = reference.rpartition("/")[2]
                if name not in reached:
                    reached[name] = None
                    left.append(schemas[name])
            case dict() as node:
                left += node.values()
            case list() as nodes:
                left += nodes
            case _:
                pass
    return list(reached)


def _operations(paths: Mapping[str, Any]) -> Iterator[str]:
    for name, operation in _each_operation(paths):
        yield name
        yield from (f"{name} ?{each['name']}" for each in operation.get("parameters", []) if each["in"] == "query")
        yield from (f"{name} {status}" for status in operation["responses"])


def _fields(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    for field, each in schema.get("properties", {}).items():
        yield f"{name}.{field}: {_type(each)}"
    yield from (f"{name}.{field} is required" for field in schema.get("required", ()))


def _type(schema: Mapping[str, Any]) -> str:
    if several := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " | ".join(sorted({_type(each) for each in several}))
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        return " | ".join(sorted(json.dumps(each) for each in schema.get("enum", [schema.get("const")])))
    if schema.get("type") == "array":
        return f"[{_type(schema.get('items', {}))}]"
    return schema.get("format") or schema.get("type") or "any"


def main() -> None:
    if sys.argv[1:] == ["--surface"]:
        print("\n".join(surface(document())))
    else:
        json.dump(document(), sys.stdout, indent=2)


if __name__ == "__main__":
    main()
