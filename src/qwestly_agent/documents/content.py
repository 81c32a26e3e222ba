"""A document for a job: its header, its positions and its content in order, and the document as a file."""

import asyncio
import html
import io
import re
import zipfile
from calendar import month_abbr
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias
from unicodedata import bidirectional
from xml.sax.saxutils import escape

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.base.errors import Invalid
from qwestly_agent.base.patterns import pattern
from qwestly_agent.cards.drafts import advert_of, evidence_of
from qwestly_agent.cards.evidence import header_of, is_position
from qwestly_agent.cards.model import EDUCATION, HEADLINE, LETTER, POSITIONS, SKILLS
from qwestly_agent.cards.publication import supported_in
from qwestly_agent.domain.candidate import PRESENT
from qwestly_agent.domain.card import CheckedCard, Claim, Evidence, Fields, Section
from qwestly_agent.domain.job import Advert, HeadField
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.jobs.search import bare_company, bare_title
from qwestly_agent.resumes.model import person_name
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.text.clean import one_line
from qwestly_agent.text.contacts import contacts_in
from qwestly_agent.text.language import language_of

# --- head -------------------------------------------------------------------------------------------------------------
# The header of a document: name, place and contact details, added by code at download and when an application is sent.
# No model sees it.


Head: TypeAlias = Mapping[HeadField, str]
TopFields: TypeAlias = Sequence[str] | None
"""The fields shown in the header besides the name; None for the fields that the person chose for all documents."""
USUAL: tuple[HeadField, ...] = ("name", "location")
"""Fields that are shown if the person chose none."""
MOST_LINKS, MOST_RESUMES = 4, 5
NO_NAME = (
    "I don't know your name yet, and nobody should read a document without one. Add it under Jobs → Documents, in "
    "“At the top of your documents”, or drop a résumé that begins with it."
)
NOT_CHOSEN = (
    "How can the employer reach you? Choose once under Jobs → Documents, in “At the top of your documents”, and it "
    "stands on all of them."
)


async def chosen_head(services: Services, user_id: str, fields: TopFields = None, *, to_send: bool = False) -> Head:
    """Return the name and these fields, or the fields that the person chose, or the default ones. Raises `Invalid` if
    no name is known or, with `to_send`, if nothing was chosen, because an employer must be able to reply."""
    there, settings = await asyncio.gather(head_of(services, user_id), services.user_settings.get(user_id))
    chosen = settings.document_head if fields is None else fields
    if to_send and chosen is None:
        raise Invalid(NOT_CHOSEN)
    if "name" not in there:
        raise Invalid(NO_NAME)
    return {name: value for name, value in there.items() if name in {"name", *(USUAL if chosen is None else chosen)}}


async def head_of(services: Services, user_id: str) -> Head:
    """Return the available fields: what the person set, otherwise from the profile, the account and the newest résumé
    that has them."""
    profile, account, found, kept, settings = await asyncio.gather(
        services.profiles.get_career(user_id),
        services.profiles.get_mail_recipient(user_id),
        services.resumes.contacts(user_id),
        services.resumes.newest(user_id, MOST_RESUMES),
        services.user_settings.get(user_id),
    )
    in_resume = next(filter(None, map(person_name, kept)), "")
    words = {kind: [each.words for each in found if each.kind == kind] for kind in ("email", "phone", "url")}
    there: dict[HeadField, str] = {
        "name": settings.document_name or str(profile.get("name") or "") or in_resume,
        "location": str(profile.get("location", "")),
        "email": next(iter(words["email"]), account.address),
        "phone": next(iter(words["phone"]), ""),
        "links": " · ".join(list(dict.fromkeys(words["url"]))[:MOST_LINKS]),
    }
    return {name: value for name, value in there.items() if value}


# --- positions --------------------------------------------------------------------------------------------------------
# A person's positions: those in the profile, and those only in the résumé, latest first.


EMPLOYMENT = "employment:"
_DATE = pattern(r"(?:19|20)\d\d(?:-\d\d)?")
_MONTH = pattern(r"(\d{4})-(0[1-9]|1[0-2])(?:-\d\d)?")
_NOW = "9999"


