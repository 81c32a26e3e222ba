"""Print what `@qwestly/agent-client` is generated from: `python -m infra.openapi`.

It is the API's own OpenAPI document, and beside its schemas `AgentTools`: what each tool of the default design takes.
"""

import json
import sys
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


def main() -> None:
    json.dump(document(), sys.stdout, indent=2)


if __name__ == "__main__":
    main()
