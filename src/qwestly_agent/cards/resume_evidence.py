"""Evidence from the user's résumé: fields that the judge supported, in the résumé's own words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from qwestly_agent.cards.outline import ACHIEVEMENTS, EDUCATION, EXPERIENCE, HEADLINE, SKILLS, SUMMARY
from qwestly_agent.domain.card import Evidence, Fields
from qwestly_agent.domain.memory import MOST_CHARACTERS_OF_ONE, RESUME
from qwestly_agent.domain.resume import UNDER_WAY, UNNAMED, ReadField, ResumeRecord
from qwestly_agent.text.clean import visible

MOST_LOOKED_AT = 3
"""Number of résumés searched, so that an unreadable one does not hide an earlier one."""
MOST_CHARACTERS = 8_000
"""Maximum characters of one résumé, a third of the limit of a prompt; the rest is dropped."""
HEADER_ENDS = "\n\n"
"""Separates a position's name from its details."""

_HEADER = {
    "work": ("position", "name", "location", "startDate", "endDate"),
    "education": ("studyType", "institution", "startDate", "endDate"),
}
"""Fields that name an item, in this order."""
_PIECES = {
    "basics": "basics",
    "skills": "skills",
    "languages": "skills",
    "certificates": "more",
    "projects": "more",
    "publications": "more",
}
"""Sections that make one piece as a whole."""
_SPEAKS_FOR = {
    "work": frozenset({HEADLINE, SUMMARY, EXPERIENCE, ACHIEVEMENTS, SKILLS}),
    "education": frozenset({EDUCATION}),
    "basics": frozenset({HEADLINE, SUMMARY}),
    "skills": frozenset({SKILLS}),
    "more": frozenset({SUMMARY, EXPERIENCE, ACHIEVEMENTS, EDUCATION}),
}
"""Sections that each kind of piece supports, in the order of the evidence."""


@dataclass(frozen=True)
class ResumePiece:
    evidence: Evidence
    speaks_for: frozenset[str]


def pieces_of(resumes: Iterable[ResumeRecord]) -> list[ResumePiece]:
    """Return the evidence of the newest résumé that could be read."""
    read = (each for each in resumes if each.read and each.status not in UNDER_WAY)
    newest = next(read, None)
    return list(_bounded(_pieces(newest))) if newest else []


def is_position(evidence: Evidence) -> bool:
    return evidence.id.startswith(RESUME) and bool(evidence.fields.title or evidence.fields.company)


def header_of(evidence: Evidence) -> str:
    """Return the words that name a position."""
    return evidence.text.partition(HEADER_ENDS)[0]


def _pieces(record: ResumeRecord) -> Iterator[ResumePiece]:
    found: dict[tuple[str, str], list[ReadField]] = {}
    for each in record.read or ():
        if each.is_checked:
            found.setdefault(_place_of(each.path), []).append(each)
    source = UNNAMED if record.name == UNNAMED else f"{UNNAMED}: {record.name}"
    for kind, speaks_for in _SPEAKS_FOR.items():
        for (name, number), fields in found.items():
            if name == kind:
                evidence = Evidence(
                    id=":".join(filter(None, (f"{RESUME}{record.id}", name, number))),
                    kind="document",
                    trust="user_document",
                    text=visible(_text_of(kind, fields))[:MOST_CHARACTERS_OF_ONE],
                    source=visible(source)[:200],
                    fields=_fields_of(kind, fields),
                )
                yield ResumePiece(evidence, speaks_for)


def _place_of(path: str) -> tuple[str, str]:
    """Return the kind of piece that the field belongs to, and its number if each item is a separate piece."""
    _, section, number, *_ = path.split("/")
    return (section, number) if section in _HEADER else (_PIECES[section], "")


def _text_of(kind: str, fields: Sequence[ReadField]) -> str:
    header = _HEADER.get(kind, ())
    named = sorted((each for each in fields if _name(each) in header), key=lambda each: header.index(_name(each)))
    rest = (each for each in fields if _name(each) not in header)
    return HEADER_ENDS.join(filter(None, (_lines(named), _lines(rest))))


def _lines(fields: Iterable[ReadField]) -> str:
    return "\n".join(dict.fromkeys(" ".join(each.quote.split()) for each in fields))


def _fields_of(kind: str, fields: Sequence[ReadField]) -> Fields:
    # A date as written if it is not a calendar date: "present".
    value = {_name(each): visible(each.value or each.original) for each in fields}
    start, end = value.get("startDate", ""), value.get("endDate", "")
    if kind == "work":
        return Fields(company=value.get("name", ""), title=value.get("position", ""), start=start, end=end)
    if kind == "education":
        return Fields(degree=value.get("studyType", ""), school=value.get("institution", ""), start=start, end=end)
    if kind == "skills":
        return Fields(skills=tuple(visible(each.value) for each in fields if each.path.startswith("/skills/")))
    return Fields()


def _name(field: ReadField) -> str:
    return field.path.rpartition("/")[2]


def _bounded(pieces: Iterable[ResumePiece]) -> Iterator[ResumePiece]:
    left = MOST_CHARACTERS
    for each in pieces:
        left -= len(each.evidence.text)
        if left < 0:
            return
        yield each