@dataclass(frozen=True)
class Position:
    evidence: tuple[Evidence, ...]
    """The profile's evidence comes first."""

    @property
    def heading(self) -> str:
        return ", ".join(filter(None, (self._fields.title, self._fields.company)))

    def time_in(self, language: str) -> str:
        return " – ".join(_moment_in(each, language) for each in (self._fields.start, self._fields.end) if each)

    @property
    def header(self) -> str:
        """The résumé's words that name the position; empty if the profile contains the position."""
        return header_of(self.evidence[0]) if is_position(self.evidence[0]) else ""

    @property
    def _fields(self) -> Fields:
        return self.evidence[0].fields

    @property
    def latest_first(self) -> tuple[str, str]:
        return _date_in(self._fields.end) or _NOW, _date_in(self._fields.start)

    def is_quoted_in(self, claim: Claim) -> bool:
        return any(each.id in claim.evidence for each in self.evidence)

    def has_words_of(self, claim: Claim) -> bool:
        """True if the position contains words that the claim quotes from another document, such as a passage of a
        résumé."""
        return any(find_span(quote.text, each.text) for quote in claim.quotes for each in self.evidence)

    def is_named_in(self, words: str) -> bool:
        return bool(self._fields.company) and self._fields.company.casefold() in words

    def is_also(self, other: Evidence) -> bool:
        """True if this part of the résumé is about the same position: the same employer, and either the same title and
        first year, or the same period. If in doubt, it is another position, because a duplicate is noticed sooner than
        a missing one."""
        mine, theirs = self._fields, other.fields
        if bare_company(mine.company) != bare_company(theirs.company):
            return False
        began, theirs_began = _date_in(mine.start), _date_in(theirs.start)
        if bare_title(mine.title) == bare_title(theirs.title):
            return _agree(began[:4], theirs_began[:4])
        ended, theirs_ended = _date_in(mine.end) or _NOW, _date_in(theirs.end) or _NOW
        return bool(began and theirs_began) and _agree(began, theirs_began) and _agree(ended, theirs_ended)


def positions_of(evidence: Mapping[str, Evidence]) -> list[Position]:
    known = [Position((each,)) for name, each in evidence.items() if name.startswith(EMPLOYMENT)]
    more: list[Position] = []
    for each in filter(is_position, evidence.values()):
        place = next((number for number, position in enumerate(known) if position.is_also(each)), None)
        if place is None:
            more.append(Position((each,)))
        else:
            known[place] = Position((*known[place].evidence, each))
    # Keep the profile's order if nothing is added.
    return sorted([*known, *more], key=lambda each: each.latest_first, reverse=True) if more else known


def _date_in(date: str) -> str:
    """Return YYYY or YYYY-MM; empty if there is no date."""
    found = _DATE.search(date)
    return found[0] if found else ""


def _moment_in(date: str, language: str) -> str:
    """Return a month as résumés in this language write it; a date without a month stays as written."""
    if date == PRESENT:
        return words_in(language).present
    found = _MONTH.fullmatch(date)
    if not found:
        return date
    year, month = found[1], int(found[2])
    return f"{month:02}/{year}" if language in _WORDS else f"{month_abbr[month]} {year}"


def _agree(one: str, other: str) -> bool:
    """Compare at the lower precision: 2021 and 2021-03 are equal."""
    return one.startswith(other) or other.startswith(one)


def position_of(claim: Claim, positions: Sequence[Position]) -> Position | None:
    """Return the position under which the person placed the claim; otherwise the only one that it quotes, the only one
    that contains its words, or the only one whose employer it names."""
    said = " ".join([claim.text, *(quote.text for quote in claim.quotes)]).casefold()
    found = (
        [each for each in positions if claim.position in [evidence.id for evidence in each.evidence]],
        [each for each in positions if each.is_quoted_in(claim)],
        [each for each in positions if each.has_words_of(claim)],
        [each for each in positions if each.is_named_in(said)],
    )
    return next((each[0] for each in found if len(each) == 1), None)


# --- content ----------------------------------------------------------------------------------------------------------
# The content of a document for a job, in order: code adds headings, dates and places to the checked sentences.


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
    """Contact details that the person chose to show; often empty."""
    blocks: tuple[Block, ...]
    name: str
    """Name of the file, without its extension."""


@dataclass(frozen=True)
class Words:
    greeting: str
    farewell: str
    experience: str
    more: str
    skills: str
    education: str
    present: str


