"""The evidence for a user's documents: each piece with its source and the sections that it supports."""

import asyncio
import re
from calendar import month_name
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from qwestly_agent.base.clock import format_date
from qwestly_agent.cards.model import (
    ACHIEVEMENTS,
    CARD,
    EDUCATION,
    EXPERIENCE,
    HEADLINE,
    LETTER,
    POSITIONS,
    PREFERENCES,
    RESUME_SECTIONS,
    SKILLS,
    SUMMARY,
)
from qwestly_agent.domain.candidate import PRESENT
from qwestly_agent.domain.card import Evidence, EvidenceById, Fields, Trust
from qwestly_agent.domain.memory import (
    MOST_CHARACTERS_OF_ONE,
    RESUME,
    Memory,
    evidence_id,
    evidence_id_of_topic,
    words_of_memory,
)
from qwestly_agent.domain.resume import UNDER_WAY, UNNAMED, ReadField, ResumeRecord
from qwestly_agent.grounding.model import QuotedSource
from qwestly_agent.services import Services
from qwestly_agent.stores.candidate_data import Passage
from qwestly_agent.stores.drafts import DraftKind
from qwestly_agent.stores.interviews import StoredInterview
from qwestly_agent.text.clean import quoted, visible
from qwestly_agent.text.contacts import without_contacts
from qwestly_agent.text.language import language_of

# --- resume evidence --------------------------------------------------------------------------------------------------
# Evidence from the user's résumé: fields that the judge found supported, in the résumé's own words.


MOST_LOOKED_AT = 3
"""Number of résumés considered, so that an unreadable one does not hide an earlier one."""
MOST_RESUME_CHARACTERS = 8_000
"""Maximum number of characters from one résumé, a third of a prompt's limit; the rest is dropped."""
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
"""Sections that are combined into one piece."""
_SPEAKS_FOR = {
    "work": frozenset({HEADLINE, SUMMARY, EXPERIENCE, ACHIEVEMENTS, SKILLS}),
    "education": frozenset({EDUCATION}),
    "basics": frozenset({HEADLINE, SUMMARY}),
    "skills": frozenset({SKILLS}),
    "more": frozenset({SUMMARY, EXPERIENCE, ACHIEVEMENTS, EDUCATION}),
}
"""Sections that each kind of piece supports; the kinds are in the order of the evidence."""


@dataclass(frozen=True)
class ResumePiece:
    evidence: Evidence
    speaks_for: frozenset[str]


def pieces_of(resumes: Iterable[ResumeRecord]) -> list[ResumePiece]:
    """Return the evidence from the newest résumé that could be read."""
    read = (each for each in resumes if each.read and each.status not in UNDER_WAY)
    newest = next(read, None)
    return list(_bounded_pieces(_pieces(newest))) if newest else []


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
    return HEADER_ENDS.join(filter(None, (_lines_of_fields(named), _lines_of_fields(rest))))


def _lines_of_fields(fields: Iterable[ReadField]) -> str:
    return "\n".join(dict.fromkeys(" ".join(each.quote.split()) for each in fields))


def _fields_of(kind: str, fields: Sequence[ReadField]) -> Fields:
    # A date is used as written if it is not a calendar date: "present".
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


def _bounded_pieces(pieces: Iterable[ResumePiece]) -> Iterator[ResumePiece]:
    left = MOST_RESUME_CHARACTERS
    for each in pieces:
        left -= len(each.evidence.text)
        if left < 0:
            return
        yield each


# --- evidence ---------------------------------------------------------------------------------------------------------
# Gather the evidence for a user's card: each piece with its source and the sections that it supports.


MOST_MEMORIES, MOST_PASSAGES, MOST_INTERVIEWS = 60, 20, 5
MOST_CHARACTERS = 24_000
"""Maximum number of characters, about 6,000 tokens, included in the prompt of every section. Evidence beyond the limit
is dropped from the end."""
MOST_SKILLS = 60

_NEXT = frozenset({PREFERENCES})
_DONE = frozenset({SUMMARY, EXPERIENCE, ACHIEVEMENTS, SKILLS})
_SECTIONS_BY_TYPE: Mapping[str, frozenset[str]] = {
    "skill": frozenset({SKILLS}),
    "experience": _DONE,
    "fact": frozenset({SUMMARY, EXPERIENCE}),
    "goal": _NEXT,
    "preference": _NEXT,
    "constraint": _NEXT,
    "decision": _NEXT,
}
"""Sections supported by a memory, by its type."""
_OF_DOCUMENTS = frozenset({HEADLINE, EDUCATION}) | _DONE
_THEMES = """
experience work employment role responsible led managed built achievements projects skills languages education degree
university certificate berufserfahrung ausbildung kenntnisse expérience formation compétences experiencia educación
experiência formação esperienza istruzione
"""
"""Search words: the usual headings of résumés."""


