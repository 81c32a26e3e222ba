"""The OpenAPI document as a self-contained HTML page."""

import re
from html import escape
from typing import Any

DESCRIPTION = """\
Every call but /healthz needs `Authorization: Bearer <token>`: HS256, claims `user_id` and `exp` (at most 15 minutes \
ahead), signed by the candidate app. Errors are {"error": {"code", "message", "request_id"}}. `POST /api/chat` \
answers a body {"message"?, "decisions"?, "conversation_id"?, "message_id"?, "design"?, "role"?} with named \
server-sent events (conversation, text_delta, tool_call, tool_result, progress, approval_required, approval_decided, \
memory, and one terminal done or error), and the body that the AI SDK's useChat posts with a UI message stream, in \
which progress is a transient `data-progress` part, an approval a `data-approval` part beside the SDK's own, and what \
was remembered a `data-memory` part. Posting a message id again replaces a failed or stopped turn, and is otherwise \
answered with what was answered. More turns at once or in a minute than a user may have, and a day's budget that is \
used up, are 429 with `Retry-After`, and nothing of the message is kept; what fails later is told in the stream. \
Links and images in an answer lead to allowed hosts only."""

_STYLE = """body{font:16px/1.5 system-ui;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1a2433;background:#fff}
code{background:#eef1f5;padding:.1em .35em;border-radius:4px}summary{cursor:pointer;padding:.4rem 0}
pre{background:#eef1f5;padding:1rem;overflow:auto;border-radius:8px}
@media(prefers-color-scheme:dark){body{color:#e6ebf2;background:#10151d}code,pre{background:#1d2631}}"""


def render(document: dict[str, Any]) -> str:
    """HTML of an OpenAPI document: its operations with their parameters and bodies."""
    operations = "".join(
        _operation(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    title = escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title} API</title><style>{_STYLE}</style><h1>{title} API</h1>"
        f"<p>{_prose(document['info']['description'])}</p>"
        f'<p>The whole document: <a href="openapi.json">openapi.json</a></p>{operations}</html>'
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    heading = f"<code>{method.upper()} {escape(path)}</code>"
    about = _prose(operation.get("description", ""))
    items = [
        *(f"<code>{escape(p['name'])}</code> in the {escape(p['in'])}" for p in operation.get("parameters", [])),
        *(f"Body: {_body(schema)}" for schema in _bodies(operation)),
    ]
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f"<details open><summary>{heading}</summary><p>{about}</p><ul>{listed}</ul></details>"


def _bodies(operation: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        schema
        for media in operation.get("requestBody", {}).get("content", {}).values()
        for schema in media["schema"].get("anyOf", [media["schema"]])
    ]


def _body(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    names = (f"{name}{'' if name in required else '?'}" for name in schema.get("properties", {}))
    return f"<code>{{{escape(', '.join(names))}}}</code> {_prose(schema.get('description', ''))}"


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