_WORDS: Mapping[str, Words] = {
    "de": Words("Guten Tag,", "Freundliche Grüße", "Berufserfahrung", "Weiteres", "Kenntnisse", "Ausbildung", "heute"),
    "es": Words("Buenos días:", "Atentamente,", "Experiencia", "Además", "Conocimientos", "Formación", "actualidad"),
    "fr": Words("Bonjour,", "Cordialement,", "Expérience", "Par ailleurs", "Compétences", "Formation", "aujourd’hui"),
    "pt": Words("Bom dia,", "Atenciosamente,", "Experiência", "Além disso", "Competências", "Formação", "atual"),
    "it": Words("Buongiorno,", "Cordiali saluti,", "Esperienza", "Inoltre", "Competenze", "Istruzione", "oggi"),
    "nl": Words(
        "Goedendag,", "Met vriendelijke groet,", "Werkervaring", "Verder", "Vaardigheden", "Opleiding", "heden"
    ),
}
_IN_ENGLISH = Words("Dear hiring team,", "Kind regards,", "Experience", "Also", "Skills", "Education", "present")
_ENDS = tuple(".!?…:;。！？।॥؟۔")
_CLOSES = "\"'”’»›)]"
_WIDE = pattern("[\u3040-\u30ff\u3400-\u9fff]")


def words_in(language: str) -> Words:
    return _WORDS.get(language, _IN_ENGLISH)


def language_of_draft(draft: Draft) -> str:
    """Return the language of the draft's sentences, or of its advert if theirs is unclear. Raises `NotFound`."""
    advert = advert_of(draft)
    said = language_of(" ".join(each.text for each in supported_in(draft).card.claims))
    return said or (advert.language or language_of(advert.text) if advert else "")


def content_of(draft: Draft, head: Head) -> Content:
    """Build the content. `head` contains the fields for the document's header. Raises `NotFound` if nothing in the
    draft is supported."""
    name, place = head.get("name", ""), head.get("location", "")
    contact = " · ".join(filter(None, (head.get(each) for each in ("email", "phone", "links"))))
    checked, advert = supported_in(draft), advert_of(draft)
    language = language_of_draft(draft)
    job = ", ".join(filter(None, (advert.title, advert.company))) if advert else ""
    if draft.kind == "cover_letter":
        blocks, under = _letter(checked, words_in(language), name, job), place
    else:
        blocks = tuple(_resume(parts_of(draft), words_in(language)))
        under = " · ".join(filter(None, (checked.card.headline.text if checked.card.headline else "", place)))
    return Content(name or job, under, contact, blocks, _file_name(draft, name, advert))


def positions_from_resume(draft: Draft) -> list[Position]:
    """Return the positions in the draft that the profile lacks. Raises `NotFound` if nothing in the draft is
    supported."""
    kinds = {each.kind for each in supported_in(draft).card.sections}
    if draft.kind != "resume" or POSITIONS not in kinds:
        return []
    return [each for each in positions_of(evidence_of(draft)) if each.header]


def _letter(checked: CheckedCard, words: Words, name: str, job: str) -> tuple[Block, ...]:
    said = [claim.text for section in checked.card.sections if section.kind == LETTER for claim in section.claims]
    paragraphs = tuple(_paragraph_of(said[at : at + 3]) for at in range(0, len(said), 3))
    end = (words.farewell, *([name] if name else []))
    return (Block(heading=job, lines=(words.greeting,)), Block(lines=paragraphs), Block(lines=end))


def _paragraph_of(sentences: Sequence[str]) -> str:
    """Join sentences, adding a full stop to each that has no final punctuation."""
    ended = [
        each if each.rstrip(_CLOSES).endswith(_ENDS) else f"{each}{'。' if _WIDE.match(each[-1]) else '.'}"
        for each in map(str.strip, filter(str.strip, sentences))
    ]
    return ("" if any(each.endswith("。") for each in ended) else " ").join(ended)


@dataclass(frozen=True)
class Part:
    """A group of sentences in a document, as its person edits it."""

    key: str
    """The section's kind; for a position, followed by ":" and the id of its evidence."""
    heading: str
    claims: tuple[Claim, ...]
    aside: str = ""
    """A period of time, shown next to the heading."""


def parts_of(draft: Draft) -> list[Part]:
    """Return the parts in reading order. Raises `NotFound` if nothing in the draft is supported."""
    checked, language = supported_in(draft), language_of_draft(draft)
    words, headline = words_in(language), checked.card.headline
    headings = {SKILLS: words.skills, EDUCATION: words.education}
    parts = [Part(HEADLINE, "", (headline,))] if headline and draft.kind == "resume" else []
    for section in checked.card.sections:
        if section.kind == POSITIONS:
            parts += _positions(section, evidence_of(draft), language)
        elif section.kind != HEADLINE:
            parts.append(Part(section.kind, headings.get(section.kind, section.heading), section.claims))
    return parts


