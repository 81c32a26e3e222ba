"""The writer's answer, and the selection of statements that the draft may contain."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.domain.interview import DraftSentence, Interview, Said
from qwestly_agent.grounding import model as grounding
from qwestly_agent.grounding.model import GroundingVerdict, Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote, quoted_words
from qwestly_agent.text.clean import safe_text, visible, well_formed
from qwestly_agent.text.language import language_of

MOST_NEW = 12


class MessageQuote(BaseModel):
    message_id: Annotated[str, StringConstraints(max_length=20)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=600)]


class WrittenStatement(BaseModel):
    topic: Annotated[str, StringConstraints(max_length=80)]
    aspects: Annotated[list[Annotated[str, StringConstraints(max_length=80)]], Field(max_length=8)] = []
    text: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    quotes: Annotated[list[MessageQuote], Field(min_length=1, max_length=6)]
    replaces: Annotated[list[int], Field(max_length=6)] = []


class WrittenDraft(BaseModel):
    """The new statements."""

    statements: Annotated[list[WrittenStatement], Field(max_length=MOST_NEW * 2)]


class NewStatement(BaseModel):
    """A statement as written, with the ids of its messages."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    topic: str
    aspects: tuple[str, ...]
    grounded: grounding.Statement
    replaces: tuple[int, ...]


class DraftOnItsWay(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    statements: tuple[NewStatement, ...]
    verdicts: tuple[GroundingVerdict, ...] = ()
    """One verdict per statement, once checked."""
    rewritten: bool = False
    """True once the writer was asked to rewrite statements that the judge refused."""

    @property
    def refused_by_judge(self) -> list[tuple[NewStatement, GroundingVerdict]]:
        judged = zip(self.statements, self.verdicts, strict=True)
        return [(each, verdict) for each, verdict in judged if verdict.refused_by == "judge"]


def new_statement(written: WrittenStatement, message_ids: Mapping[str, str]) -> NewStatement:
    """Return the statement. `message_ids` are keyed by the short names in the writer's prompt."""
    quotes = tuple(Quote(source=message_ids.get(each.message_id, ""), text=each.text) for each in written.quotes)
    text = _cleaned(written.text)
    return NewStatement(
        topic=written.topic,
        aspects=tuple(written.aspects),
        grounded=grounding.Statement(text=text, quotes=quotes, language=language_of(text)),
        replaces=tuple(written.replaces),
    )


def to_statement(
    interview: Interview,
    new: NewStatement,
    verdict: GroundingVerdict,
    sources: Mapping[str, QuotedSource],
    known_from: Mapping[str, str],
) -> DraftSentence | None:
    """Return the statement if its quotes support it. If it was not judged, return the person's own words, which cover
    no aspect. None if it is refused, or contains a word that the person does not want."""
    topic = interview.topic(new.topic) or interview.active
    found = [(quote, words) for quote in new.grounded.quotes if (words := find_quote(quote, sources))]
    if verdict.outcome == "refused" or topic is None or not found or not new.grounded.text:
        return None
    is_supported = verdict.outcome == "supported"
    quotes = tuple(
        Said(message_id=quote.source, text=words.text, known_from=known_from.get(quote.source, ""))
        for quote, words in found
    )
    text = new.grounded.text if is_supported else quoted_words(words for _, words in found)
    if unwanted_in(text, interview.avoided):
        return None
    return DraftSentence(
        topic=topic.title, aspects=new.aspects if is_supported else (), text=text, quotes=quotes, since=0
    )


def unwanted_in(text: str, avoided: Iterable[str]) -> list[str]:
    """Return those of the words that occur in the text as whole words."""
    said = text.casefold()
    return [word for word in avoided if re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", said)]


def _cleaned(text: str) -> str:
    """Return the text as one line without invisible characters and links."""
    return safe_text(" ".join(visible(well_formed(text)).split()), ())
