"""The OpenAPI document as a self-contained HTML page: routes, parameters, responses, and all errors."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any

from qwestly_agent.base.errors import AgentError

Json = Mapping[str, Any]

DESCRIPTION = """\
Every call but `/healthz` needs `Authorization: Bearer <token>`: HS256, claims `user_id` and `exp` (at most 15 minutes \
ahead), signed by the candidate app.

`POST /api/chat` answers a body `{message?, decisions?, conversation_id?, message_id?, design?, role?}` with named \
server-sent events: `conversation`, `text_delta`, `tool_call`, `tool_result`, `progress`, `approval_required`, \
`approval_decided`, `memory`, `sources`, `activity`, and one terminal `done` or `error`. The body that the AI SDK's \
`useChat` posts is answered with a UI message stream, in which progress is a transient `data-progress` part, an \
approval a `data-approval` part beside the SDK's own, and what was remembered a `data-memory` part.

Posting a message id again replaces a failed or stopped turn, and is otherwise answered with what was answered. More \
turns at once or in a minute than a user may have, and a day's budget that is used up, are 429 with `Retry-After`, and \
nothing of the message is kept; what fails later is told in the stream. Links and images in an answer lead to allowed \
hosts only."""

_STYLE = """body{font:16px/1.5 system-ui;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1a2433;background:#fff}
code{background:#eef1f5;padding:.1em .35em;border-radius:4px}a{color:#0b57c2}a,code{overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;margin:.5rem 0}th{text-align:start;font-weight:600;white-space:nowrap}
th,td{padding:.3rem .8rem .3rem 0;border-bottom:1px solid #d5dbe3;vertical-align:top}
nav ul{columns:18rem;list-style:none;padding:0;margin:0}
h3{font-size:1.1rem;margin:2.5rem 0 .5rem}h4,nav h3{font-size:1rem;margin:1rem 0 0}
@media(max-width:40rem){table{display:block;overflow-x:auto}td code{overflow-wrap:normal}}
@media(prefers-color-scheme:dark){body{color:#e6ebf2;background:#10151d}code{background:#1d2631}a{color:#8ab8ff}
th,td{border-color:#2b3644}}"""
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "pattern": "as <code>{}</code>",
}


def render(document: Json) -> str:
    title = escape(document["info"]["title"])
    operations = [
        (path, method, operation)
        for path, methods in sorted(document["paths"].items(), key=lambda each: _group(each[0]))
        for method, operation in methods.items()
    ]
    listed = "".join(
        f"<h3>{escape(group)}</h3><ul>{''.join(_entry(*each) for each in routes)}</ul>"
        for group, routes in groupby(operations, key=lambda each: _group(each[0]))
    )
    shapes = "".join(_shape(name, schema) for name, schema in sorted(document["components"]["schemas"].items()))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title} API</title><style>{_STYLE}</style><h1>{title} API</h1>"
        f"{_paragraphs(document['info']['description'])}"
        f'<p>The whole document: <a href="openapi.json">openapi.json</a>. <a href="#errors">Errors</a>. '
        f'<a href="#shapes">Shapes</a></p><nav><h2>Contents</h2>{listed}</nav>'
        f"<h2>Routes</h2>{''.join(_operation(*each) for each in operations)}"
        f'<h2 id="errors">Errors</h2>{_errors()}<h2 id="shapes">Shapes</h2>{shapes}</html>'
    )


def _group(path: str) -> str:
    """Return the first segment of a path after /api."""
    return path.removeprefix("/api").strip("/").partition("/")[0]


def _entry(path: str, method: str, operation: Json) -> str:
    return f'<li><a href="#{operation["operationId"]}">{method.upper()} {escape(path)}</a></li>'


def _operation(path: str, method: str, operation: Json) -> str:
    heading = f'<h3 id="{operation["operationId"]}"><code>{method.upper()} {escape(path)}</code></h3>'
    about = _paragraphs(operation.get("description") or f"{operation['summary']}.")
    public = "" if operation.get("security") else "<p>Needs no token.</p>"
    return f"{heading}{about}{public}{_parameters(operation)}{_body(operation)}{_answers(operation)}"