def _resume(parts: Sequence[Part], words: Words) -> Iterator[Block]:
    is_begun = False
    for part in parts:
        lines = [claim.text for claim in part.claims]
        is_of_positions = part.key.startswith(POSITIONS)
        if is_of_positions and not is_begun:
            is_begun = True
            yield Block(words.experience)
        if is_of_positions:
            yield Block(part.heading, 2, part.aside, tuple(lines), is_list=True)
        elif part.key == EDUCATION:
            yield Block(part.heading, lines=tuple(lines), is_list=True)
        elif part.key != HEADLINE:
            yield Block(part.heading, lines=(" · ".join(lines) if part.key == SKILLS else _paragraph_of(lines),))


def _positions(section: Section, evidence: Mapping[str, Evidence], language: str) -> Iterator[Part]:
    """Group claims by position; those without one come last. No position is left out."""
    positions = positions_of(evidence)
    placed = [(position_of(claim, positions), claim) for claim in section.claims]
    for each in positions:
        claims = tuple(claim for position, claim in placed if position is each)
        key = f"{POSITIONS}:{each.evidence[0].id}"
        yield Part(key, each.heading, claims, each.time_in(language))
    if rest := tuple(claim for position, claim in placed if position is None):
        yield Part(POSITIONS, words_in(language).more if positions else "", rest)


# --- editing ----------------------------------------------------------------------------------------------------------
# Sentences that a person changes, deletes, adds and moves. A sentence that they typed is their own, and has no quotes.


Sentence: TypeAlias = Annotated[str, AfterValidator(one_line), StringConstraints(min_length=1, max_length=1_000)]


class EditedPart(BaseModel):
    model_config = ConfigDict(extra="forbid")

    key: str
    sentences: Annotated[list[Sentence], Field(max_length=60)]


def edited(draft: Draft, wanted: Sequence[EditedPart]) -> CheckedCard:
    """Return the content with exactly these sentences in this order. A sentence that is already in the document keeps
    its quotes. Raises `Invalid` for contact details, an unknown part, and a document without sentences or positions."""
    checked, parts = supported_in(draft), {each.key: each for each in parts_of(draft)}
    there = {one_line(claim.text): claim for part in parts.values() for claim in part.claims}
    claims: dict[str, list[Claim]] = {}
    for part in wanted:
        kind, _, position = part.key.partition(":")
        for text in part.sentences:
            if text not in there and contacts_in(text):
                raise Invalid("Contact details stand at the top of your documents alone: choose them there.")
            claim = there.get(text, Claim(text=text, by_person=True))
            claims.setdefault(kind, []).append(claim.model_copy(update={"position": position}))
    headline, *more = claims.get(HEADLINE) or [None]
    sections = (each.model_copy(update={"claims": tuple(claims.get(each.kind, ()))}) for each in checked.card.sections)
    kept = tuple(each for each in sections if each.claims)
    lists_positions = any(each.startswith(POSITIONS) for each in parts)
    if more or not kept or lists_positions != (POSITIONS in claims) or {each.key for each in wanted} - parts.keys():
        raise Invalid("A document needs a sentence, one on your positions if it lists them, and one headline at most.")
    return checked.model_copy(update={"card": checked.card.model_copy(update={"headline": headline, "sections": kept})})


def _file_name(draft: Draft, name: str, advert: Advert | None) -> str:
    kind = "resume" if draft.kind == "resume" else "letter"
    parts = (kind, name, advert.company if advert else "")
    return "-".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts if part)[:80]


# --- docx -------------------------------------------------------------------------------------------------------------
# Write a DOCX with headings, paragraphs and lists only. Applicant tracking systems cannot read columns, tables and
# boxes.


