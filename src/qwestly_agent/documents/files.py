"""Render a document as a file: DOCX, Markdown, or a page to print."""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from qwestly_agent.documents.content import Content
from qwestly_agent.documents.docx import docx_of

Format: TypeAlias = Literal["docx", "md", "html"]
MEDIA_TYPES: Mapping[Format, str] = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}


def file_of(content: Content, format: Format) -> bytes:
    match format:
        case "docx":
            return docx_of(content)
        case "md":
            return _markdown(content).encode()
        case "html":
            return _page(content).encode()


# --- Markdown ---------------------------------------------------------------------------------------------------------

_MARKS = re.compile(r"([\\`*_\[\]<>#|~])")
_BEGINS = re.compile(r"^(\s*\d*)([-+.)])(?=\s)")


def _markdown(content: Content) -> str:
    parts = [f"# {as_markdown(content.title)}", as_markdown(content.under), as_markdown(content.contact)]
    for block in content.blocks:
        heading = f"{'#' * (block.level + 1)} {as_markdown(block.heading)}" if block.heading else ""
        lines = (
            [f"- {as_markdown(each)}" for each in block.lines] if block.is_list else list(map(as_markdown, block.lines))
        )
        parts += [heading, as_markdown(block.aside), ("\n" if block.is_list else "\n\n").join(lines)]
    return "\n\n".join(filter(None, parts)) + "\n"


def as_markdown(text: str) -> str:
    """Escape text, so that Markdown does not interpret it."""
    return _BEGINS.sub(r"\1\\\2", _MARKS.sub(r"\\\1", text))


# --- a page to print --------------------------------------------------------------------------------------------------

_STYLE = """
@page { size: A4; margin: 20mm }
body { font: 11pt/1.45 Georgia, serif; color: #111; background: #fff; max-width: 42rem; margin: 2rem auto }
body { padding: 0 1rem }
h1 { font-size: 1.7em; margin: 0 }
h2 { font-size: 1.15em; margin: 1.2em 0 .3em }
h3 { font-size: 1em; margin: .8em 0 0 }
p, ul { margin: .3em 0 } .aside { color: #444 } h2, h3 { break-after: avoid } li { break-inside: avoid }
@media print { body { margin: 0; padding: 0; max-width: none } }
"""


def _page(content: Content) -> str:
    title, body = html.escape(content.title), "".join(_html(content))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>{body}</body></html>'
    )


def _html(content: Content) -> Iterator[str]:
    yield f"<h1>{html.escape(content.title)}</h1>"
    yield from (f'<p class="aside">{html.escape(each)}</p>' for each in (content.under, content.contact) if each)
    for block in content.blocks:
        if block.heading:
            yield f"<h{block.level + 1}>{html.escape(block.heading)}</h{block.level + 1}>"
        if block.aside:
            yield f'<p class="aside">{html.escape(block.aside)}</p>'
        lines = [html.escape(each) for each in block.lines]
        if block.is_list and lines:
            yield "<ul>" + "".join(f"<li>{each}</li>" for each in lines) + "</ul>"
        else:
            yield "".join(f"<p>{each}</p>" for each in lines)
