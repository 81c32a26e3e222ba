"""The content of a document for a job, in order: code adds headings, dates and places to the checked sentences."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qwestly_agent.cards.draft_parts import advert_of, evidence_of
from qwestly_agent.cards.outline import EDUCATION, HEADLINE, LETTER, POSITIONS, SKILLS
from qwestly_agent.cards.publication import supported_in
from qwestly_agent.documents.head import Head
from qwestly_agent.documents.positions import Position, position_of, positions_of
from qwestly_agent.domain.card import CheckedCard, Evidence, Section
from qwestly_agent.domain.job import Advert
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.text.language import language_of


@dataclass(frozen=True)
class Block:
    heading: str = ""
    level: int = 1
    """Level of the heading: 1 for a section, 2 within one."""
    aside: str = ""
    """A period of time, shown next to the heading."""
    lines: tuple[str, ...] = ()
    is_list: bool = False


@dataclass(frozen=True)
class Content:
    title: str
    """The person's name, or the job's title if the name is unknown."""
    under: str
    """The line below the title."""
    contact: str
    """Contact details that the person chose; often empty."""
    blocks: tuple[Block, ...]
    name: str
    """Name of the file, without its extension."""


@dataclass(frozen=True)
class _Words:
    greeting: str
    farewell: str
    experience: str
    more: str
    skills: str
    education: str


_WORDS: Mapping[str, _Words] = {
    "de": _Words("Guten Tag,", "Freundliche Grüße", "Berufserfahrung", "Weiteres", "Kenntnisse", "Ausbildung"),
    "es": _Words("Buenos días:", "Atentamente,", "Experiencia", "Además", "Conocimientos", "Formación"),
    "fr": _Words("Bonjour,", "Cordialement,", "Expérience", "Par ailleurs", "Compétences", "Formation"),
    "pt": _Words("Bom dia,", "Atenciosamente,", "Experiência", "Além disso", "Competências", "Formação"),
    "it": _Words("Buongiorno,", "Cordiali saluti,", "Esperienza", "Inoltre", "Competenze", "Istruzione"),
}
_IN_ENGLISH = _Words("Hello,", "Kind regards,", "Experience", "Also", "Skills", "Education")


def content_of(draft: Draft, head: Head) -> Content:
    """Build the content. `head` has the fields for the document's head. Raises `NotFound` if nothing in the draft is
    supported."""
    name, place = head.get("name", ""), head.get("location", "")
    contact = " · ".join(filter(None, (head.get(each) for each in ("email", "phone", "links"))))
    checked, advert = supported_in(draft), advert_of(draft)
    words = _WORDS.get(language_of(" ".join(each.text for each in checked.card.claims)), _IN_ENGLISH)
    job = ", ".join(filter(None, (advert.title, advert.company))) if advert else ""
    if draft.kind == "cover_letter":
        blocks, under = _letter(checked, words, name, job), place
    else:
        blocks = tuple(_resume(checked, evidence_of(draft), words))
        under = " · ".join(filter(None, (checked.card.headline.text if checked.card.headline else "", place)))
    return Content(name or job, under, contact, blocks, _file_name(draft, name, advert))


def positions_from_resume(draft: Draft) -> list[Position]:
    """Return the positions in the draft that the profile lacks. Raises `NotFound` if nothing in the draft is
    supported."""
    kinds = {each.kind for each in supported_in(draft).card.sections}
    if draft.kind != "resume" or POSITIONS not in kinds:
        return []
    return [each for each in positions_of(evidence_of(draft)) if each.header]


def _letter(checked: CheckedCard, words: _Words, name: str, job: str) -> tuple[Block, ...]:
    said = [claim.text for section in checked.card.sections if section.kind == LETTER for claim in section.claims]
    paragraphs = tuple(" ".join(said[at : at + 3]) for at in range(0, len(said), 3))
    end = (words.farewell, *([name] if name else []))
    return (Block(heading=job, lines=(words.greeting,)), Block(lines=paragraphs), Block(lines=end))


def _resume(checked: CheckedCard, evidence: Mapping[str, Evidence], words: _Words) -> Iterator[Block]:
    headings = {POSITIONS: words.experience, SKILLS: words.skills, EDUCATION: words.education}
    for section in checked.card.sections:
        heading = headings.get(section.kind, section.heading)
        if section.kind == POSITIONS:
            yield Block(heading)
            yield from _positions(section, evidence, words)
        elif section.kind != HEADLINE:
            lines = tuple(claim.text for claim in section.claims)
            yield Block(heading, lines=lines, is_list=section.kind in (SKILLS, EDUCATION))


def _positions(section: Section, evidence: Mapping[str, Evidence], words: _Words) -> Iterator[Block]:
    """Group claims by employer; those without one come last. A position is never left out."""
    positions = positions_of(evidence)
    under = [list[str]() for _ in positions]
    rest: list[str] = []
    for claim in section.claims:
        position = position_of(claim, positions)
        (under[positions.index(position)] if position else rest).append(claim.text)
    for position, lines in zip(positions, under, strict=True):
        yield Block(position.heading, 2, position.time, tuple(lines), is_list=True)
    if rest:
        yield Block(words.more if positions else "", 2, lines=tuple(rest), is_list=True)


def _file_name(draft: Draft, name: str, advert: Advert | None) -> str:
    kind = "resume" if draft.kind == "resume" else "letter"
    parts = (kind, name, advert.company if advert else "")
    return "-".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts if part)[:80]