_NO_XML = pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LATIN = pattern(r"([A-Za-zÀ-ɏ](?:[A-Za-zÀ-ɏ0-9 .+#&/-]{0,200}[A-Za-zÀ-ɏ0-9+#])?)")
"""Left-to-right words in a right-to-left paragraph; each becomes a run of its own."""
_HEBREW = pattern("[\u0590-\u05ff]")
_MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The earliest time possible in an archive, so that the same document always has the same bytes."""

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"

_CONTENT_TYPES = f"""\
<Types xmlns="{_PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml" ContentType="{_WORD}.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="{_WORD}.styles+xml"/>
<Override PartName="/word/numbering.xml" ContentType="{_WORD}.numbering+xml"/>
</Types>"""
_RELATIONS = f"""\
<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>
</Relationships>"""
_RELATIONS_OF_DOCUMENT = f"""\
<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_OFFICE}/styles" Target="styles.xml"/>
<Relationship Id="rId2" Type="{_OFFICE}/numbering" Target="numbering.xml"/>
</Relationships>"""
_STYLES = f"""\
<w:styles {_W}>
<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri" w:cs="Arial"/>
<w:sz w:val="22"/><w:szCs w:val="22"/></w:rPr>
</w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after="80"/></w:pPr></w:pPrDefault></w:docDefaults>
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:basedOn w:val="Normal"/>
<w:rPr><w:b/><w:bCs/><w:sz w:val="36"/><w:szCs w:val="36"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Subtitle"><w:name w:val="Subtitle"/><w:basedOn w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/>
<w:pPr><w:keepNext/><w:pBdr><w:bottom w:val="single" w:sz="4" w:space="2" w:color="A6A6A6"/></w:pBdr>
<w:spacing w:before="240" w:after="120"/><w:outlineLvl w:val="0"/></w:pPr>
<w:rPr><w:b/><w:bCs/><w:sz w:val="26"/><w:szCs w:val="26"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/><w:basedOn w:val="Normal"/>
<w:pPr><w:keepNext/><w:spacing w:before="160"/><w:outlineLvl w:val="1"/></w:pPr><w:rPr><w:b/><w:bCs/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Dates"><w:name w:val="Dates"/><w:basedOn w:val="Normal"/>
<w:pPr><w:keepNext/></w:pPr><w:rPr><w:color w:val="595959"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="BodyText"><w:name w:val="Body Text"/><w:basedOn w:val="Normal"/>
<w:pPr><w:spacing w:after="200" w:line="276" w:lineRule="auto"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="ListBullet"><w:name w:val="List Bullet"/><w:basedOn w:val="Normal"/>
<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
</w:styles>"""
_NUMBERING = f"""\
<w:numbering {_W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="bullet"/>
<w:lvlText w:val="•"/><w:pPr><w:ind w:left="360" w:hanging="360"/></w:pPr></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>"""
_A4 = (
    '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1134" w:right="1134" w:bottom="1134" w:left="1134"'
    ' w:header="567" w:footer="567" w:gutter="0"/></w:sectPr>'
)


def docx_of(content: Content) -> bytes:
    body = "".join(_body(content))
    if 3 * body.count("<w:bidi/>") > body.count("<w:p>"):  # right-align figures and URLs of such a page, too
        body = body.replace('"/></w:pPr>', '"/><w:jc w:val="right"/></w:pPr>')
    parts = {
        "[Content_Types].xml": _CONTENT_TYPES,
        "_rels/.rels": _RELATIONS,
        "word/document.xml": f"<w:document {_W}><w:body>{body}{_A4}</w:body></w:document>",
        "word/styles.xml": _STYLES,
        "word/numbering.xml": _NUMBERING,
        "word/_rels/document.xml.rels": _RELATIONS_OF_DOCUMENT,
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, xml in parts.items():
            archive.writestr(zipfile.ZipInfo(name, _MADE_AT), _HEAD + xml, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _body(content: Content) -> Iterator[str]:
    yield _paragraph("Title", content.title)
    yield _paragraph("Subtitle", content.under)
    yield _paragraph("Subtitle", content.contact)
    for block in content.blocks:
        yield from _paragraphs(block)


def _paragraphs(block: Block) -> Iterator[str]:
    yield _paragraph(f"Heading{block.level}", block.heading)
    yield _paragraph("Dates", block.aside)
    for each in block.lines:
        yield _paragraph("ListBullet" if block.is_list else "BodyText", each)


def _paragraph(style: str, text: str) -> str:
    if not text:
        return ""
    is_rtl = next((each in ("R", "AL") for each in map(bidirectional, text) if each in ("L", "R", "AL")), False)
    pieces = _LATIN.split(text) if is_rtl else ["", text]
    runs = (_run(piece, is_rtl=number % 2 == 0) for number, piece in enumerate(pieces) if piece)
    direction = "<w:bidi/>" if is_rtl else ""
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{direction}</w:pPr>{"".join(runs)}</w:p>'


def _run(text: str, *, is_rtl: bool) -> str:
    language = "he-IL" if _HEBREW.search(text) else "ar-SA"
    properties = f'<w:rPr><w:rtl/><w:lang w:bidi="{language}"/></w:rPr>' if is_rtl else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{escape(_NO_XML.sub("", text))}</w:t></w:r>'


# --- files ------------------------------------------------------------------------------------------------------------
# Render a document as a file: DOCX, Markdown, or a page to print.


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

_MARKS = pattern(r"([\\`*_\[\]<>#|~])")
_BEGINS = pattern(r"^(\s*\d*)([-+.)])(?=\s)")


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
