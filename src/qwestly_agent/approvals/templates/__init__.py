"""The page behind a link, and the mails, rendered from the templates beside this file.

Input is plain text: it is escaped in HTML, and invisible characters are removed.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from qwestly_agent.approvals.view import diff_words
from qwestly_agent.base.clock import format_moment
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.approval import ShownClaim
from qwestly_agent.text.clean import disable_links, safe_text, visible

FOLDER = Path(__file__).parent
NOT_FOUND = "We didn’t find the underlined words in what you gave us. Compare them before you decide."
_AMOUNT = re.compile(
    r"(?<![\w.,-])(?!(?:19|20)\d\d\b)(\d[\d,.]*(?:\s?(?:%|percent|million|billion))?)(?<![,.])(?![\w-])"
)


@dataclass(frozen=True)
class Brand:
    """The brand of mails and pages, from the settings of the same names."""

    name: str = Settings.brand_name
    color: str = ""
    logo: str = ""
    app_url: str = ""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        return cls(settings.brand_name, settings.brand_color, settings.brand_logo, settings.app_url)

    def place(self, name: str, record: str | None = None) -> str:
        """Return the URL of a place in the app, or of a record there: a fragment that the app interprets. If the app's
        URL already has a fragment, it is used as it is; without a URL, the result is empty."""
        if not self.app_url or "#" in self.app_url:
            return self.app_url
        return f"{self.app_url}#{name}" + (f"/{quote(record, safe='')}" if record else "")

    @property
    def logo_origin(self) -> str:
        """Return the scheme and host of the logo, or 'none', for a content security policy."""
        return "/".join(self.logo.split("/")[:3]) or "'none'"

    @property
    def style(self) -> str:
        """Return the page's style sheet."""
        accent = f":root {{ --brand: {self.color}; --brand-dark: color-mix(in oklab, {self.color}, white 45%); }}\n"
        return (accent if self.color else "") + (FOLDER / "style.css").read_text(encoding="utf-8")


def render(template: str, brand: Brand, **given: Any) -> str:
    return _environment().get_template(template).render(brand=brand, **given)


def style_hash(brand: Brand) -> str:
    """Return the hash of the page's style sheet for a content security policy."""
    return base64.b64encode(hashlib.sha256(brand.style.encode()).digest()).decode()


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
    environment.filters["moment"] = format_moment
    # Mail programs turn anything that looks like a URL into a link, and ours must be the only one.
    environment.filters["shortly"] = lambda text, most: disable_links(safe_text(shortly(text, most), ()))
    environment.filters["unlinked"] = disable_links
    environment.globals["diff_words"] = diff_words
    environment.globals["mark_parts"] = mark_parts
    environment.globals["not_found"] = NOT_FOUND
    environment.filters["with_marked"] = _with_marked
    environment.filters["strong_numbers"] = _strong_numbers
    environment.filters["style"] = lambda brand: Markup(brand.style)  # noqa: S704 -- ours
    return environment


def shortly(text: str, most: int) -> str:
    """Put the text on one line and truncate it if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def mark_parts(text: str, marks: Sequence[str]) -> list[tuple[str, bool]]:
    """Split the text so that each occurrence of a mark, as whole words, is a part of its own. Each part comes with True
    if it is a mark."""
    if not marks:
        return [(text, False)]
    longest_first = "|".join(re.escape(each) for each in sorted(marks, key=len, reverse=True))
    pieces = re.split(rf"(?<![^\W_])({longest_first})(?![^\W_])", text)
    return [(piece, number % 2 == 1) for number, piece in enumerate(pieces) if piece]


def _with_marked(claims: Sequence[ShownClaim], most: int) -> list[ShownClaim]:
    """Return the first `most` claims, and each later one that has marks."""
    return [claim for number, claim in enumerate(claims) if number < most or claim.marks]


def _strong_numbers(text: str) -> Markup:
    """Mark up amounts, so that achievements are easy to skim; years stay unmarked."""
    pieces = _AMOUNT.split(visible(text))  # every second piece is an amount
    return Markup().join(
        Markup("<strong>{}</strong>").format(piece) if number % 2 else escape(piece)
        for number, piece in enumerate(pieces)
    )


def _finalize(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
