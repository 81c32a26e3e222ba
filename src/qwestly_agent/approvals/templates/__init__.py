"""The page behind a link and the mails, from the templates beside this file.

Input is plain text: it is escaped in HTML, and invisible characters are removed.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.text.clean import unlinked, visible
from qwestly_agent.text.sanitize import safe_text

FOLDER = Path(__file__).parent


def render(template: str, **given: Any) -> str:
    return _environment().get_template(template).render(**given)


@cache
def style_hash() -> str:
    """Return the hash of the page's style sheet for a content security policy."""
    return base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()


def moment(seconds: float) -> str:
    """Format as "Tuesday 3 November 2026, 14:05 UTC"."""
    at = to_datetime(seconds)
    return f"{at:%A} {at.day} {at:%B %Y, %H:%M} UTC"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    environment.filters["moment"] = moment
    # Mail programs turn anything that looks like an address into a link: ours must be the only one.
    environment.filters["shortly"] = lambda text, most: unlinked(safe_text(shortly(text, most), ()))
    environment.filters["unlinked"] = unlinked
    environment.globals["style"] = Markup(_style())  # noqa: S704 -- ours
    return environment


def shortly(text: str, most: int) -> str:
    """Put the text on one line and cut it if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _style() -> str:
    return (FOLDER / "style.css").read_text(encoding="utf-8")


def _finalize(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
