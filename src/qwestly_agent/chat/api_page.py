"""The OpenAPI document as a page that needs nothing from elsewhere."""

from html import escape
from typing import Any

DESCRIPTION = """\
Every call but /healthz needs `Authorization: Bearer <token>`: HS256, claims `user_id` and `exp` (at most 15 minutes \
ahead), signed by the candidate app. Errors are {"error": {"code", "message", "request_id"}}. \
`POST /api/chat` answers a body {"message", "conversation_id"?, "message_id"?} with named server-sent events \
(conversation, text_delta, tool_call, tool_result, progress, and one terminal done or error), and the body that the AI \
SDK's useChat posts with a UI message stream. Posting a message id again replaces a failed or stopped turn, and is \
otherwise answered with what was answered."""

_STYLE = """body{font:16px/1.5 system-ui;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1a2433;background:#fff}
code{background:#eef1f5;padding:.1em .35em;border-radius:4px}summary{cursor:pointer;padding:.4rem 0}
pre{background:#eef1f5;padding:1rem;overflow:auto;border-radius:8px}
@media(prefers-color-scheme:dark){body{color:#e6ebf2;background:#10151d}code,pre{background:#1d2631}}"""


def render(document: dict[str, Any]) -> str:
    """HTML of an OpenAPI document: its operations, each with its parameters."""
    operations = "".join(
        _operation(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    title, about = escape(document["info"]["title"]), escape(document["info"]["description"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title} API</title><style>{_STYLE}</style><h1>{title} API</h1><p>{about}</p>"
        f'<p>The whole document: <a href="openapi.json">openapi.json</a></p>{operations}</html>'
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = "".join(
        f"<li><code>{escape(parameter['name'])}</code> in {escape(parameter['in'])}</li>"
        for parameter in operation.get("parameters", [])
    )
    heading = f"<code>{method.upper()} {escape(path)}</code>"
    about = escape(operation.get("description", ""))
    return f"<details open><summary>{heading}</summary><p>{about}</p><ul>{parameters}</ul></details>"
