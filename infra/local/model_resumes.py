"""Parse résumés for the scripted model: it knows some headings, and maps the lines below them to fields."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

_RESUME = re.compile(r"<resume>\n?(?P<text>.*?)\n?</resume>", re.DOTALL)
_HEADINGS: Mapping[str, str] = {
    "work": "experience|work experience|employment|career|berufserfahrung|experiencia",
    "education": "education|ausbildung|formación|studium",
    "skills": "skills|kenntnisse|competencias|technologies",
    "languages": "languages|sprachen|idiomas",
    "basics": "summary|profile|about|about me|profil|perfil",
}
_DATES = re.compile(
    r"(?P<start>(?:[^\W\d_]+ (?:de )?|\d\d[./])?(?:19|20)\d\d) ?[-–—] ?"
    r"(?P<end>(?:[^\W\d_]+ (?:de )?|\d\d[./])?(?:19|20)\d\d|[^\W\d_]+)"
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_BULLET = re.compile(r"^[•\-*·]\s*")


def parse_resume(texts: Sequence[str]) -> dict[str, Any]:
    found = _RESUME.search(texts[0])
    lines = html.unescape(found["text"]).split("\n") if found else []
    sections = _sections([line.strip("#* ") if line.startswith(("#", "*")) else line for line in lines])
    contacts = ("[email]", "[phone]", "[url]")
    top = [line for line in sections["top"] if line and not any(each in line for each in contacts)][1:]
    basics: dict[str, Any] = {}
    basics |= zip(("label", "location"), map(_field, top[:2]), strict=False)
    if summary := " ".join([*top[2:], *filter(None, sections["basics"])]).strip():
        basics["summary"] = _field(summary)
    return {
        "basics": basics,
        "work": list(_jobs(sections["work"])),
        "education": list(_schools(sections["education"])),
        "skills": [_field(each) for each in _names(sections["skills"])],
        "languages": [_field(each) for each in _names(sections["languages"])],
    }


def _sections(lines: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"top": [], **{name: [] for name in _HEADINGS}}
    section = "top"
    for line in lines:
        named = [name for name, words in _HEADINGS.items() if re.fullmatch(words, line.strip(" :").lower())]
        if named:
            section = named[0]
        else:
            found[section].append(line)
    return found


def _jobs(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the positions. The line before one with dates has position and employer; the following lines are
    highlights."""
    text = [line for line in lines if line]
    starts = [number for number, line in enumerate(text) if number and _DATES.search(line)]
    for number, following in zip_longest(starts, starts[1:]):
        end = len(text) if following is None else following - 1
        position, _, name = text[number - 1].rpartition(", ")
        dates = _DATES.search(text[number])
        assert dates
        yield {
            **({"position": _field(position, text[number - 1])} if position else {}),
            "name": _field(name, text[number - 1]),
            "startDate": _field(dates["start"], dates[0]),
            "endDate": _field(dates["end"], dates[0]),
            "highlights": [_field(_BULLET.sub("", line)) for line in text[number + 1 : end]],
        }


def _schools(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    for line in filter(None, lines):
        year = _YEAR.search(line)
        parts = [part.strip() for part in line.split(",") if part.strip() and not _YEAR.fullmatch(part.strip())]
        if len(parts) > 1:
            degree, school = parts[:2]
            ended = {"endDate": _field(year[0], line)} if year else {}
            yield {"institution": _field(school, line), "studyType": _field(degree, line), **ended}


def _names(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield from (each.strip() for each in _BULLET.sub("", line).split(",") if each.strip())


def _field(value: str, quote: str = "") -> dict[str, str]:
    return {"value": value, "quote": quote or value}