@dataclass(frozen=True)
class GatheredEvidence:
    evidence: Evidence
    speaks_for: frozenset[str]
    is_wish: bool = False
    """True for a wish about how to write about the user; a wish supports no section."""


async def gather(services: Services, user_id: str) -> list[GatheredEvidence]:
    """Return the evidence, best first, within the limit of a prompt."""
    profile, remembered, interviews, resumes = await asyncio.gather(
        services.profiles.get_career(user_id),
        services.memories.most_salient(user_id, MOST_MEMORIES),
        services.interviews.newest(user_id, MOST_INTERVIEWS),
        services.resumes.newest(user_id, MOST_LOOKED_AT),
    )
    # Search without a vector, because no model is called here. The profile's names occur in the résumé too, in any
    # language.
    words = f"{_THEMES} {' '.join(_names_in(profile))}"
    passages = await services.knowledge.search(user_id, words, None, MOST_PASSAGES)
    talked_of = (each for kept in interviews for each in _of_interview(kept))
    read = (GatheredEvidence(each.evidence, each.speaks_for) for each in pieces_of(resumes))
    found = [*_of_profile(profile), *read, *talked_of, *map(_of_memory, remembered), *map(_of_passage, passages)]
    return list(_bounded(found))


def sections_for(found: Sequence[GatheredEvidence], document: DraftKind = "card") -> tuple[str, ...]:
    """Return the sections of the document that have evidence."""
    spoken_for = frozenset[str]().union(*(each.speaks_for for each in found if each.evidence.publishable))
    match document:
        case "cover_letter":
            return (LETTER,) if spoken_for else ()
        case "resume":
            return tuple(kind for kind in RESUME_SECTIONS if (EXPERIENCE if kind == POSITIONS else kind) in spoken_for)
        case _:
            return tuple(kind for kind in CARD if kind in spoken_for)


def sources_of(evidence: EvidenceById) -> dict[str, QuotedSource]:
    """Return the evidence as sources for grounding, without inferred and external evidence, which supports no claim."""
    return {each.id: _source(each) for each in evidence.values() if each.publishable}


def _source(item: Evidence) -> QuotedSource:
    fields = item.fields
    known = {
        "employer": fields.company,
        "title": fields.title,
        "from": fields.start,
        "to": fields.end,
        "degree": fields.degree,
        "school": fields.school,
        "section": "skills" if fields.skills else "",
    }
    return QuotedSource(
        id=item.id,
        text=quoted(item.text),  # as in the prompt, so that copied quotes are found
        trust=item.trust,
        language=language_of(item.text),
        fields={name: value for name, value in known.items() if value},
    )


def _names_in(profile: Mapping[str, Any]) -> Iterator[str]:
    for stint in profile.get("employment", []):
        yield from (str(stint.get(name, "")) for name in ("company", "title"))
    yield from (str(each.get("school", "")) for each in _dicts(profile.get("education")))


# --- profile ----------------------------------------------------------------------------------------------------------


def _of_profile(profile: Mapping[str, Any]) -> Iterator[GatheredEvidence]:
    if text := "\n".join(_lines(profile)):
        yield GatheredEvidence(
            _evidence("profile", "profile", text, "your profile"), frozenset({HEADLINE, SUMMARY, SKILLS})
        )
    if skills := _texts(profile.get("skills")):
        fields = Fields(skills=tuple(skills[:MOST_SKILLS]))
        text = f"Skills: {', '.join(fields.skills)}"
        yield GatheredEvidence(
            _evidence("skills", "profile", text, "your profile: skills", fields=fields), frozenset({SKILLS})
        )
    for number, stint in enumerate(_dicts(profile.get("employment")), 1):
        yield _of_stint(number, stint)
    for number, each in enumerate(_dicts(profile.get("education")), 1):
        yield _of_education(number, each)
    if text := "\n".join(_wishes(profile.get("preferences", {}))):
        yield GatheredEvidence(_evidence("preferences", "profile", text, "your preferences"), _NEXT)


