"""The agenda of an onboarding: the fields that a profile needs. Known fields are not asked about."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qwestly_agent.domain.approval import ShownQuote
from qwestly_agent.domain.interview import Aspect, Interview, Said, Topic
from qwestly_agent.interviews.known import Known, KnownField
from qwestly_agent.profile import ChangedField
from qwestly_agent.text.clean import visible

PROFILE = "profile"
"""Stored instead of a message id if an aspect is known from the profile."""
SAID = "what you said"
AGENDA: Mapping[str, Mapping[str, ChangedField]] = {
    "Work": {
        "current role": "headline",
        "years of experience": "years_of_experience",
        "where you live": "location",
        "what you are proud of": "summary",
    },
    "Skills": {"main skills": "skills", "languages": "languages"},
    "Education": {"school and degree": "education"},
    "Wishes": {"role you want": "roles", "where you want to work": "locations", "way to work": "work_mode"},
    "Limits": {"when you can begin": "availability", "what you do not want": "never"},
}
"""Topics in order: aspect → the field of the profile, the preferences or the job wishes that answers it."""
_LONGEST_WORDS = 200


def with_agenda(interview: Interview, known: Known) -> Interview:
    topics = [
        Topic(
            title=title,
            status="backlog",
            priority=len(AGENDA) - place,
            aspects=tuple(_aspect(name, field, known) for name, field in aspects.items()),
        )
        for place, (title, aspects) in enumerate(AGENDA.items())
    ]
    told = (each.model_copy(update={"status": "backlog" if each.open_aspects else "completed"}) for each in topics)
    return interview.model_copy(update={"has_agenda": True, "has_memories": known.has_memories, "topics": tuple(told)})


@dataclass(frozen=True)
class _Says:
    text: str
    quotes: tuple[Said, ...]


def learnt_fields(interview: Interview) -> list[KnownField]:
    """Return the draft's value for each field, in the words of its statements."""
    found = list[KnownField]()
    for title, aspects in AGENDA.items():
        for name, field in aspects.items():
            says = _said_of(interview, title, name)
            if value := _value(field, says.text):
                found.append(KnownField(field, value, tuple(map(_shown, says.quotes))))
    return found


def known_before(interview: Interview) -> list[KnownField]:
    """Return the learned fields that rest on earlier conversations only."""
    return [
        each for each in learnt_fields(interview) if each.quotes and all(quote.source != SAID for quote in each.quotes)
    ]


def _said_of(interview: Interview, title: str, name: str) -> _Says:
    says = [each for each in interview.draft if each.topic == title and name in each.aspects]
    quotes = tuple(dict.fromkeys(quote for each in says for quote in each.quotes))
    return _Says(" ".join(each.text for each in says).removesuffix("."), quotes)


def _shown(said: Said) -> ShownQuote:
    return ShownQuote(source=said.known_from or SAID, before="", quote=said.text, after="")


def _value(field: ChangedField, text: str) -> Any:
    match field:
        case "years_of_experience":
            figures = re.findall(r"\d+", text)
            return int(figures[0]) if len(figures) == 1 else None
        case "skills" | "languages" | "roles" | "locations" | "never":
            return [text] if text else None
        case "education":
            return [{"school": text}] if text else None
        case _:
            return text


def _aspect(name: str, field: ChangedField, known: Known) -> Aspect:
    if words := visible(_in_words(known.profile.get(field)))[:_LONGEST_WORDS]:
        said = Said(message_id=PROFILE, text=words, known_from="your profile")
        return Aspect(name=name, status="covered", quotes=(said,))
    if read := known.resume.get(field):
        said = tuple(Said(message_id=known.resume_id, text=each.quote, known_from=each.source) for each in read.quotes)
        return Aspect(name=name, status="covered", quotes=said)
    return Aspect(name=name)


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    if isinstance(value, dict):
        return ", ".join(_in_words(each) for each in value.values() if each)
    return "" if value is None else str(value)
