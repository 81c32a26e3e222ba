"""Remove identifying details from a conversation: values of the person's profile, and contact details by their form."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qwestly_agent.text.clean import mask_secrets

NAMED: Mapping[str, str] = {
    "name": "Person",
    "full_name": "Person",
    "first_name": "Person",
    "last_name": "Person",
    "company": "Company",
    "company_name": "Company",
    "employer": "Company",
    "school": "School",
    "institution": "School",
    "location": "Place",
    "city": "Place",
    "country": "Place",
    "locations": "Place",
}
"""Fields of a profile, each with its replacement."""
SHORTEST = 3
_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"\+?\d[\d ()/.-]{6,}\d")
_LEFT = re.compile(r"(?<![.!?:\"“(\n] )(?<!^)\b[A-ZÀ-Þ][\wÀ-ÿ'’-]+|\b\d{2,}\b", re.MULTILINE)


@dataclass
class Pseudonyms:
    """Replaces names; each name keeps the same pseudonym throughout."""

    documents: Iterable[Mapping[str, Any]]
    """The person's profile."""
    _stands_for: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for document in self.documents:
            for name, value in _named(document):
                self._add(NAMED[name], value)

    def _add(self, kind: str, value: str) -> None:
        numbers = sum(each.startswith(kind) for each in set(self._stands_for.values()))
        stand_in = self._stands_for.get(value.casefold(), f"{kind} {chr(ord('A') + numbers % 26)}")
        whole = [value, *(part for part in value.split() if kind == "Person" and len(part) >= SHORTEST)]
        for each in whole:
            self._stands_for.setdefault(each.casefold(), stand_in)

    def of(self, text: str) -> str:
        text = _PHONE.sub("[number]", _URL.sub("[address]", _MAIL.sub("[mail]", text)))
        for value in sorted(self._stands_for, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", self._stands_for[value], text, flags=re.IGNORECASE)
        return mask_secrets(text)


def left_over(text: str) -> Sequence[str]:
    """List names and figures that may still identify the person, for manual review."""
    return sorted(
        {each for each in _LEFT.findall(text) if not re.fullmatch(r"Person|Company|School|Place|[A-Z]|I", each)}
    )


def _named(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _named(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each, name)
    elif name in NAMED and isinstance(value, str) and len(value.strip()) >= SHORTEST:
        yield name, value.strip()