def _parameters(operation: Json) -> str:
    rows = [
        (f"<code>{escape(each['name'])}</code>", each["in"], _described(each["schema"], each.get("required", False)))
        for each in operation.get("parameters", [])
    ]
    return _table("Parameters", ("name", "in", "value"), rows)


def _body(operation: Json) -> str:
    body = operation.get("requestBody", {})
    rows = [(escape(media), _described(kind["schema"], True)) for media, kind in body.get("content", {}).items()]
    return _table("Body" if body.get("required") else "Body, optional", ("media type", "value"), rows)


def _answers(operation: Json) -> str:
    rows = [
        (status, escape(media), _prose(answer["description"]) if media == "text/event-stream" else value)
        for status, answer in operation["responses"].items()
        if status[0] == "2"
        for media, value in _contents(answer)
    ]
    rows.append(("4XX, 5XX", "application/json", f'{_link("Failure")}; <a href="#errors">which ones</a>'))
    return _table("Answers", ("status", "media type", "value"), rows)


def _contents(answer: Json) -> Iterator[tuple[str, str]]:
    if not answer.get("content"):
        yield "", "nothing"
    for media, kind in answer.get("content", {}).items():
        yield media, _described(kind.get("schema", {}), True)


def _errors() -> str:
    """Return all defined errors, by status."""
    found = {(each.http_status, each.code): _prose(each.sentence) for each in reversed([*_kinds(AgentError)])}
    rows = [(str(status), f"<code>{code}</code>", says) for (status, code), says in sorted(found.items())]
    about = (
        f"<p>Each is a {_link('Failure')}. Its message is for people, and may say more than here. What a workflow "
        "ended with has such a code and message too.</p>"
    )
    return about + _table("", ("status", "code", "message"), rows)


def _kinds(error: type[AgentError]) -> Iterator[type[AgentError]]:
    yield error
    for each in error.__subclasses__():
        yield from _kinds(each)


def _shape(name: str, schema: Json) -> str:
    required = schema.get("required", [])
    rows = [
        (f"<code>{escape(field)}</code>", _described(value, field in required))
        for field, value in schema.get("properties", {}).items()
    ]
    about = _paragraphs(schema.get("description", ""))
    fields = _table("", ("field", "value"), rows) or f"<p>{_described(schema, True, about='')}</p>"
    return f'<h3 id="shape-{escape(name)}">{escape(name)}</h3>{about}{fields}'


def _described(schema: Json, is_required: bool, about: str | None = None) -> str:
    """Return the schema's type, limits, default and description."""
    told = [_type(schema), *_limits(schema)]
    if "default" in schema:
        told.append(f"default <code>{escape(json.dumps(schema['default'], ensure_ascii=False))}</code>")
    elif not is_required:
        told.append("optional")
    description = schema.get("description", "") if about is None else about
    return ", ".join(told) + (f". {_prose(description)}" if description else "")


def _limits(schema: Json) -> Iterator[str]:
    for each in (schema, *schema.get("anyOf", ())):
        yield from (said.format(escape(str(each[name]))) for name, said in _LIMITS.items() if name in each)


def _type(schema: Json) -> str:
    match schema:
        case {"$ref": reference}:
            return _link(reference.rpartition("/")[2])
        case {"anyOf": several} | {"oneOf": several} | {"allOf": several}:
            return " or ".join(dict.fromkeys(map(_type, several)))
        case {"enum": values}:
            return " or ".join(f"<code>{escape(json.dumps(each))}</code>" for each in values)
        case {"const": value}:
            return f"<code>{escape(json.dumps(value))}</code>"
        case {"type": "array"}:
            return f"array of {_type(schema.get('items', {}))}"
        case {"type": "object", "additionalProperties": dict(values)} if values:
            return f"object of {_type(values)}"
        case {"type": str(kind), "format": str(how)}:
            return f"{kind} ({escape(how)})"
        case _:
            return escape(str(schema.get("type", "any value")))


def _link(name: str) -> str:
    return f'<a href="#shape-{escape(name)}">{escape(name)}</a>'


def _table(heading: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table, or an empty string if there are no rows."""
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    heads = "".join(f'<th scope="col">{each}</th>' for each in columns)
    above = f"<h4>{heading}</h4>" if heading else ""
    return f"{above}<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>" if lines else ""


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_prose(each)}</p>" for each in text.split("\n\n") if each.strip())


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