def _lines(profile: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{name.capitalize()}: {profile[name]}" for name in ("name", "headline", "location") if name in profile)
    if "summary" in profile:
        yield str(profile["summary"])
    if years := profile.get("years_of_experience"):
        yield f"{years:g} years of experience" if isinstance(years, int | float) else f"{years} of experience"
    if languages := _texts(profile.get("languages")):
        yield f"Languages: {', '.join(languages)}"


def _of_stint(number: int, stint: Mapping[str, Any]) -> GatheredEvidence:
    company, title = str(stint.get("company", "")), str(stint.get("title", ""))
    end = PRESENT if stint.get("is_current") in (True, 1) else _date(stint.get("end_date"))
    fields = Fields(company=company, title=title, start=_date(stint.get("start_date")), end=end)
    role = ", ".join(filter(None, (title, company, str(stint.get("location", "")))))
    time = " – ".join(filter(None, map(_in_words, (fields.start, fields.end))))
    text = "\n".join(filter(None, (role, time, str(stint.get("description", "")))))
    source = f"your profile: {company or title}"
    evidence = _evidence(f"employment:{number}", "employment", text, source, fields=fields)
    return GatheredEvidence(
        evidence, _DONE | {HEADLINE} if stint.get("description") else frozenset({HEADLINE, SUMMARY, EXPERIENCE})
    )


def _of_education(number: int, each: Mapping[str, Any]) -> GatheredEvidence:
    degree, school, year = (str(each.get(name) or "") for name in ("degree", "school", "year"))
    text = ", ".join(filter(None, (degree, school, year)))
    fields = Fields(degree=degree, school=school, end=year)
    evidence = _evidence(f"education:{number}", "education", text, "your profile: education", fields=fields)
    return GatheredEvidence(evidence, frozenset({EDUCATION}))


def _wishes(preferences: Mapping[str, Any]) -> Iterator[str]:
    said = {
        "roles": "to work as {}",
        "locations": "to work in {}",
        "work_mode": "to work {}",
        "industries": "the industries {}",
        "company_sizes": "companies of {} people",
        "availability": "to begin {}",
    }
    for name, form in said.items():
        if texts := _texts(preferences.get(name)):
            yield f"Would like: {form.format(', '.join(texts))}"


# --- interviews -------------------------------------------------------------------------------------------------------


def _of_interview(kept: StoredInterview) -> Iterator[GatheredEvidence]:
    """Yield a piece for each topic, in the user's words, not the draft's."""
    for place, topic in enumerate(kept.interview.topics):
        if words := kept.interview.words_of(topic):
            source = f"your interview: {topic.title}"
            evidence = _evidence(evidence_id_of_topic(kept.conversation_id, place), "interview", words, source)
            yield GatheredEvidence(evidence, _OF_DOCUMENTS | _NEXT)


# --- memories and documents -------------------------------------------------------------------------------------------


def _of_memory(memory: Memory) -> GatheredEvidence:
    trust: Trust = memory.trust if memory.trust in get_args(Trust) else "inferred"  # type: ignore[assignment]
    day = f" of {format_date(memory.valid_from)}" if memory.valid_from else ""
    source = "your document" if trust == "user_document" else f"your message{day}"
    evidence = _evidence(evidence_id(memory.id), "memory", words_of_memory(memory), source, trust)
    if memory.about_writing:
        return GatheredEvidence(evidence, frozenset(), is_wish=evidence.publishable)
    return GatheredEvidence(evidence, _SECTIONS_BY_TYPE.get(memory.type, frozenset({SUMMARY})))


def _of_passage(passage: Passage) -> GatheredEvidence:
    source = passage.title or "your document"
    talked = passage.kind == "transcript"
    kind = "interview" if talked else "document"
    evidence = _evidence(f"document:{passage.id}", kind, passage.text, source, "user_document")
    return GatheredEvidence(evidence, _OF_DOCUMENTS | _NEXT if talked else _OF_DOCUMENTS)


def _evidence(
    id: str, kind: Any, text: str, source: str, trust: Trust = "user_said", fields: Fields | None = None
) -> Evidence:
    if kind in ("profile", "employment"):  # documents have none left; messages are compared as typed
        text, _ = without_contacts(text)
    return Evidence(
        id=id,
        kind=kind,
        trust=trust,
        text=visible(text)[:MOST_CHARACTERS_OF_ONE],
        source=visible(source)[:200],
        fields=fields or Fields(),
    )


def _bounded(found: Sequence[GatheredEvidence]) -> Iterator[GatheredEvidence]:
    left = MOST_CHARACTERS
    for each in found:
        left -= len(each.evidence.text)
        if left < 0:
            return
        if each.evidence.text.strip():
            yield each


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(each) for each in value if isinstance(each, str | int | float)] if isinstance(value, list) else []


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _in_words(date: str) -> str:
    """Return a month in words, as written in a document: "April 2021" for 2021-04."""
    year, _, month = date.partition("-")
    is_month = re.fullmatch(r"\d{4}-(?:0[1-9]|1[0-2])", date)
    return f"{month_name[int(month)]} {year}" if is_month else date


def _date(value: Any) -> str:
    return f"{value:%Y-%m}" if isinstance(value, datetime) else str(value or "")
