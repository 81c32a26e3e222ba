"""A note: what a model, or its user, would have remembered; and what code alone can say of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.grounding.ground import check
from qwestly_agent.grounding.model import Quote, Source, Statement
from qwestly_agent.grounding.quotes import Found, find_quote
from qwestly_agent.memory import model
from qwestly_agent.memory.equality import hash_of
from qwestly_agent.memory.model import MemoryType, Trust
from qwestly_agent.memory.sensitive import is_credential, is_sensitive
from qwestly_agent.memory.user_text import questions_in, typed_parts
from qwestly_agent.text import visible, well_formed

LONGEST_CONTENT_CHARACTERS = 300
LONGEST_QUOTE_CHARACTERS = 600
CONTEXT_CHARACTERS = 300
"""Of a message, before a quote and behind it: what a judge reads to understand it."""


class Reason(StrEnum):
    """Why something is not remembered."""

    NOTHING = "nothing"
    TOO_LONG = "too_long"
    NOT_SAID = "not_said"
    DOCUMENT = "document"
    CREDENTIAL = "credential"
    NOT_MEANT = "not_meant"
    FORGOTTEN = "forgotten"
    ASKED_BEFORE = "asked_before"
    LESS_TRUSTED = "less_trusted"
    OLDER = "older"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True)
class Said:
    """A message of the user, and the assistant's words right before it."""

    id: str
    text: str
    at: datetime
    before: str = ""

    @cached_property
    def typed(self) -> tuple[str, ...]:
        """What the user typed, in pieces: what is fenced, quoted or pasted between them is a document."""
        return tuple(typed_parts(self.text))

    @cached_property
    def question(self) -> str:
        """The last question before it, which it may answer."""
        asked = questions_in(self.before)
        return asked[-1] if asked else ""


class Note(BaseModel):
    """Something to remember whose quote was found."""

    model_config = ConfigDict(frozen=True)

    type: MemoryType
    content: str
    quote: str
    """As it stands in what the user typed."""
    context: str
    """The quote with what was typed around it."""
    question: str = ""
    """What it may answer; a note that needs it is inferred from both."""
    trust: Trust
    importance: float
    confidence: float
    sensitive: bool
    since: str | None = None
    """An ISO date; so is `until`."""
    until: str | None = None
    said_at: float
    """Seconds since the epoch."""
    source: model.Source
    is_checked: bool = False
    """Whether a judge said that the user means it."""
    memory_id: str | None = None
    """Of the memory that waits unchecked, where there is one."""
    tries: int = 0
    """How often no judge could be asked about it."""

    @property
    def hash(self) -> str:
        return hash_of(self.content)

    @property
    def sentence(self) -> str:
        """The user's own sentence, verbatim; the quote where that is too long to be remembered."""
        found = find_quote(Quote(source="", text=self.quote), {"": Source(id="", text=self.context)})
        sentence = found.sentence if found else ""
        return sentence if 0 < len(sentence) <= LONGEST_CONTENT_CHARACTERS else self.quote


Verb: TypeAlias = Literal["add", "reinforce", "wait", "skip"]


class Decision(BaseModel):
    """What becomes of a note."""

    model_config = ConfigDict(frozen=True)

    verb: Verb
    """Remember it · what is remembered was said again · keep it unchecked · do nothing."""
    note: Note
    target: str | None = None
    """The memory that is reinforced; `#3` is what becomes of the fourth of these decisions."""
    supersedes: tuple[str, ...] = ()
    """The memories that do not hold any more."""
    ask: bool = False
    """Whether its user must say yes first."""
    retells: tuple[str, ...] = ()
    """The tombstones of what was forgotten, and this may be."""
    reason: str | None = None
    """Why it is skipped."""


def find_note(
    said: Said | None,
    *,
    kind: MemoryType,
    content: str,
    quote: str,
    conversation_id: str | None,
    importance: float,
    confidence: float = 1.0,
    sensitive: bool = False,
    since: str | None = None,
    until: str | None = None,
) -> Note | Reason:
    """A note that no judge has read yet. `said` is the message that it is said to be quoted from; None for one that
    the user did not write."""
    content = " ".join(visible(well_formed(content)).split())
    if said is None:
        return Reason.NOT_SAID
    if not any(map(str.isalnum, content)):
        return Reason.NOTHING
    if len(content) > LONGEST_CONTENT_CHARACTERS or len(quote) > LONGEST_QUOTE_CHARACTERS:
        return Reason.TOO_LONG
    found = _find(quote, said.typed)
    if found is None:
        return Reason.DOCUMENT if _find(quote, [visible(said.text)]) else Reason.NOT_SAID
    context, question = _around(found), said.question
    if is_credential(content) or is_credential(found.text):
        return Reason.CREDENTIAL
    return Note(
        type=kind,
        content=content,
        quote=found.text,
        context=context,
        question=question,
        trust="inferred" if question else "user_said",
        importance=importance,
        confidence=confidence,
        sensitive=sensitive or is_sensitive(content, found.text, question),
        since=_date_in(since, found.text, question),
        until=_date_in(until, found.text, question),
        said_at=said.at.timestamp(),
        source=model.Source(conversation_id=conversation_id, message_ids=(said.id,)),
    )


def _find(quote: str, texts: Sequence[str]) -> Found | None:
    found = (
        find_quote(Quote(source="", text=visible(well_formed(quote))), {"": Source(id="", text=text)}) for text in texts
    )
    return next((each for each in found if each), None)


def _around(found: Found) -> str:
    """The quote's sentences, whole where they are short, with what stands beside them."""
    text = found.source.text
    return text[max(0, found.start - CONTEXT_CHARACTERS) : found.end + CONTEXT_CHARACTERS].strip()


def _date_in(given: str | None, *quotes: str) -> str | None:
    """The first day of a year or month that stands in the quotes."""
    if not given:
        return None
    text = given.strip()
    try:
        day = date.fromisoformat(f"{text}-01-01"[:10] if len(text) == 4 else f"{text}-01"[:10])
    except ValueError:
        return None
    sources = {str(n): Source(id=str(n), text=quote) for n, quote in enumerate(quotes)}
    statement = Statement(
        text=text, quotes=tuple(Quote(source=n, text=each.text) for n, each in sources.items() if each.text)
    )
    return day.isoformat() if check(statement, sources, day).outcome != "refused" else None
